package logstore

import (
	"errors"
	"math"
	"sync"

	"klogfs/batch"
)

// walker goes over the batches of a segment by their headers. A stretch that
// is damaged is one step with err set; the walk goes on behind it, at the next
// batch that is right.
//
// A header can lie where only a checksum would tell: of its length, of its
// offsets. Who decodes a batch and finds its checksum wrong says so by spoil;
// where a header leads to no other one, the walker checks it itself.
type walker struct {
	s  *segment
	sc *batch.Scanner
	// end is where the walk ends. Damage at an offset below passing is passed
	// over; other damage ends the walk.
	end     int64
	passing int64

	// pos and stop are the bytes of this step; header is its batch, when err
	// is nil.
	pos, stop int64
	header    batch.Header
	err       error
	// next offset after this step, and after the one before.
	nextOffset, before int64
	// ioErr is what ended the walk early: the disk, not the bytes.
	ioErr error
}

var scanners = sync.Pool{New: func() any { return new(batch.Scanner) }}

// walk starts at a position where a batch starts, up to what is published.
func (s *segment) walk(pos int64) *walker {
	return s.walkTo(pos, s.size.Load(), math.MaxInt64)
}

// walkTo is walk up to an end, past damage of offsets below passing.
func (s *segment) walkTo(pos, end, passing int64) *walker {
	w := &walker{s: s, end: end, passing: passing, stop: pos, pos: -1, nextOffset: s.base, before: s.base}
	w.sc = scanners.Get().(*batch.Scanner)
	w.sc.Reset(s, pos, end)
	return w
}

func (w *walker) close() {
	w.sc.Reset(nil, 0, 0)
	w.sc.Trim(keptBuffer)
	scanners.Put(w.sc)
	w.sc = nil
}

// next makes the next step; false when the segment ends or can't be read.
func (w *walker) next() bool {
	for w.ioErr == nil {
		if w.sc.Next() && w.sc.Header().NextOffset() <= w.s.bound() {
			w.step()
			return true
		}
		cause := w.cause()
		if cause == nil || w.stop >= w.end {
			return false
		}
		w.damage(cause)
		if w.ioErr == nil && w.stop > w.pos {
			return true
		}
	}
	return false
}

// cause is why the scanner has no batch that can be here; nil at the end of
// the data.
func (w *walker) cause() error {
	var damage *batch.CorruptionError
	if errors.As(w.sc.Err(), &damage) {
		return damage.Cause
	}
	w.ioErr = w.sc.Err()
	if w.ioErr == nil && w.sc.End() > w.stop {
		return batch.ErrOffsetOrder // it found one, beyond the segment's bound
	}
	if w.ioErr == nil && w.sc.Stop() == batch.TornTail {
		return batch.ErrTruncated
	}
	return nil
}

// step takes over the scanner's batch.
func (w *walker) step() {
	w.header, w.pos = *w.sc.Header(), w.sc.Pos()
	w.stop = w.pos + int64(w.header.Size())
	w.err = nil
	w.before, w.nextOffset = w.nextOffset, w.header.NextOffset()
}

// bound is what no offset of the segment reaches.
func (s *segment) bound() int64 {
	if s.sealed.Load() {
		return s.next.Load()
	}
	return math.MaxInt64
}

// damage makes a step of the bytes from where the last one ended to the next
// right batch, or to the end. The last step's header may have led here by a
// lie, and then its batch is a part of the damage.
func (w *walker) damage(cause error) {
	if w.err != nil || w.pos < 0 {
		w.pass(w.stop, w.stop, w.nextOffset, cause)
		return
	}
	right, err := batch.CheckCRC(w.s, w.pos, &w.header)
	switch {
	case err != nil:
		w.ioErr = err
	case !right:
		w.pass(w.pos, w.pos+1, w.before, batch.ErrCRC)
	case errors.Is(cause, batch.ErrOffsetOrder):
		// The checksum does not cover the base offset: which of two batches in
		// the wrong order lies, only the one before both can tell.
		w.pass(w.stop, w.stop, w.before, cause)
	default:
		w.pass(w.stop, w.stop, w.nextOffset, cause)
	}
}

