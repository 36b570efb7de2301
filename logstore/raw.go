package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"klogfs/index"
	"klogfs/internal/disk"
)

// RawFile is a file of a log directory as it should look on disk: without what
// is preallocated or only half written, and without what is ours alone.
type RawFile struct {
	Name string
	// Size is in bytes.
	Size    int64
	ModTime time.Time
	// Sealed is set for a file that does not change any more.
	Sealed bool
	// Inode tells it from one that a broker puts in its place.
	Inode uint64

	p   *Partition
	seg *segment
	// path is the file's own, which is under another name while it is about to
	// take its place.
	path string
}

// Number is the file's own within its partition, and stays the same.
func (f *RawFile) Number() int64 {
	base, suffix, _ := parseSegmentFile(f.Name)
	kinds := []string{suffixLog, suffixOffset, suffixTime, suffixTxn, suffixProducers, ""}
	n := slices.Index(kinds, suffix)
	if f.Name == partitionMetadataFile {
		n = len(kinds)
	}
	return base*8 + int64(n)
}

// RawFiles lists the files of the partition's directory, sorted by name.
func (p *Partition) RawFiles() ([]RawFile, error) {
	infos, err := p.disk.List(p.dir)
	if err != nil {
		return nil, p.orDeleted(err)
	}
	var files []RawFile
	for _, info := range infos {
		f, err := p.rawFile(info)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// RawFile describes one of the files that RawFiles lists. fs.ErrNotExist is
// returned for any other name.
func (p *Partition) RawFile(name string) (RawFile, error) {
	f, err := p.rawFileAt(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = p.rawFileAt(name + suffixSwap)
	}
	return f, p.orDeleted(err)
}

func (p *Partition) rawFileAt(name string) (RawFile, error) {
	info, err := p.disk.Stat(p.path(name))
	if err != nil {
		return RawFile{}, err
	}
	return p.rawFile(info)
}

func (p *Partition) orDeleted(err error) error {
	if err != nil && p.gone.Load() {
		return fmt.Errorf("%s: %w", p.Name(), ErrDeleted)
	}
	return err
}

func (p *Partition) rawFile(info disk.Info) (RawFile, error) {
	name, swap := strings.CutSuffix(info.Name, suffixSwap)
	f := RawFile{Name: name, Size: info.Size, ModTime: info.ModTime, Inode: info.Inode, p: p, path: p.path(info.Name)}
	if info.Kind != disk.KindFile {
		return RawFile{}, fs.ErrNotExist
	}
	if info.Name == epochFile || info.Name == partitionMetadataFile {
		return f, nil
	}
	base, suffix, ok := parseSegmentFile(name)
	if !ok {
		return RawFile{}, fs.ErrNotExist
	}
	switch suffix {
	case suffixTxn, suffixProducers:
		return f, nil
	case suffixLog, suffixOffset, suffixTime:
	default:
		return RawFile{}, fs.ErrNotExist
	}
	segs := p.segments()
	i := sort.Search(len(segs), func(i int) bool { return segs[i].base >= base })
	if i == len(segs) || segs[i].base != base || (segs[i].suffix != "") != swap {
		return RawFile{}, fs.ErrNotExist // not part of the log yet, or any more
	}
	f.seg, f.Sealed = segs[i], segs[i].sealed.Load()
	if f.Sealed {
		return f, nil
	}
	if suffix == suffixLog {
		f.Size = f.seg.size.Load()
		return f, nil
	}
	content, err := f.content()
	f.Size = int64(len(content))
	return f, err
}

// content is the whole of a small file, of an index its real entries.
func (f *RawFile) content() ([]byte, error) {
	name := f.path
	switch {
	case f.seg == nil || f.Sealed:
		return readFile(f.p.disk, name)
	case strings.HasSuffix(f.Name, suffixTime):
		return readEntries(f.p.disk, name, func(b []byte) int { return len(index.ParseTimes(b)) })
	}
	return readEntries(f.p.disk, name, func(b []byte) int { return len(index.ParseOffsets(b)) })
}

// RawReader reads a raw file. Its methods may be called by several goroutines
// at once.
type RawReader struct {
	file RawFile
	// One of these: a file that stays open, a growing log, or a small file's
	// content.
	handle  *handle
	open    disk.File
	growing *segment
	content []byte
}

// OpenRaw opens one of the files that RawFiles lists.
func (p *Partition) OpenRaw(name string) (*RawReader, error) {
	f, err := p.RawFile(name)
	if err != nil {
		return nil, err
	}
	r := &RawReader{file: f}
	switch isLog := strings.HasSuffix(name, suffixLog); {
	case f.Sealed:
		r.handle = p.store.handles.handle(f.path, false)
		if isLog {
			r.handle = f.seg.log
		}
		if r.open, err = r.handle.acquire(); err == nil {
			err = r.describe()
		}
	case isLog:
		r.growing = f.seg
	default:
		r.content, err = f.content()
	}
	return r, err
}

// describe makes the description that of the file that was opened: a broker may
// have replaced it since it was looked at.
func (r *RawReader) describe() error {
	info, err := r.open.Stat()
	if err != nil {
		r.Close()
		return err
	}
	r.file.Size, r.file.ModTime, r.file.Inode = info.Size, info.ModTime, info.Inode
	return nil
}

// Inode is that of the file that was opened, where it is sealed.
func (r *RawReader) Inode() uint64 { return r.file.Inode }

// Sealed reports whether the file does not change any more.
func (r *RawReader) Sealed() bool { return r.open != nil }

// Fd is the descriptor of a sealed file, valid until Close; −1 for others.
func (r *RawReader) Fd() int {
	if r.open == nil {
		return -1
	}
	return r.open.Fd()
}

// Size is the file's length in bytes, as of now.
func (r *RawReader) Size() int64 {
	switch {
	case r.growing != nil:
		return r.growing.size.Load()
	case r.open != nil:
		return r.file.Size
	}
	return int64(len(r.content))
}

// ModTime is when the file last changed, as of now.
func (r *RawReader) ModTime() time.Time {
	if r.growing == nil {
		return r.file.ModTime
	}
	info, err := r.growing.p.disk.Stat(r.growing.path(suffixLog))
	if err != nil {
		return r.file.ModTime
	}
	return info.ModTime
}

// ReadAt reads bytes of the file, fewer at its end, without an error there.
func (r *RawReader) ReadAt(b []byte, off int64) (int, error) {
	room := r.Size() - off
	if room <= 0 {
		return 0, nil
	}
	b = b[:min(int64(len(b)), room)]
	switch {
	case r.growing != nil:
		return len(b), r.growing.readFull(b, off)
	case r.open != nil:
		return r.open.ReadAt(b, off)
	}
	return copy(b, r.content[off:]), nil
}

// Close ends the reader.
func (r *RawReader) Close() {
	if r.open == nil {
		return
	}
	r.open = nil
	r.handle.release()
	if r.handle != r.file.seg.log {
		_ = r.handle.retire(ErrClosed) // it was ours alone, and only read
	}
}

// RootFiles are the names of the files at the root of the store's log
// directory, as RawFiles are those of a partition's.
func (s *Store) RootFiles() []string {
	var names []string
	for _, name := range []string{
		"cleaner-offset-checkpoint", markerFile, logStartFile, metaPropertiesFile, recoveryPointFile, "replication-offset-checkpoint",
	} {
		if _, err := s.RootFile(name); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// RootContent is a file of the root with what it holds.
type RootContent struct {
	Content []byte
	ModTime time.Time
}

// RootFile reads one of the files that RootFiles lists. Of a store with
// several log directories, the checkpoints are those of all, taken together.
func (s *Store) RootFile(name string) (RootContent, error) {
	switch {
	case name == markerFile && len(s.dirs) > 1:
		return s.oneMarker()
	case name == markerFile || name == metaPropertiesFile:
		return s.rootFile(s.dirs[0], name)
	case !strings.HasSuffix(name, "-checkpoint"):
		return RootContent{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	case len(s.dirs) == 1:
		return s.rootFile(s.dirs[0], name)
	}
	all := map[TopicPartition]int64{}
	var merged RootContent
	for _, d := range s.dirs {
		f, err := s.rootFile(d, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return RootContent{}, err
		}
		offsets, err := parseOffsets(f.Content)
		if err != nil {
			return RootContent{}, fmt.Errorf("%s of %s: %w", name, d.path, err)
		}
		for tp, offset := range offsets {
			all[tp] = offset
		}
		if f.ModTime.After(merged.ModTime) {
			merged.ModTime = f.ModTime
		}
	}
	if merged.ModTime.IsZero() {
		return RootContent{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	merged.Content = appendOffsets(nil, all)
	return merged, nil
}

// oneMarker is the marker file of a store whose partitions are all in its
// first log directory, as they are to whoever copies it from here.
func (s *Store) oneMarker() (RootContent, error) {
	f, err := s.rootFile(s.dirs[0], markerFile)
	if err != nil || !s.Writable() {
		return f, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	f.Content, err = s.marker(func(*Partition) string { return s.dirs[0].id })
	return f, err
}

func (s *Store) rootFile(d *logDir, name string) (RootContent, error) {
	path := filepath.Join(d.path, name)
	info, err := s.opts.Disk.Stat(path)
	if err != nil {
		return RootContent{}, err
	}
	if info.Kind != disk.KindFile {
		return RootContent{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	content, err := readFile(s.opts.Disk, path)
	return RootContent{content, info.ModTime}, err
}
