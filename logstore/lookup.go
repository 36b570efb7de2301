package logstore

import (
	"fmt"
	"sort"

	"klogfs/batch"
)

// Locate finds the record with an offset. ErrNoRecord is returned when no
// readable record has it: below the log start, at or past the end, compacted
// away, or a control record. A *batch.CorruptionError is returned when the
// batch that holds it is damaged.
func (p *Partition) Locate(offset int64) (Location, error) {
	segments := p.segments()
	if offset < p.LogStartOffset() || offset >= p.EndOffset() {
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
	var damage error
	for w.next() {
		if w.err != nil {
			damage = w.err
			continue
		}
		if w.header.LastOffset() < offset {
			damage = nil
			continue
		}
		if w.header.BaseOffset <= offset {
			return s.locate(w.pos, &w.header, offset)
		}
		break
	}
	switch {
	case w.ioErr != nil:
		return Location{}, w.ioErr
	case damage != nil:
		p.countCorruption(damage)
		return Location{}, damage
	}
	return Location{}, p.noRecord(offset)
}

func (p *Partition) noRecord(offset int64) error {
	return fmt.Errorf("offset %d of %s: %w", offset, p.Name(), ErrNoRecord)
}

// locate finds a record in the batch at a position.
func (s *segment) locate(pos int64, h *batch.Header, offset int64) (Location, error) {
	if h.Attributes.Control() {
		return Location{}, s.p.noRecord(offset)
	}
	d := decodings.Get().(*decoding)
	defer d.release()
	if err := d.read(s, pos, h.Size()); err != nil {
		s.p.countCorruption(err)
		return Location{}, err
	}
	var r batch.Record
	if !d.recs.Find(offset, &r) || r.Offset != offset {
		return Location{}, s.p.noRecord(offset)
	}
	return s.location(pos, h, &r), nil
}

func (s *segment) location(pos int64, h *batch.Header, r *batch.Record) Location {
	l := Location{
		Offset: r.Offset, Timestamp: r.Timestamp, ValueSize: int64(len(r.Value)),
		seg: s, batch: pos, size: h.Size(), value: -1,
	}
	if h.Attributes.Codec() == batch.CodecNone {
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
