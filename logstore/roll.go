package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"klogfs/index"
)

// roll ends the active segment and begins one at the log's end. The new files
// are there before anything else changes, so a full disk leaves all as it was.
func (p *Partition) roll() error {
	old := p.active()
	next, err := p.createSegment(p.end.Load())
	if err != nil {
		return fmt.Errorf("roll %s: %w", p.Name(), err)
	}
	if err := old.finishIndexes(); err != nil {
		p.log.Warn("index of a rolled segment is incomplete, it is made again when it is needed",
			slog.Int64("segment", old.base), slog.Any("cause", err))
	}
	old.seal()
	if err := old.saveText(); err != nil {
		p.log.Debug("text index not saved", slog.Int64("segment", old.base), slog.Any("cause", err))
	}
	segs := p.segments()
	grown := append(segs[:len(segs):len(segs)], next)
	p.segs.Store(&grown)
	p.store.flushLater(p)
	return nil
}

// createSegment makes the files of an empty segment.
func (p *Partition) createSegment(base int64) (*segment, error) {
	s := newSegment(p, segmentInfo{base: base}, true)
	if info, err := p.disk.Stat(s.path(suffixLog)); err == nil && info.Size > 0 {
		return nil, fmt.Errorf("%s is there and holds %d bytes: %w", s.path(suffixLog), info.Size, fs.ErrExist)
	}
	for _, suffix := range []string{suffixOffset, suffixTime, suffixLog} {
		f, err := p.disk.Create(s.path(suffix))
		if err == nil {
			err = errors.Join(f.Truncate(0), f.Close())
		}
		if err != nil {
			return nil, errors.Join(err, s.removeFiles(p.disk))
		}
	}
	s.startBuilder(index.NewBuilder(base, p.indexInterval()), 0)
	return s, p.disk.SyncDir(p.dir)
}

// startBuilder makes the segment one that grows. The first files bytes of
// entries are in the index files already.
func (s *segment) startBuilder(b *index.Builder, written int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builder = b
	s.offsetsWritten, s.timesWritten = written, written
}

// writeIndexes appends the entries that the index files lack.
func (s *segment) writeIndexes() error {
	s.mu.RLock()
	offsets, times := s.builder.Offsets(), s.builder.Times()
	s.mu.RUnlock()
	err := s.writeEntries(suffixOffset, offsets, &s.offsetsWritten)
	return errors.Join(err, s.writeEntries(suffixTime, times, &s.timesWritten))
}

func (s *segment) writeEntries(suffix string, entries []byte, written *int) error {
	if len(entries) == *written {
		return nil
	}
	h := &s.offsetFile
	if suffix == suffixTime {
		h = &s.timeFile
	}
	if *h == nil {
		*h = s.p.store.handles.handle(s.path(suffix), true)
	}
	f, err := (*h).acquire()
	if err != nil {
		return err
	}
	defer (*h).release()
	if _, err := f.WriteAt(entries[*written:], int64(*written)); err != nil {
		return err
	}
	*written = len(entries)
	return nil
}

// finishIndexes writes the closing time entry and whatever else the files
// lack, and closes them.
func (s *segment) finishIndexes() error {
	s.mu.Lock()
	s.builder.Close()
	s.mu.Unlock()
	err := s.writeIndexes()
	for _, h := range []*handle{s.offsetFile, s.timeFile} {
		if h != nil {
			err = errors.Join(err, h.retire(ErrClosed))
		}
	}
	s.offsetFile, s.timeFile = nil, nil
	return err
}

// seal ends the growing of a segment whose indexes are finished.
func (s *segment) seal() {
	s.mu.Lock()
	ix := snapshot(s.builder)
	s.builder = nil
	s.mu.Unlock()
	s.p.store.indexes.add(s, ix, ix.bytes())
	s.sealed.Store(true)
}

// sealAs ends the growing of a segment whose end is known from elsewhere: what
// can't be read in it is damage. Its indexes come from its files.
func (s *segment) sealAs(size, next int64) {
	s.mu.Lock()
	s.builder = nil
	s.mu.Unlock()
	s.p.store.indexes.remove(s)
	s.next.Store(next)
	s.size.Store(size)
	s.sealed.Store(true)
}

// writeEpochs writes the leader epoch checkpoint.
func (p *Partition) writeEpochs() error {
	return replaceFile(p.disk, p.path(epochFile), appendEpochs(nil, p.epochs))
}
