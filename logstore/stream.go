package logstore

import (
	"errors"
	"io"
	"iter"
	"math"

	"klogfs/batch"
)

// textStream delivers the text of a view from a position on. It is not safe
// for concurrent use.
type textStream struct {
	v *View

	// pos is the position in the view of the next byte to deliver. Over a gap
	// it jumps.
	pos int64

	// ext is the extent that pos lies in, when w is set. text is the place in
	// the segment's text of the next batch that w meets.
	ext  extent
	w    *walker
	text int64

	// carry is text already made and not delivered yet.
	carry []byte
	store []byte // what carry is a part of

	dec  batch.Decoder
	recs batch.Records
	// within is set while the records of a large batch are gone over one by
	// one, piece while the text of a large record is, until stop.
	within bool
	piece  func() ([]byte, bool)
	stop   func()
	// left is the segment that was read last, up to the offset next.
	left *segment
	next int64
	// failed is damage met after bytes that were delivered first.
	failed error
}

func (t *textStream) seek(pos int64) {
	t.close()
	t.pos = pos
}

func (t *textStream) close() {
	if t.w != nil {
		t.w.close()
		t.w = nil
	}
	t.endRecord()
	t.carry, t.failed, t.within, t.left = nil, nil, false, nil
	t.dec.Trim(keptDecoded)
	if cap(t.store) > keptBuffer {
		t.store = nil
	}
}

// yield lets go of a batch that is kept decoded between two reads: the next
// one decodes it again.
func (t *textStream) yield() {
	if t.dec.Holds() {
		t.seek(t.pos)
	}
}

// read fills b. It returns io.EOF with fewer bytes at the end of the text, and
// an error only when it has no bytes to return.
func (t *textStream) read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		if len(t.carry) > 0 {
			c := copy(b[n:], t.carry)
			t.carry = t.carry[c:]
			t.pos += int64(c)
			n += c
			continue
		}
		c, err := t.more(b[n:])
		n += c
		t.pos += int64(c)
		if err == nil {
			continue
		}
		if n > 0 && !errors.Is(err, io.EOF) {
			t.failed = err
			return n, nil
		}
		return n, err
	}
	return n, nil
}

// wholeText is the size of a batch, in bytes, up to which its text is made in
// one go; that of a larger one is made as it is read.
const wholeText = 1 << 20

// more makes the text of one more batch: in b, if it surely fits there, else
// in carry; or of one more record of a large one.
func (t *textStream) more(b []byte) (int, error) {
	if t.failed != nil {
		err := t.failed
		t.failed = nil
		return 0, err
	}
	if t.within {
		t.nextRecord()
		return 0, nil
	}
	if t.w == nil {
		if err := t.enter(); err != nil {
			if t.replaced(err) {
				err = nil // it is tried again with those that are there now
			}
			return 0, err
		}
	}
	if !t.w.next() {
		return 0, t.leave()
	}
	if err := t.decode(); err != nil {
		if t.w.ioErr != nil {
			t.w.nextOffset = t.w.header.LeastOffset() // it was not delivered
			return 0, t.leave()
		}
		return 0, t.damaged(err)
	}
	switch {
	case t.v.p.hidden(&t.recs.Header):
		return 0, nil
	case t.recs.Size() > wholeText:
		t.within = true
		return 0, nil
	}
	return t.deliver(b)
}

// decode decodes the batch of the walk's step. A large one is checked as a
// whole before its first record is delivered.
func (t *textStream) decode() error {
	if t.w.err != nil {
		return t.w.err
	}
	if err := t.w.decode(&t.dec, &t.recs); err != nil || t.recs.Size() <= wholeText {
		return err
	}
	if err := t.recs.Validate(); err != nil {
		return t.w.s.corrupt(t.w.pos, err)
	}
	return nil
}

