package logstore

import (
	"errors"
	"io/fs"
	"log/slog"
	"math"

	"klogfs/index"
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
// not there, or not of this log.
func (s *segment) loadIndexes() (*segmentIndexes, error) {
	offsetFile, err1 := readFile(s.p.disk, s.path(suffixOffset))
	timeFile, err2 := readFile(s.p.disk, s.path(suffixTime))
	if err := errors.Join(err1, err2); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.p.log.Warn("index is unreadable, it is made again", slog.Int64("segment", s.base), slog.Any("cause", err))
		}
		return nil, nil
	}
	ix := &segmentIndexes{
		offsets: index.ParseOffsets(offsetFile), times: index.ParseTimes(timeFile),
		maxTimestamp: index.NoTimestamp, maxOffset: s.base,
	}
	const fewBytes = 64 << 10
	if ix.offsets.Len() == 0 && s.size.Load() > fewBytes {
		return nil, nil
	}
	if n := ix.offsets.Len(); n > 0 && !s.confirm(ix.offsets.At(n-1)) {
		return nil, nil
	}
	if n := ix.times.Len(); n > 0 {
		ok, err := s.confirmTime(ix, ix.times.At(n-1))
		if err != nil || !ok {
			return nil, err
		}
		last := ix.times.At(n - 1)
		ix.maxTimestamp, ix.maxOffset = last.Timestamp, s.base+int64(last.RelativeOffset)
	} else if s.size.Load() > 0 {
		return nil, nil // a sealed segment with timestamps has a closing entry
	}
	return ix, nil
}

// confirm reports whether the log has what an index entry says.
func (s *segment) confirm(e index.OffsetEntry) bool {
	h, err := s.header(int64(e.Position))
	return err == nil && h.LastOffset() == s.base+int64(e.RelativeOffset)
}

// confirmTime reports whether the batch that a time entry names has its
// timestamp.
func (s *segment) confirmTime(ix *segmentIndexes, e index.TimeEntry) (bool, error) {
	want := s.base + int64(e.RelativeOffset)
	var pos int64
	if i := ix.offsets.Search(int64(e.RelativeOffset)); i >= 0 {
		pos = int64(ix.offsets.At(i).Position)
	}
	w := s.walkPlain(pos, s.size.Load())
	defer w.close()
	for w.next() && w.err == nil {
		if last := w.header.LastOffset(); last >= want {
			return last == want && w.header.MaxTimestamp == e.Timestamp, nil
		}
	}
	return false, w.ioErr
}

// rebuildIndexes makes the indexes from the log's batch headers. Damaged
// stretches have no entries.
func (s *segment) rebuildIndexes() (*segmentIndexes, error) {
	b, err := s.buildIndexes(s.size.Load())
	if err != nil {
		return nil, err
	}
	b.Close()
	s.p.log.Warn("index made again from the log", slog.Int64("segment", s.base), slog.Int("entries", b.Offsets().Len()))
	return snapshot(b), nil
}

func (s *segment) buildIndexes(end int64) (*index.Builder, error) {
	b := index.NewBuilder(s.base, s.p.indexInterval())
	w := s.walkPlain(0, end)
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

// resync returns the first position after a damaged one at which the index
// and the log agree that a batch starts, else the end.
func (s *segment) resync(pos, end int64) int64 {
	ix, err := s.indexesOf()
	if err != nil {
		return end
	}
	for i := ix.offsets.SearchPosition(pos) + 1; i < ix.offsets.Len(); i++ {
		if e := ix.offsets.At(i); int64(e.Position) < end && s.confirm(e) {
			return int64(e.Position)
		}
	}
	return end
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
