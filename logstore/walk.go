package logstore

import (
	"errors"
	"sync"

	"klogfs/batch"
)

// walker goes over the batches of a segment by their headers. A stretch that
// is damaged is one step with err set; the walk goes on behind it where the
// index says that a batch starts.
type walker struct {
	s  *segment
	sc *batch.Scanner
	// end is where the walk ends; resync says whether to look for a way past
	// damage.
	end    int64
	resync bool

	// pos and stop are the bytes of this step; header is its batch, when err
	// is nil.
	pos, stop int64
	header    batch.Header
	err       error
	// ioErr is what ended the walk early: the disk, not the bytes.
	ioErr error
}

var scanners = sync.Pool{New: func() any { return new(batch.Scanner) }}

// walk starts at a position where a batch starts, up to what is published.
func (s *segment) walk(pos int64) *walker {
	w := s.walkPlain(pos, s.size.Load())
	w.resync = true
	return w
}

// walkPlain is walk without the help of the index: damage is the last step.
func (s *segment) walkPlain(pos, end int64) *walker {
	w := &walker{s: s, end: end, stop: pos, sc: scanners.Get().(*batch.Scanner)}
	w.sc.Reset(s, pos, end)
	return w
}

func (w *walker) close() {
	w.sc.Reset(nil, 0, 0)
	scanners.Put(w.sc)
	w.sc = nil
}

// next makes the next step; false when the segment ends or can't be read.
func (w *walker) next() bool {
	w.err = nil
	if w.sc.Next() {
		w.header, w.pos = *w.sc.Header(), w.sc.Pos()
		w.stop = w.pos + int64(w.header.Size())
		return true
	}
	err := w.sc.Err()
	var c *batch.CorruptionError
	switch {
	case err != nil && !errors.As(err, &c):
		w.ioErr = err
		return false
	case err == nil && w.sc.Stop() != batch.TornTail:
		return false
	case err == nil:
		err = batch.ErrTruncated
	}
	return w.damage(err)
}

// damage makes the rest of the segment, or what lies before the next batch
// that the index knows, one step.
func (w *walker) damage(cause error) bool {
	w.pos, w.stop = w.sc.End(), w.end
	if w.pos >= w.end {
		return false
	}
	w.err = w.s.corrupt(w.pos, cause)
	if w.resync {
		w.stop = w.s.resync(w.pos, w.end)
	}
	w.sc.Reset(w.s, w.stop, w.end)
	return true
}

// stopped is why a walk without resync ended at this step.
func (w *walker) stopped() batch.StopReason {
	if errors.Is(w.err, batch.ErrTruncated) {
		return batch.TornTail
	}
	return batch.Damaged
}

// batch returns the bytes of this step's batch, valid until next.
func (w *walker) batch() ([]byte, error) {
	b, err := w.sc.Batch()
	if err != nil {
		w.ioErr = err
	}
	return b, err
}