// nextRecord makes the text of the next record of a large batch.
func (t *textStream) nextRecord() {
	if t.piece != nil {
		text, ok := t.piece()
		if t.keep(text); !ok {
			t.endRecord()
		}
		return
	}
	var r batch.Record
	if !t.recs.Next(&r) {
		t.within = false
		t.dec.Trim(keptDecoded)
		return
	}
	if r.Size() > wholeText {
		t.piece, t.stop = iter.Pull(t.v.format.pieces(t.v.p.tp, &t.recs.Header, &r))
		return
	}
	t.store = t.v.format.appendRecord(t.store[:0], t.v.p.tp, &t.recs.Header, &r)
	t.keep(t.store)
}

func (t *textStream) endRecord() {
	if t.stop != nil {
		t.stop()
	}
	t.piece, t.stop = nil, nil
}

// keep makes carry what is to be delivered of the text that comes next.
func (t *textStream) keep(text []byte) {
	want, before := t.pos-t.ext.pos+t.ext.skip, t.text
	t.text += int64(len(text))
	if want < t.text {
		t.carry = text[max(want-before, 0):]
	}
}

// deliver writes the text of the decoded batch.
func (t *textStream) deliver(b []byte) (int, error) {
	direct := t.pos-t.ext.pos+t.ext.skip == t.text && t.v.format == FormatValues && t.recs.Size() <= len(b)
	dst := t.store[:0]
	if direct {
		dst = b[:0:len(b)]
	}
	out, err := t.v.format.appendText(dst, t.v.p.tp, &t.recs)
	switch {
	case err != nil:
		return 0, t.damaged(t.w.s.corrupt(t.w.pos, err))
	case direct:
		t.text += int64(len(out))
		return len(out), nil
	}
	t.store = out
	t.keep(out)
	return 0, nil
}

// enter finds the extent at pos and begins to walk its segment there.
func (t *textStream) enter() error {
	e, ok, err := t.v.at(t.pos)
	if err == nil && ok && t.left != nil && e.seg != t.left && e.seg.base < t.next {
		// The broker's cleaner has put it in the place of what was read.
		var pos int64
		if pos, err = t.v.position(t.next); err == nil {
			t.pos, t.left = max(t.pos, pos), nil
			e, ok, err = t.v.at(t.pos)
		}
	}
	if err != nil {
		return err
	}
	if !ok {
		return io.EOF
	}
	t.pos = max(t.pos, e.pos)
	entry := e.seg.textAt(t.v.format, t.pos-e.pos+e.skip)
	end, err := e.seg.readableSize()
	if err != nil {
		return err
	}
	t.ext, t.text = e, entry.Text
	t.w = e.seg.walkTo(entry.Position, end, math.MaxInt64)
	return nil
}

// replaced reports whether an error is that of a segment that went away, from a
// partition that is still there.
func (t *textStream) replaced(err error) bool {
	return errors.Is(err, ErrDeleted) && !t.v.p.Deleted()
}

// leave ends the walk of a segment: there may be a next one, or more to come.
func (t *textStream) leave() error {
	err := t.w.ioErr
	if t.left != t.w.s {
		t.left, t.next = t.w.s, 0
	}
	t.next = max(t.next, t.w.nextOffset) // a walk that met nothing says its segment's base
	t.w.close()
	t.w = nil
	if t.replaced(err) {
		return nil // the segment is gone, its text a gap now: go on behind it
	}
	if err == nil && t.pos < t.ext.end() {
		// The log is shorter than it was: a broker cut it, or the disk lies.
		err = t.ext.seg.corrupt(t.ext.seg.size.Load(), batch.ErrTruncated)
	}
	return err
}

// damaged passes the error on, but only to whom it concerns: text before the
// position that was asked for is made to be skipped.
func (t *textStream) damaged(err error) error {
	if t.text < t.pos-t.ext.pos+t.ext.skip {
		return nil
	}
	if t.v.p.store.opts.SkipCorrupt {
		return nil
	}
	return err
}
