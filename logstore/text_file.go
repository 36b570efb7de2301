package logstore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"klogfs/index"
	"klogfs/internal/disk"
)

// textSuffixes are those of the files that hold text indexes.
var textSuffixes = [formatCount]string{
	FormatValues: suffixText, FormatJSONL: ".jsonltext", FormatTSV: ".tsvtext",
}

// textFile is the name of the file of a text index: beside a log of ours, in
// the cache directory for a broker's; "" where none is kept. What is on file is
// the text of all records.
func (s *segment) textFile(f Format) string {
	switch cache := s.p.store.opts.CacheDir; {
	case s.p.committed():
		return ""
	case s.p.own && f == FormatValues:
		return s.path(suffixText)
	case s.p.own || cache == "":
		return ""
	default:
		dir := sha256.Sum256([]byte(s.p.logDir.path))
		const enough = 8
		return filepath.Join(cache, hex.EncodeToString(dir[:enough]), s.p.Name(), segmentFile(s.base, textSuffixes[f]))
	}
}

// loadText takes the text index from its file. Without one, or with one of
// another log, it is made from the log.
func (s *segment) loadText(f Format, t *segmentText) {
	name := s.textFile(f)
	if name == "" {
		return
	}
	file, err := readFile(s.p.disk, name)
	if err != nil {
		return
	}
	info, err := s.p.disk.Stat(s.path(suffixLog))
	if err != nil {
		return
	}
	loaded, err := index.ParseText(file, textInterval, info.Size, info.ModTime.UnixNano())
	if err != nil {
		s.p.log.Debug("text index is made again", slog.Int64("segment", s.base), slog.Any("cause", err))
		return
	}
	if loaded.Covered() <= s.size.Load() {
		t.index = *loaded
	}
}

// saveText writes the text index of a log of ours that ends here.
func (s *segment) saveText() error {
	t := &s.texts[FormatValues]
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.writeText(FormatValues, t)
}

// keepText writes the text index of a broker's segment into the cache
// directory, if there is one. The caller holds t.mu.
func (s *segment) keepText(f Format, t *segmentText) {
	name := s.textFile(f)
	if name == "" {
		return
	}
	err := s.p.disk.Mkdir(filepath.Dir(name))
	if err == nil {
		err = s.writeText(f, t)
	}
	if err != nil {
		s.p.log.Warn("text index not kept", slog.String("file", name), slog.Any("cause", err))
	}
}

// writeText writes a text index. One of a damaged log is not kept: the next
// look shall see the damage again. The caller holds t.mu.
func (s *segment) writeText(f Format, t *segmentText) error {
	name := s.textFile(f)
	if name == "" || len(t.damaged) > 0 || t.index.Covered() != s.size.Load() || t.index.Covered() == 0 {
		return nil
	}
	info, err := s.p.disk.Stat(s.path(suffixLog))
	if err != nil {
		return err
	}
	if info.Size != s.size.Load() {
		return nil
	}
	content := t.index.Append(nil, info.Size, info.ModTime.UnixNano())
	file, err := s.p.disk.Create(name)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	if err == nil {
		err = file.Truncate(int64(len(content)))
	}
	return errors.Join(err, file.Close())
}

// keepTexts keeps what is known of the text of a broker's segments, the one
// that grew included.
func (p *Partition) keepTexts() {
	for _, s := range p.segments() {
		for f := range s.texts {
			t := &s.texts[f]
			t.mu.Lock()
			s.keepText(Format(f), t)
			t.mu.Unlock()
		}
	}
}

// checkCacheDir refuses a cache directory within a log directory, where nothing
// of ours may be.
func (s *Store) checkCacheDir() error {
	if s.opts.CacheDir == "" {
		return nil
	}
	cache, err := filepath.Abs(s.opts.CacheDir)
	if err != nil {
		return err
	}
	s.opts.CacheDir = cache
	for _, d := range s.dirs {
		within, err := filepath.Rel(d.path, cache)
		if err == nil && within != ".." && !strings.HasPrefix(within, "../") {
			return fmt.Errorf("cache directory %s is within log directory %s: %w", cache, d.path, ErrInvalidConfig)
		}
	}
	if info, err := s.opts.Disk.Stat(cache); err == nil && info.Kind != disk.KindDir {
		return fmt.Errorf("cache directory %s: %w", cache, fs.ErrExist)
	}
	return nil
}
