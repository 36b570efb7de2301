package logstore

import (
	"sort"

	"klogfs/batch"
)

// Offsets goes over the offsets that records of a partition have, in order.
// Batches are decoded only where their headers leave a doubt. It is not safe
// for concurrent use.
type Offsets struct {
	p        *Partition
	segments []*segment
	w        *walker
	from     int64
	end      int64 // of what is readable

	// The offsets of the present batch: a run, or what was decoded.
	next, last int64
	list       []int64

	offset int64
	err    error
}

// Offsets starts at the first record with an offset of at least from.
func (p *Partition) Offsets(from int64) *Offsets {
	end, err := p.readable()
	segments := p.segments()
	from = max(from, p.LogStartOffset())
	i := sort.Search(len(segments), func(i int) bool { return segments[i].base > from }) - 1
	return &Offsets{p: p, segments: segments[max(i, 0):], from: from, end: end, last: -1, err: err}
}

// Close gives back what the iteration holds.
func (o *Offsets) Close() {
	if o.w != nil {
		o.w.close()
		o.w = nil
	}
}

// Offset is the present offset.
func (o *Offsets) Offset() int64 { return o.offset }

// Err is the error of the disk that ended the iteration, nil when it came to
// the end. Damaged batches are passed over.
func (o *Offsets) Err() error { return o.err }

// Next goes to the next offset; false at the end.
func (o *Offsets) Next() bool {
	for {
		switch {
		case len(o.list) > 0:
			o.offset, o.list = o.list[0], o.list[1:]
		case o.next <= o.last:
			o.offset = o.next
			o.next++
		case o.nextBatch():
			continue
		default:
			return false
		}
		if o.offset >= o.from {
			return true
		}
	}
}

func (o *Offsets) nextBatch() bool {
	for o.err == nil {
		if o.w == nil && !o.nextSegment() {
			return false
		}
		if !o.w.next() {
			o.err = o.w.ioErr
			o.Close()
			continue
		}
		h := &o.w.header
		if o.w.err == nil && h.LeastOffset() >= o.end {
			o.segments = nil
			o.Close()
			return false
		}
		if o.w.err != nil || o.p.hidden(h) || h.LastOffset() < o.from {
			continue
		}
		if h.Count == h.LastOffsetDelta+1 {
			o.next, o.last = max(h.BaseOffset, o.from), h.LastOffset()
			return true
		}
		if o.decode(h) {
			return true
		}
	}
	return false
}

func (o *Offsets) nextSegment() bool {
	if len(o.segments) == 0 {
		return false
	}
	s := o.segments[0]
	o.segments = o.segments[1:]
	pos, err := s.floor(o.from)
	if err != nil {
		o.err = err
		return false
	}
	o.w = s.walk(pos)
	return true
}

// decode lists the offsets of a batch with holes.
func (o *Offsets) decode(h *batch.Header) bool {
	d := decodings.Get().(*decoding)
	defer d.release()
	if err := d.read(o.w.s, o.w.pos, h.Size()); err != nil {
		o.p.countCorruption(err)
		return false
	}
	var r batch.Record
	for d.recs.Next(&r) {
		o.list = append(o.list, r.Offset)
	}
	return len(o.list) > 0
}
