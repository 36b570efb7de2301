package dump

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
