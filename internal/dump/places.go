package dump

import (
	"fmt"
	"sort"

	"klogfs/index"
)

// batchPlace is where a batch is.
type batchPlace struct{ at, last int64 }

// batchPlaces are the batches of a segment, which are gone over once for all
// entries of its index.
type batchPlaces struct {
	r      *reader
	places []batchPlace
}

// find is the first batch from a place with a last offset of at least offset;
// the last offset is −1 when there is none. Every batch up to the end of the
// segment has to be one, as in Kafka.
func (p *batchPlaces) find(from, offset int64) (at, last int64, err error) {
	i := sort.Search(len(p.places), func(i int) bool { return p.places[i].at >= from })
	if i == len(p.places) || p.places[i].at != from {
		if err := p.walk(from); err != nil {
			return 0, 0, err
		}
		i = 0
	}
	for _, place := range p.places[i:] {
		if place.last >= offset {
			return place.at, place.last, nil
		}
	}
	return 0, -1, nil
}

func (p *batchPlaces) walk(from int64) error {
	if from < 0 || from > p.r.size {
		return fmt.Errorf("%w: position %d of the offset index is past the %d bytes of the segment", ErrDamaged, from, p.r.size)
	}
	p.places = p.places[:0]
	w := walker{r: p.r, next: from, end: p.r.size}
	for {
		ok, err := w.step()
		if err != nil || !ok {
			return err
		}
		p.places = append(p.places, batchPlace{w.head.pos, w.head.LastOffset()})
	}
}

// warmEntries is how many entries at the end Kafka searches first.
const warmEntries = 8192 / index.OffsetEntrySize

// lookup is the position that Kafka's OffsetIndex finds for an offset. What it
// finds in the zeros of a preallocated file depends on how it searches.
func (o offsetEntries) lookup(relativeOffset int32) int64 {
	n := o.len()
	if n == 0 {
		return 0
	}
	low, high := 0, max(0, n-1-warmEntries)
	if o.at(high).RelativeOffset < relativeOffset {
		low, high = high, n-1
	} else if o.at(0).RelativeOffset > relativeOffset {
		return 0
	}
	for low < high {
		middle := (low + high + 1) / 2
		switch offset := o.at(middle).RelativeOffset; {
		case offset > relativeOffset:
			high = middle - 1
		case offset < relativeOffset:
			low = middle
		default:
			return int64(o.at(middle).Position)
		}
	}
	return int64(o.at(low).Position)
}
