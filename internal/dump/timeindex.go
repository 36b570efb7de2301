package dump

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"klogfs/index"
)

// timeEntries is a file of a time index as Kafka takes it.
type timeEntries []byte

func (t timeEntries) len() int { return len(t) / index.TimeEntrySize }

func (t timeEntries) at(i int) index.TimeEntry { return index.DecodeTime(t[i*index.TimeEntrySize:]) }

// timeIndex prints a time index, and compares it with its segment.
func (d *dumper) timeIndex(name string) error {
	base, err := baseOffset(filepath.Base(name))
	if err != nil {
		return err
	}
	file, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	offsets, err := os.ReadFile(sibling(name, ".index"))
	if err != nil {
		return fmt.Errorf("open the offset index of the same segment: %w", err)
	}
	if err := d.openSegmentOf(name); err != nil {
		return err
	}
	return errors.Join(d.timeIndexOf(name, base, file, offsets), d.file.close())
}

func (d *dumper) timeIndexOf(name string, base int64, file timeEntries, offsets offsetEntries) error {
	if d.IndexSanityCheck {
		return d.timeSanity(name, file)
	}
	found := timeFindings{name: name}
	places := batchPlaces{r: &d.file}
	previous := int64(index.NoTimestamp)
	var err error
	for i := range file.len() {
		e := file.at(i)
		if e.RelativeOffset == 0 && i > 0 {
			break // the zeros of a preallocated file
		}
		offset := base + int64(e.RelativeOffset)
		if err = d.checkTime(&found, &places, offsets.lookup(e.RelativeOffset), offset, e.Timestamp, previous); err != nil {
			err = fmt.Errorf("entry %d (timestamp %d, offset %d): %w", i, e.Timestamp, offset, err)
			break
		}
		if offset >= d.From && offset < d.To {
			d.timeEntry(name, e.Timestamp, offset)
		}
		previous = e.Timestamp
		if err = d.out.spill(); err != nil {
			break
		}
	}
	if n := len(found.mismatches) + len(found.outOfOrder) + len(found.notFound); n > 0 {
		if file.at(0) != (index.TimeEntry{}) { // zeros: nothing was added to it yet
			d.damage.found(name, "%d of its entries are not those of its segment", n)
		}
		d.findings.times = append(d.findings.times, found)
	}
	return err
}

func (d *dumper) timeSanity(name string, file timeEntries) error {
	last := index.TimeEntry{Timestamp: index.NoTimestamp}
	if n := file.len(); n > 0 {
		last = file.at(n - 1)
		if first := file.at(0); last.Timestamp < first.Timestamp {
			return fmt.Errorf("%w: the last timestamp, %d, is below the first, %d; delete it, and the broker makes it anew when it starts",
				ErrDamaged, last.Timestamp, first.Timestamp)
		}
	}
	return d.sanity(name, int64(last.RelativeOffset), int64(len(file)), index.TimeEntrySize)
}

func (d *dumper) timeEntry(name string, timestamp, offset int64) {
	switch {
	case d.VerifyIndexOnly:
	case d.JSON:
		d.out.object(name)
		d.out.int(`,"timestamp":`, timestamp)
		d.out.int(`,"offset":`, offset)
		d.out.b = append(d.out.b, "}\n"...)
	default:
		d.out.int("timestamp: ", timestamp)
		d.out.int(" offset: ", offset)
		d.out.b = append(d.out.b, '\n')
	}
}

// checkTime compares an entry of a time index with the batch it is of.
func (d *dumper) checkTime(found *timeFindings, places *batchPlaces, from, offset, timestamp, previous int64) error {
	at, last, err := places.find(from, offset)
	if err != nil {
		return err
	}
	if last != offset {
		found.notFound = append(found.notFound, pair{offset, last})
		return nil
	}
	newest, err := d.newest(at)
	if err != nil {
		return err
	}
	if newest != timestamp {
		found.mismatches = append(found.mismatches, pair{timestamp, newest})
	}
	if previous >= timestamp {
		found.outOfOrder = append(found.outOfOrder, pair{timestamp, previous})
	}
	return nil
}

// newest is the largest timestamp of the records of the batch at a place.
func (d *dumper) newest(at int64) (int64, error) {
	w := walker{r: &d.file, next: at, end: d.file.size}
	if _, err := w.step(); err != nil {
		return 0, err
	}
	b, err := w.bytes()
	if err != nil {
		return 0, err
	}
	newest := int64(index.NoTimestamp)
	err = d.eachRecord(&w.head, b, func(r *record) error {
		newest = max(newest, r.timestamp)
		return nil
	})
	return newest, err
}

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
