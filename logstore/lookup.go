package logstore

import (
	"errors"
	"fmt"
	"sort"

	"klogfs/batch"
)

// Locate finds the record with an offset. ErrNoRecord is returned when no
// readable record has it: below the log start, at or past the end, compacted
// away, or a control record. A *batch.CorruptionError is returned when the
// batch that holds it is damaged.
func (p *Partition) Locate(offset int64) (Location, error) {
	end, err := p.readable()
	if err != nil {
		return Location{}, err
	}
	segments := p.segments()
	if offset < p.LogStartOffset() || offset >= end {
		return Location{}, p.noRecord(offset)
	}
	i := sort.Search(len(segments), func(i int) bool { return segments[i].base > offset }) - 1
	if i < 0 {
		return Location{}, p.noRecord(offset)
	}
	s := segments[i]
	pos, err := s.floor(offset)
	if err != nil {
		return Location{}, err
	}
	w := s.walk(pos)
	defer w.close()
	l, err := w.locate(offset)
	p.countCorruption(err)
	return l, err
}

// locate walks to the record with an offset. Where it is not found and damage
// lies where it should be, that is the error.
func (w *walker) locate(offset int64) (Location, error) {
	var damage error
	var below, above lastBatch
	for above.header.Length == 0 && w.next() {
		switch {
		case w.err != nil:
			damage = w.err
		case w.header.LastOffset() < offset:
			damage, below = nil, lastBatch{w.pos, w.header}
		case w.header.LeastOffset() > offset && !w.overlapped():
			above = lastBatch{w.pos, w.header}
		default:
			l, err := w.locateHere(offset)
			switch wrapper := w.header.LeastOffset() < w.header.BaseOffset; {
			case isDamage(err):
				damage = err
			case !errors.Is(err, ErrNoRecord) || !wrapper && !w.overlapped():
				return l, err
			}
		}
	}
	if w.ioErr != nil {
		return Location{}, w.ioErr
	}
	if damage == nil {
		damage = errors.Join(w.s.checkCRC(below), w.s.checkCRC(above))
	}
	if damage == nil {
		damage = w.s.p.noRecord(offset)
	}
	return Location{}, damage
}

// locateHere finds a record in the batch of this step.
func (w *walker) locateHere(offset int64) (Location, error) {
	l, err := w.s.locate(w.pos, &w.header, offset)
	if err == nil && w.header.BaseOffset != w.before && w.overlapped() && w.lies() {
		err = w.s.corrupt(w.pos, batch.ErrOffsetOrder)
	}
	return l, err
}

// lies reports whether the batch of this step, which the next one overlaps,
// has a wrong base offset: it leaves a gap to the one before, and the next one
// none to the one behind.
func (w *walker) lies() bool {
	here, ok1 := w.s.decodedHeader(w.pos, w.end)
	next, ok2 := w.s.decodedHeader(w.stop, w.end)
	if !ok1 || !ok2 || here.BaseOffset == w.before {
		return false
	}
	stop := w.stop + int64(next.Size())
	behind, ok := w.s.decodedHeader(stop, w.end)
	return stop == w.end || ok && behind.BaseOffset == next.NextOffset()
}

// decodedHeader is the header of the batch at a position as decoding completes
// it; false when that is not a right one.
func (s *segment) decodedHeader(pos, end int64) (batch.Header, bool) {
	h, err := s.headerBelow(pos, end)
	if err != nil || int64(h.Size()) > end-pos {
		return h, false
	}
	d := decodings.Get().(*decoding)
	defer d.release()
	err = d.read(s, pos, h.Size())
	return d.recs.Header, err == nil
}

// checkCRC holds a batch against its checksum.
func (s *segment) checkCRC(b lastBatch) error {
	if b.header.Length == 0 {
		return nil
	}
	right, err := batch.CheckCRC(s, b.pos, &b.header)
	if err == nil && !right {
		err = s.corrupt(b.pos, batch.ErrCRC)
	}
	return err
}

func isDamage(err error) bool {
	var c *batch.CorruptionError
	return errors.As(err, &c)
}

func (p *Partition) noRecord(offset int64) error {
	return fmt.Errorf("offset %d of %s: %w", offset, p.Name(), ErrNoRecord)
}

// locate finds a record in the batch at a position.
func (s *segment) locate(pos int64, h *batch.Header, offset int64) (Location, error) {
	d := decodings.Get().(*decoding)
	defer d.release()
	if err := d.read(s, pos, h.Size()); err != nil {
		return Location{}, err
	}
	var r batch.Record
	if s.p.hidden(h) || !d.recs.Find(offset, &r) || r.Offset != offset {
		return Location{}, s.p.noRecord(offset)
	}
	return s.location(pos, h, &r), nil
}

func (s *segment) location(pos int64, h *batch.Header, r *batch.Record) Location {
	l := Location{
		Offset: r.Offset, Timestamp: r.Timestamp, ValueSize: int64(len(r.Value)),
		seg: s, batch: pos, size: h.Size(), value: -1, large: r.Size() > wholeText,
	}
	if h.Attributes.Codec() == batch.CodecNone && h.Magic == batch.Magic {
		l.value = pos + int64(r.ValuePos)
	}
	return l
}

// Earliest finds the first record of the log, ErrNoRecord when it has none.
func (p *Partition) Earliest() (Location, error) {
	o := p.Offsets(p.LogStartOffset())
	defer o.Close()
	if o.Next() {
		return p.Locate(o.Offset())
	}
	return Location{}, p.orNoRecord(o.Err())
}

// Latest finds the last record of the log, ErrNoRecord when it has none.
func (p *Partition) Latest() (Location, error) {
	end := p.EndOffset()
	start := p.LogStartOffset()
	for step := int64(1); ; step *= 16 {
		from := max(start, end-step)
		last, err := p.lastOffset(from)
		if err != nil {
			return Location{}, err
		}
		if last >= 0 {
			return p.Locate(last)
		}
		if from == start {
			return Location{}, p.orNoRecord(nil)
		}
	}
}

// lastOffset is the last offset at or after from that a record has, −1 when
// none has.
func (p *Partition) lastOffset(from int64) (int64, error) {
	o := p.Offsets(from)
	defer o.Close()
	last := int64(-1)
	for o.Next() {
		last = o.Offset()
	}
	return last, o.Err()
}

func (p *Partition) orNoRecord(err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s is empty: %w", p.Name(), ErrNoRecord)
}

// NewestOffsets is an offset from which Offsets gives the newest n records, or
// all that there are; all for n of 0.
func (p *Partition) NewestOffsets(n int) (int64, error) {
	start, end := p.LogStartOffset(), p.EndOffset()
	if n <= 0 {
		return start, nil
	}
	for span := int64(n); ; span *= 4 {
		from := start
		if span < end-start {
			from = end - span
		}
		var newest []int64 // a ring of the last n
		o := p.Offsets(from)
		count := 0
		for ; o.Next(); count++ {
			if len(newest) < n {
				newest = append(newest, o.Offset())
			} else {
				newest[count%n] = o.Offset()
			}
		}
		err := o.Err()
		o.Close()
		switch {
		case err != nil:
			return 0, err
		case count >= n:
			return newest[count%n], nil
		case from == start:
			return start, nil
		}
	}
}
