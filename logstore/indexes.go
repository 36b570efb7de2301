package logstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"

	"klogfs/index"
	"klogfs/internal/disk"
)

// segmentIndexes is one state of a segment's indexes; it does not change.
type segmentIndexes struct {
	offsets index.Offsets
	times   index.Times
	// maxTimestamp is the largest timestamp of the segment, and maxOffset the
	// last offset of the batch that carries it.
	maxTimestamp, maxOffset int64
}

func (ix *segmentIndexes) bytes() int64 { return int64(cap(ix.offsets) + cap(ix.times)) }

func snapshot(b *index.Builder) *segmentIndexes {
	timestamp, offset := b.MaxTimestamp()
	return &segmentIndexes{b.Offsets(), b.Times(), timestamp, offset}
}

// indexesOf returns the segment's indexes: those that grow with it, or those
// of its files, or, where the log does not confirm these, new ones.
func (s *segment) indexesOf() (*segmentIndexes, error) {
	s.mu.RLock()
	b := s.builder
	if b != nil {
		defer s.mu.RUnlock()
		return snapshot(b), nil
	}
	s.mu.RUnlock()
	if ix, ok := s.p.store.indexes.get(s); ok {
		return ix, nil
	}
	ix, err := s.loadIndexes()
	if err != nil {
		return nil, err
	}
	if ix == nil {
		if ix, err = s.rebuildIndexes(); err != nil {
			return nil, err
		}
	}
	s.p.store.indexes.add(s, ix, ix.bytes())
	return ix, nil
}

// loadIndexes reads the index files of a sealed segment; nil when they are
// not there, or not of this log, or not of all of it.
func (s *segment) loadIndexes() (*segmentIndexes, error) {
	offsets, times, err := s.readIndexes()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.p.log.Warn("index is unreadable, it is made again", slog.Int64("segment", s.base), slog.Any("cause", err))
		}
		return nil, nil
	}
	const fewBytes = 64 << 10
	if offsets.Len() == 0 && s.size.Load() > fewBytes {
		return nil, nil
	}
	if n := offsets.Len(); n > 0 && !s.confirm(offsets.At(n-1)) {
		return nil, nil
	}
	if times.Len() == 0 {
		return nil, nil // a sealed segment with timestamps has a closing entry
	}
	last := times.At(times.Len() - 1)
	ix := &segmentIndexes{offsets, times, last.Timestamp, s.base + int64(last.RelativeOffset)}
	whole, err := s.closes(ix)
	if err != nil || !whole {
		return nil, err
	}
	return ix, nil
}

// readIndexes reads the entries of the index files.
func (s *segment) readIndexes() (index.Offsets, index.Times, error) {
	offsets, err1 := readEntries(s.p.disk, s.path(suffixOffset), func(b []byte) int { return len(index.ParseOffsets(b)) })
	times, err2 := readEntries(s.p.disk, s.path(suffixTime), func(b []byte) int { return len(index.ParseTimes(b)) })
	return offsets, times, errors.Join(err1, err2)
}

// readEntries reads an index file as far as parse finds entries: what is
// preallocated behind them is not read.
func readEntries(d disk.FS, name string, parse func([]byte) int) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	const first = 96 << 10 // whole entries of either kind
	b := make([]byte, first)
	for {
		n, err := f.ReadAt(b, 0)
		entries := parse(b[:n])
		if errors.Is(err, io.EOF) || err == nil && entries < n {
			return append([]byte(nil), b[:entries]...), f.Close()
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if len(b) >= mostRead {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, errNotFile), f.Close())
		}
		b = make([]byte, 2*len(b))
	}
}

// confirm reports whether the log has what an index entry says.
func (s *segment) confirm(e index.OffsetEntry) bool {
	h, err := s.header(int64(e.Position))
	return err == nil && h.LastOffset() == s.base+int64(e.RelativeOffset)
}

// closes reports whether the last time entry is the one that the segment was
// closed with: the log has it, and nothing younger comes behind it. A torn
// file, or one that was not written to its end, has another last entry.
func (s *segment) closes(ix *segmentIndexes) (bool, error) {
	w, found, err := s.walkToTime(ix)
	if err != nil || !found {
		return false, err
	}
	defer w.close()
	for w.next() {
		if w.err == nil && w.header.MaxTimestamp > ix.maxTimestamp {
			return false, nil
		}
	}
	return true, w.ioErr
}

// walkToTime walks to the batch that the largest timestamp is said to be in;
// found is false when it is not there.
func (s *segment) walkToTime(ix *segmentIndexes) (w *walker, found bool, err error) {
	var pos int64
	if i := ix.offsets.Search(ix.maxOffset - s.base); i >= 0 {
		pos = int64(ix.offsets.At(i).Position)
	}
	w = s.walk(pos)
	for w.next() {
		if w.err != nil {
			continue
		}
		last := w.header.LastOffset()
		if last == ix.maxOffset && w.header.MaxTimestamp == ix.maxTimestamp {
			return w, true, nil
		}
		if last >= ix.maxOffset {
			break
		}
	}
	err = w.ioErr
	w.close()
	return nil, false, err
}

// rebuildIndexes makes the indexes from the log's batch headers. Damaged
// stretches have no entries.
func (s *segment) rebuildIndexes() (*segmentIndexes, error) {
	b, err := s.buildIndexes(s.size.Load())
	if err != nil {
		return nil, err
	}
	b.Close()
	level := slog.LevelWarn
	if _, err := s.p.disk.Stat(s.path(suffixOffset)); !s.p.own && errors.Is(err, fs.ErrNotExist) {
		level = slog.LevelDebug // a copy of the logs alone has none
	}
	s.p.log.Log(context.Background(), level, "index made again from the log",
		slog.Int64("segment", s.base), slog.Int("entries", b.Offsets().Len()))
	return snapshot(b), nil
}

func (s *segment) buildIndexes(end int64) (*index.Builder, error) {
	b := index.NewBuilder(s.base, s.p.indexInterval())
	w := s.walkTo(0, end, math.MaxInt64)
	defer w.close()
	for w.next() {
		if w.err == nil {
			b.Add(w.header.LastOffset(), w.header.MaxTimestamp, w.pos, w.header.Size())
		}
	}
	return b, w.ioErr
}

// floor returns the start of a batch from which a walk meets the batch of an
// offset, close before it.
func (s *segment) floor(offset int64) (int64, error) {
	for range 2 {
		ix, err := s.indexesOf()
		if err != nil {
			return 0, err
		}
		i := ix.offsets.Search(offset - s.base)
		if i < 0 {
			return 0, nil
		}
		if e := ix.offsets.At(i); s.confirm(e) {
			return int64(e.Position), nil
		}
		if !s.sealed.Load() {
			break // damage in the log under our own index
		}
		// The file tells of another log: make the index anew, once.
		if ix, err = s.rebuildIndexes(); err != nil {
			return 0, err
		}
		s.p.store.indexes.add(s, ix, ix.bytes())
	}
	return 0, nil
}

// maxTimestamp is the largest timestamp that a record of the segment has.
func (s *segment) maxTimestamp() (int64, error) {
	ix, err := s.indexesOf()
	if err != nil {
		return math.MaxInt64, err
	}
	return ix.maxTimestamp, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
