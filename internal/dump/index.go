package dump

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"klogfs/index"
)

// openSegmentOf opens the segment that an index is of.
func (d *dumper) openSegmentOf(name string) error {
	if err := d.file.open(sibling(name, ".log")); err != nil {
		return fmt.Errorf("open the segment it belongs to: %w", err)
	}
	return nil
}

// sibling is the file of the same segment with another suffix.
func sibling(name, suffix string) string {
	digits, _, _ := strings.Cut(filepath.Base(name), ".")
	return filepath.Join(filepath.Dir(name), digits+suffix)
}

// offsetEntries is a file of an offset index as Kafka takes it: all that are
// whole, the zeros of a preallocated file too.
type offsetEntries []byte

func (o offsetEntries) len() int { return len(o) / index.OffsetEntrySize }

func (o offsetEntries) at(i int) index.OffsetEntry {
	return index.DecodeOffset(o[i*index.OffsetEntrySize:])
}

// offsetIndex prints an offset index, and compares it with its segment.
func (d *dumper) offsetIndex(name string) error {
	base, err := baseOffset(filepath.Base(name))
	if err != nil {
		return err
	}
	file, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := d.openSegmentOf(name); err != nil {
		return err
	}
	return errors.Join(d.offsetIndexOf(name, base, file), d.file.close())
}

func (d *dumper) offsetIndexOf(name string, base int64, file offsetEntries) error {
	if file.len() == 0 {
		if !d.JSON {
			d.out.line(name, " is empty.")
		}
		return nil
	}
	if d.IndexSanityCheck {
		last := int64(file.at(file.len() - 1).RelativeOffset)
		return d.sanity(name, last, int64(len(file)), index.OffsetEntrySize)
	}
	found := indexFindings{name: name}
	var err error
	for i := range file.len() {
		e := file.at(i)
		if e.RelativeOffset == 0 && i > 0 {
			break // the zeros of a preallocated file
		}
		offset := base + int64(e.RelativeOffset)
		var last int64
		if last, err = d.lastOffsetAt(int64(e.Position)); err != nil {
			err = fmt.Errorf("entry %d (offset %d, position %d): %w", i, offset, e.Position, err)
			break
		}
		if last != offset {
			found.pairs = append(found.pairs, pair{offset, last})
			if e != (index.OffsetEntry{}) { // zeros: nothing was added to it yet
				d.damage.found(name, "entry %d has offset %d, the batch it points to %d", i, offset, last)
			}
		}
		if offset >= d.From && offset < d.To {
			d.indexEntry(name, offset, "position", int64(e.Position))
		}
		if err = d.out.spill(); err != nil {
			break
		}
	}
	d.findings.addIndex(found)
	return err
}

func (d *dumper) indexEntry(name string, offset int64, key string, v int64) {
	switch {
	case d.VerifyIndexOnly:
	case d.JSON:
		d.out.object(name)
		d.out.int(`,"offset":`, offset)
		d.out.b = append(append(append(d.out.b, `,"`...), key...), '"')
		d.out.int(`:`, v)
		d.out.b = append(d.out.b, "}\n"...)
	default:
		d.out.int("offset: ", offset)
		d.out.b = append(append(append(d.out.b, ' '), key...), ": "...)
		d.out.int("", v)
		d.out.b = append(d.out.b, '\n')
	}
}

// lastOffsetAt is the last offset of the batch at a place of the segment.
func (d *dumper) lastOffsetAt(at int64) (int64, error) {
	if at < 0 || at > d.file.size {
		return 0, fmt.Errorf("%w: the segment has %d bytes", ErrDamaged, d.file.size)
	}
	w := walker{r: &d.file, next: at, end: min(d.file.size, at+int64(d.MaxMessageSize))}
	ok, err := w.step()
	if err == nil && !ok {
		err = fmt.Errorf("%w: no whole batch is there (or it is larger than --max-message-size)", ErrDamaged)
	}
	return w.head.LastOffset(), err
}

// sanity is the check of an index that a broker makes when it starts.
func (d *dumper) sanity(name string, lastRelative, size int64, entrySize int64) error {
	const todo = "delete it, and the broker makes it anew when it starts"
	if lastRelative < 0 {
		return fmt.Errorf("%w: the last offset is %d below the base offset; %s", ErrDamaged, -lastRelative, todo)
	}
	if size%entrySize != 0 {
		return fmt.Errorf("%w: %d bytes are not a multiple of %d; %s", ErrDamaged, size, entrySize, todo)
	}
	if d.JSON {
		d.out.object(name)
		d.out.b = append(d.out.b, `,"entries":`...)
		d.out.b = append(strconv.AppendInt(d.out.b, size/entrySize, 10), `,"sane":true}`+"\n"...)
		return nil
	}
	d.out.line(name, " passed sanity check.")
	return nil
}

// addIndex takes over what is wrong with an index: by offset from the highest,
// the last finding for each.
func (f *findings) addIndex(found indexFindings) {
	if len(found.pairs) == 0 {
		return
	}
	slices.Reverse(found.pairs)
	slices.SortStableFunc(found.pairs, func(a, b pair) int { return cmp.Compare(b.first, a.first) })
	found.pairs = slices.CompactFunc(found.pairs, func(a, b pair) bool { return a.first == b.first })
	f.indexes = append(f.indexes, found)
}
