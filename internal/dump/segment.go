package dump

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// segment prints a segment, or a snapshot of the cluster's metadata, which is
// a file of batches as well.
func (d *dumper) segment(name string) error {
	if err := d.segmentTitle(filepath.Base(name)); err != nil {
		return err
	}
	if err := d.file.open(name); err != nil {
		return err
	}
	return errors.Join(d.batches(name), d.file.close())
}

var checkpointName = regexp.MustCompile(`^(\d{20})-(\d{10})\.checkpoint$`)

func (d *dumper) segmentTitle(base string) error {
	if strings.HasSuffix(base, ".log") {
		start, err := baseOffset(base)
		if err == nil && !d.JSON {
			d.out.line("Log starting offset: ", strconv.FormatInt(start, 10))
		}
		return err
	}
	if base == "bootstrap.checkpoint" {
		if !d.JSON {
			d.out.line("KRaft bootstrap snapshot")
		}
		return nil
	}
	m := checkpointName.FindStringSubmatch(base)
	if m == nil {
		return fmt.Errorf("%w: the name is not <end offset>-<epoch>.checkpoint", ErrUnknownFile)
	}
	offset, err := strconv.ParseInt(m[1], 10, 64)
	epoch, eerr := strconv.ParseInt(m[2], 10, 32)
	if err = errors.Join(err, eerr); err == nil && !d.JSON {
		d.out.line("Snapshot end offset: ", strconv.FormatInt(offset, 10), ", epoch: ", strconv.FormatInt(epoch, 10))
	}
	return err
}

// baseOffset is the offset that a file's name begins with.
func baseOffset(base string) (int64, error) {
	digits, _, _ := strings.Cut(base, ".")
	offset, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the name does not begin with a base offset, as 00000000000000000000.log does: %w", err)
	}
	return offset, nil
}

func (d *dumper) batches(name string) error {
	w := walker{r: &d.file, end: min(d.file.size, int64(d.MaxBytes))}
	deep := d.DeepIteration || d.PrintDataLog || d.JSON
	gaps := offsetGaps{last: -1, any: d.From > 0 || d.To != NoOffset}
	if !d.JSON { // there it is for who reads it to see
		defer func() { d.findings.addGaps(name, &gaps) }()
	}
	for {
		ok, err := w.step()
		if err != nil {
			return err
		}
		if !ok || d.past(&w) {
			break
		}
		if w.head.LastOffset() < d.From { // none of its records are asked for
			continue
		}
		b, err := w.bytes()
		if err == nil {
			err = d.batchLine(&w.head, b, name)
		}
		if err == nil && deep {
			err = d.records(&w.head, b, &gaps)
		}
		if err == nil {
			err = d.out.spill()
		}
		if err != nil {
			return err
		}
	}
	if tail := w.end - w.next; tail > 0 && d.MaxBytes == NoLimit && !d.past(&w) {
		d.trailing(name, w.next, tail)
	}
	return nil
}

// past reports whether the present batch begins after all that is asked for.
// Where a message of format 0 or 1 begins is not known before it is decoded.
func (d *dumper) past(w *walker) bool {
	return !w.head.legacy() && w.head.BaseOffset >= d.To && d.To != NoOffset
}

func (d *dumper) trailing(name string, at, n int64) {
	d.damage.found(name, "the last %d bytes, from position %d, are no whole batch", n, at)
	if !d.JSON {
		d.out.line("Found ", strconv.FormatInt(n, 10), " invalid bytes at the end of ", filepath.Base(name))
	}
}