// spoil makes the present step, whose batch turned out to have a wrong
// checksum, one of damage.
func (w *walker) spoil() {
	w.nextOffset = w.before
	if w.nextOffset < w.passing && w.rightAt(w.stop) {
		w.err = w.s.corrupt(w.pos, batch.ErrCRC)
		return
	}
	w.pass(w.pos, w.pos+1, w.before, batch.ErrCRC)
}

// overlapped reports whether the next batch is right and begins before this one
// ends: one of the two has a wrong base offset, which no checksum covers.
func (w *walker) overlapped() bool {
	h, ok := w.sc.PeekHeader()
	return ok && h.BaseOffset < w.header.NextOffset() && w.rightAt(w.stop)
}

// rightAt reports whether a right batch starts at a position.
func (w *walker) rightAt(pos int64) bool {
	h, err := w.s.headerBelow(pos, w.end)
	if err != nil || h.BaseOffset < w.before || h.NextOffset() > w.s.bound() || int64(h.Size()) > w.end-pos {
		return false
	}
	right, err := batch.CheckCRC(w.s, pos, &h)
	return err == nil && right
}

// pass makes a step of damage that starts at pos, and goes on with the first
// right batch at or after from.
func (w *walker) pass(pos, from, least int64, cause error) {
	w.pos, w.stop = pos, w.end
	w.err = w.s.corrupt(pos, cause)
	if w.nextOffset < w.passing {
		w.stop, w.ioErr = w.s.findBatch(from, w.end, least)
	}
	w.resume()
}

func (w *walker) resume() {
	w.sc.Reset(w.s, w.stop, w.end)
}

// findBatch is the position of the first right batch at or after pos, end when
// there is none. What was found once is remembered.
func (s *segment) findBatch(pos, end, least int64) (int64, error) {
	s.mu.RLock()
	found, ok := s.found[pos]
	s.mu.RUnlock()
	if ok && found < end {
		return found, nil
	}
	found, err := batch.Find(s, pos, end, least, s.bound())
	if err != nil || found >= end {
		return end, err
	}
	s.mu.Lock()
	if s.found == nil {
		s.found = map[int64]int64{}
	}
	s.found[pos] = found
	s.mu.Unlock()
	return found, nil
}

// stopped is why a walk ended at this step.
func (w *walker) stopped() batch.StopReason {
	if errors.Is(w.err, batch.ErrTruncated) {
		return batch.TornTail
	}
	return batch.Damaged
}

// right checks this step's batch against its checksum.
func (w *walker) right() (bool, error) {
	if w.header.Size() > keptBuffer {
		return batch.CheckCRC(w.s, w.pos, &w.header)
	}
	b, err := w.batch()
	return err == nil && batch.VerifyCRC(b, &w.header), err
}

// batch returns the bytes of this step's batch, valid until next.
func (w *walker) batch() ([]byte, error) {
	b, err := w.sc.Batch()
	if err != nil {
		w.ioErr = err
	}
	return b, err
}

// decode decodes this step's batch. When its checksum is wrong the step becomes
// one of damage.
func (w *walker) decode(dec *batch.Decoder, recs *batch.Records) error {
	err := w.s.admit(w.pos, w.header.Size())
	if err == nil {
		var b []byte
		if b, err = w.batch(); err != nil {
			return err
		}
		err = w.s.decode(dec, b, recs, w.pos)
	}
	switch {
	case err == nil:
		return nil
	case !isDamage(err):
		w.ioErr = err
		return err
	case !errors.Is(err, batch.ErrCRC) || w.header.Magic < batch.Magic && w.s.checkCRC(lastBatch{w.pos, w.header}) == nil:
		return w.s.corrupt(w.pos, err) // damage within, where its length can be believed
	}
	w.spoil()
	if w.ioErr != nil {
		return w.ioErr
	}
	return w.err
}
