package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"klogfs/batch"
	"klogfs/index"
)

// segmentCheck holds the entries of a segment's indexes against its batches, in
// one walk.
type segmentCheck struct {
	c       *checker
	s       *segment
	offsets index.Offsets
	times   index.Times

	// How many entries were passed, and the largest timestamp up to here.
	offset, time int
	newest       int64
	// One wrong entry is enough: what follows it is not believed either.
	badOffset, badTime bool
}

// checkIndexFiles reads a segment's indexes, and reports what is no index.
func (c *checker) checkIndexFiles(s *segment) (index.Offsets, index.Times) {
	offsets := c.readIndex(s, suffixOffset, index.OffsetEntrySize, func(b []byte) int { return len(index.ParseOffsets(b)) })
	times := c.readIndex(s, suffixTime, index.TimeEntrySize, func(b []byte) int { return len(index.ParseTimes(b)) })
	return index.Offsets(offsets), index.Times(times)
}

// readIndex returns the entries of an index file. Behind them there may be the
// zeros of a preallocated file, and nothing else.
func (c *checker) readIndex(s *segment, suffix string, entry int, parse func([]byte) int) []byte {
	file, err := readFile(s.p.disk, s.path(suffix))
	if errors.Is(err, fs.ErrNotExist) {
		c.found <- Finding{
			LogDir: s.p.logDir.path, TopicPartition: s.p.Name(), File: segmentFile(s.base, suffix) + s.suffix, Segment: s.base,
			Position: -1, Problem: "the index is missing", Recovery: recoverIndex,
		}
		return nil
	}
	if err != nil {
		c.report(s, suffix, -1, err.Error(), recoverIndex)
		return nil
	}
	n := parse(file)
	switch {
	case !zeros(file[n:]):
		c.report(s, suffix, int64(n), fmt.Sprintf("entry %d does not follow on the one before", n/entry), recoverIndex)
	case len(file)%entry != 0 && len(file) > n:
		c.report(s, suffix, int64(n), fmt.Sprintf("%d bytes are no whole number of entries", len(file)), recoverIndex)
	}
	return file[:n]
}

// run walks the segment.
func (sc *segmentCheck) run(ctx context.Context, end int64) error {
	sc.newest = math.MinInt64
	w := sc.s.walkTo(0, end, math.MaxInt64)
	defer w.close()
	d := decodings.Get().(*decoding)
	defer d.release()
	for w.next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		from := w.pos
		err := w.err
		if err == nil {
			err = sc.batch(w, d)
		}
		if w.ioErr != nil {
			return w.ioErr
		}
		sc.c.progress(w.stop - from)
		if err != nil {
			sc.damage(from, w, err)
			continue
		}
		sc.checkOffset(w)
		sc.checkTime(w)
	}
	if w.ioErr != nil {
		return w.ioErr
	}
	return sc.rest(end)
}

// batch decodes a batch, and goes over its records.
func (sc *segmentCheck) batch(w *walker, d *decoding) error {
	if err := w.decode(&d.dec, &d.recs); err != nil {
		return err
	}
	sc.c.batches.Add(1)
	sc.c.records.Add(int64(d.recs.Header.Count))
	err := d.recs.Validate()
	d.dec.Trim(keptDecoded)
	if err != nil {
		return sc.s.corrupt(w.pos, err)
	}
	return nil
}

// damage reports a damaged stretch of the log. Index entries that point into it
// can't be held against anything.
func (sc *segmentCheck) damage(from int64, w *walker, err error) {
	cause := err
	var c *batch.CorruptionError
	if errors.As(err, &c) {
		cause = c.Cause
	}
	sc.c.report(sc.s, suffixLog, from, fmt.Sprintf("%d bytes of a damaged record batch: %v", w.stop-from, cause), recoverBatch)
	for sc.offset < sc.offsets.Len() && int64(sc.offsets.At(sc.offset).Position) < w.stop {
		sc.offset++
	}
	sc.time = sc.times.Len() // the largest timestamp is not known any more
}

// checkOffset holds the offset entries up to here against the batch.
func (sc *segmentCheck) checkOffset(w *walker) {
	for ; sc.offset < sc.offsets.Len(); sc.offset++ {
		e := sc.offsets.At(sc.offset)
		if int64(e.Position) > w.pos {
			return
		}
		last := sc.s.base + int64(e.RelativeOffset)
		if (int64(e.Position) != w.pos || last != w.header.LastOffset()) && !sc.badOffset {
			sc.badOffset = true
			sc.c.report(sc.s, suffixOffset, int64(sc.offset*index.OffsetEntrySize),
				fmt.Sprintf("entry %d says that the batch with the last offset %d starts at position %d, where the log has none", sc.offset, last, e.Position), recoverIndex)
		}
	}
}

// checkTime holds the time entries up to here against the batch: each names the
// largest timestamp so far and an offset of the batch that has it.
func (sc *segmentCheck) checkTime(w *walker) {
	h := &w.header
	sc.newest = max(sc.newest, h.MaxTimestamp)
	for ; sc.time < sc.times.Len(); sc.time++ {
		e := sc.times.At(sc.time)
		offset := sc.s.base + int64(e.RelativeOffset)
		if offset > h.LastOffset() {
			return
		}
		if (e.Timestamp != sc.newest || e.Timestamp != h.MaxTimestamp || offset < h.LeastOffset()) && !sc.badTime {
			sc.badTime = true
			sc.c.report(sc.s, suffixTime, int64(sc.time*index.TimeEntrySize),
				fmt.Sprintf("entry %d says that the largest timestamp up to offset %d is %d, the log has %d", sc.time, offset, e.Timestamp, sc.newest), recoverIndex)
		}
	}
}

// rest reports the entries that point beyond the log. Of one that grows, or has
// a torn tail, they may be of what comes behind its end.
func (sc *segmentCheck) rest(end int64) error {
	info, err := sc.s.p.disk.Stat(sc.s.path(suffixLog))
	if err != nil || info.Size > end {
		return ignoreMissing(err)
	}
	if sc.offset < sc.offsets.Len() && !sc.badOffset {
		sc.c.report(sc.s, suffixOffset, int64(sc.offset*index.OffsetEntrySize),
			fmt.Sprintf("entry %d points beyond the log's %d bytes", sc.offset, end), recoverIndex)
	}
	if sc.time < sc.times.Len() && !sc.badTime {
		sc.c.report(sc.s, suffixTime, int64(sc.time*index.TimeEntrySize),
			fmt.Sprintf("entry %d names an offset beyond the log", sc.time), recoverIndex)
	}
	return nil
}
