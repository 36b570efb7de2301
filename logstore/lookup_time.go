package logstore

import (
	"fmt"
	"sort"

	"klogfs/batch"
	"klogfs/index"
)

// OffsetForTime finds the first record, in the order of offsets, whose
// timestamp is at or after a time in milliseconds since 1970, as Kafka's
// offsetsForTimes does (UnifiedLog.fetchOffsetByTimestamp). ErrNoRecord is
// returned when there is none.
//
// Where only what is committed may be read, neither markers nor records of
// aborted transactions count, and none from the last stable offset on.
func (p *Partition) OffsetForTime(timestamp int64) (Location, error) {
	start := p.LogStartOffset()
	end, err := p.readable()
	if err != nil {
		return Location{}, err
	}
	for _, s := range p.segments() {
		if s.next.Load() <= start {
			continue
		}
		newest, err := s.maxTimestamp()
		if err != nil {
			return Location{}, err
		}
		if newest < timestamp {
			continue
		}
		l, found, err := s.offsetForTime(timestamp, start)
		if err == nil && found && l.Offset >= end {
			break
		}
		if err != nil || found {
			return l, err
		}
	}
	return Location{}, fmt.Errorf("time %d of %s: %w", timestamp, p.Name(), ErrNoRecord)
}

// offsetForTime is OffsetForTime within one segment, from an offset on.
func (s *segment) offsetForTime(timestamp, start int64) (Location, bool, error) {
	ix, err := s.indexesOf()
	if err != nil {
		return Location{}, false, err
	}
	w, err := s.timeWindow(ix, ix.times.Search(timestamp))
	if err != nil {
		return Location{}, false, err
	}
	for _, b := range w.batches[sort.Search(len(w.batches), func(i int) bool { return w.batches[i].newest >= timestamp }):] {
		if b.last < start {
			continue
		}
		l, found, err := s.firstSince(b.pos, b.size, timestamp, start)
		if err != nil || found {
			return l, found, err
		}
	}
	return s.walkForTime(w.end, timestamp, start)
}

// timeWindow is the batches between two entries of a time index, among which
// the first record of every time between the two is.
type timeWindow struct {
	batches []timedBatch
	end     int64 // of the last batch in the segment
}

// timedBatch is a batch of a window.
type timedBatch struct {
	pos, last int64 // where it starts, and its last offset
	size      int
	newest    int64 // the largest timestamp of the window up to here
}

// windowPlace names a window by the entry before it, −1 for none.
type windowPlace struct {
	seg   *segment
	entry int
}

// timeWindow returns the batches after an entry of the time index, up to the
// one that the next entry is of. Batches that a producer appends within one
// millisecond have one entry for all, so they are kept, and only gone over
// once. Behind the last entry there is no window: the log may still grow.
func (s *segment) timeWindow(ix *segmentIndexes, entry int) (*timeWindow, error) {
	from := s.base
	if entry >= 0 {
		from += int64(ix.times.At(entry).RelativeOffset)
	}
	pos, err := s.floor(from)
	if err != nil || entry+1 >= ix.times.Len() {
		return &timeWindow{end: pos}, err
	}
	place := windowPlace{s, entry}
	if w, ok := s.p.store.windows.get(place); ok {
		return w, nil
	}
	w, whole, err := s.scanWindow(pos, s.base+int64(ix.times.At(entry+1).RelativeOffset))
	if err == nil && whole {
		const batchSize = 32
		s.p.store.windows.add(place, w, int64(len(w.batches)*batchSize))
	}
	return w, err
}

// scanWindow lists the batches from a position up to that of an offset. It
// stops before damage, and then the window is not whole.
func (s *segment) scanWindow(pos, until int64) (*timeWindow, bool, error) {
	w := s.walk(pos)
	defer w.close()
	window := &timeWindow{end: pos}
	newest := int64(index.NoTimestamp)
	for w.next() && w.err == nil {
		h := &w.header
		newest = max(newest, h.MaxTimestamp)
		window.batches = append(window.batches, timedBatch{w.pos, h.LastOffset(), h.Size(), newest})
		window.end = w.stop
		if h.LastOffset() >= until {
			return window, true, nil
		}
	}
	return window, false, w.ioErr
}

// walkForTime goes over the batches from a position on.
func (s *segment) walkForTime(pos, timestamp, start int64) (Location, bool, error) {
	w := s.walk(pos)
	defer w.close()
	for w.next() {
		if w.err != nil {
			s.p.countCorruption(w.err)
			return Location{}, false, w.err
		}
		h := &w.header
		if h.MaxTimestamp < timestamp || h.LastOffset() < start {
			continue
		}
		l, found, err := s.firstSince(w.pos, h.Size(), timestamp, start)
		if err != nil || found {
			return l, found, err
		}
	}
	return Location{}, false, w.ioErr
}

// firstSince finds the first record of a batch at or after a time and an
// offset.
func (s *segment) firstSince(pos int64, size int, timestamp, start int64) (Location, bool, error) {
	d := decodings.Get().(*decoding)
	defer d.release()
	if err := d.read(s, pos, size); err != nil {
		s.p.countCorruption(err)
		return Location{}, false, err
	}
	if s.p.committed() && s.p.hidden(&d.recs.Header) {
		return Location{}, false, nil
	}
	var r batch.Record
	for d.recs.Next(&r) {
		// A control record has a time like any other, and a broker answers
		// with it.
		if r.Timestamp >= timestamp && r.Offset >= start {
			return s.location(pos, &d.recs.Header, &r), true, nil
		}
	}
	return Location{}, false, nil
}
