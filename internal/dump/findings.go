package dump

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// findings are what Kafka reports after all files, of each file.
type findings struct {
	indexes []indexFindings
	times   []timeFindings
	gaps    []gapFindings
}

// pair is one thing that is not what another is.
type pair struct{ first, second int64 }

type indexFindings struct {
	name  string
	pairs []pair // offset of the entry, offset of the batch
}

type timeFindings struct {
	name       string
	mismatches []pair // timestamp of the entry, timestamp of the batch
	outOfOrder []pair // timestamp of the entry, timestamp of the entry before
	notFound   []pair // offset of the entry, offset of the batch
}

type gapFindings struct {
	name  string
	pairs []pair // offset, offset of the next record
}

// addGaps takes over the gaps of a segment.
func (f *findings) addGaps(name string, gaps *offsetGaps) {
	if len(gaps.after) == 0 {
		return
	}
	found := gapFindings{name: name}
	for from, to := range gaps.after {
		found.pairs = append(found.pairs, pair{from, to})
	}
	slices.SortFunc(found.pairs, func(a, b pair) int { return cmp.Compare(a.first, b.first) })
	f.gaps = append(f.gaps, found)
}

// report prints the findings in Kafka's words.
func (f *findings) report(w io.Writer) error {
	var b bytes.Buffer
	for _, i := range f.indexes {
		if err := section(&b, "Mismatches in :", i.name, "  Index offset: %d, log offset: %d\n", i.pairs); err != nil {
			return err
		}
	}
	for _, t := range f.times {
		if err := section(&b, "Found timestamp mismatch in :", t.name, "  Index timestamp: %d, log timestamp: %d\n", t.mismatches); err != nil {
			return err
		}
	}
	for _, t := range f.times {
		if err := section(&b, "Found out of order timestamp in :", t.name, "  Index timestamp: %d, Previously indexed timestamp: %d\n", t.outOfOrder); err != nil {
			return err
		}
	}
	for _, t := range f.times {
		if err := section(&b, "The following indexed offsets are not found in :", t.name, "Indexed offset: %d, found log offset: %d\n", t.notFound); err != nil {
			return err
		}
	}
	for _, g := range f.gaps {
		if err := section(&b, "Non-consecutive offsets in ", g.name, "  %d is followed by %d\n", g.pairs); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func section(b *bytes.Buffer, title, name, format string, pairs []pair) error {
	if len(pairs) == 0 {
		return nil
	}
	path, err := absolute(name)
	if err != nil {
		return err
	}
	fmt.Fprintln(b, title+path)
	for _, p := range pairs {
		fmt.Fprintf(b, format, p.first, p.second)
	}
	return nil
}

// damage is what is wrong with the files: the first of it, and how much more.
type damage struct {
	first string
	count int
}

func (d *damage) found(name, format string, a ...any) {
	if d.count == 0 {
		d.first = name + ": " + fmt.Sprintf(format, a...)
	}
	d.count++
}

// err is nil or an ErrDamaged.
func (d *damage) err() error {
	switch d.count {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w: %s", ErrDamaged, d.first)
	}
	return fmt.Errorf("%w: %s, and %d more", ErrDamaged, d.first, d.count-1)
}
