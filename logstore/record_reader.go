package logstore

import (
	"iter"
	"sync"
	"time"

	"klogfs/batch"
)

// RecordPart is a part of a record that is read by itself.
type RecordPart int8

// The parts of a record.
const (
	// PartValue is the value, of null nothing.
	PartValue RecordPart = iota
	// PartKey is the key, of null nothing.
	PartKey
	// PartJSON is the whole record as a line of FormatJSONL.
	PartJSON
)

// Large reports whether the record is one of which a copy in memory is too
// much: its parts are read with Open.
func (l Location) Large() bool { return l.large }

// PartSize is the length of a part in bytes.
func (l Location) PartSize(part RecordPart) (int64, error) {
	if part == PartValue {
		return l.ValueSize, nil
	}
	var size int64
	err := l.visit(func(h *batch.Header, r *batch.Record) {
		size = int64(len(r.Key))
		if part == PartJSON {
			size = FormatJSONL.size(l.seg.p.tp, h, r)
		}
	})
	return size, err
}

// RecordReader reads a part of a large record out of its decoded batch, which
// it keeps from one read to the next while nobody else needs the memory. Its
// methods may be called by several goroutines at once.
type RecordReader struct {
	loc  Location
	part RecordPart
	// leave ends that the budget may ask for the batch.
	leave func()

	mu   sync.Mutex
	used time.Time
	d    *decoding // nil while the batch is not there
	rec  batch.Record

	// Of JSON, which is made as it is read: the position after what was made,
	// what of it was not read yet, and where more comes from.
	pos   int64
	carry []byte
	next  func() ([]byte, bool)
	stop  func()
}

// Open returns a reader of a part of the record.
func (l Location) Open(part RecordPart) *RecordReader {
	r := &RecordReader{loc: l, part: part}
	r.leave = l.seg.p.store.budget.OnDemand(r.yield)
	return r
}

// Close ends the reader.
func (r *RecordReader) Close() {
	r.leave()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
}

// idleFor is how long a batch stays decoded for who reads on in it, though
// others wait for the memory.
const idleFor = 2 * time.Second

func (r *RecordReader) yield() {
	if !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	if time.Since(r.used) > idleFor {
		r.drop()
	}
}

// drop lets go of the batch. The caller holds mu.
func (r *RecordReader) drop() {
	r.rewind()
	if r.d != nil {
		r.d.release()
		r.d = nil
	}
}

// ReadAt reads bytes of the part, fewer at its end, without an error there.
func (r *RecordReader) ReadAt(b []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.used = time.Now() }()
	if err := r.decode(); err != nil {
		return 0, err
	}
	switch r.part {
	case PartValue:
		return copy(b, r.rec.Value[min(off, int64(len(r.rec.Value))):]), nil
	case PartKey:
		return copy(b, r.rec.Key[min(off, int64(len(r.rec.Key))):]), nil
	case PartJSON:
	}
	return r.readJSON(b, off), nil
}

// decode makes the record be there. The caller holds mu.
func (r *RecordReader) decode() error {
	if r.d != nil {
		return nil
	}
	d := decodings.Get().(*decoding)
	if err := d.read(r.loc.seg, r.loc.batch, r.loc.size); err != nil {
		d.release()
		return err
	}
	if !d.recs.Find(r.loc.Offset, &r.rec) || r.rec.Offset != r.loc.Offset {
		d.release()
		return r.loc.seg.p.noRecord(r.loc.Offset)
	}
	r.d = d
	return nil
}

// readJSON goes on where the last read ended, or begins anew.
func (r *RecordReader) readJSON(b []byte, off int64) int {
	if r.next == nil || off != r.pos-int64(len(r.carry)) {
		r.rewind()
		pieces := FormatJSONL.pieces(r.loc.seg.p.tp, &r.d.recs.Header, &r.rec)
		r.next, r.stop = iter.Pull(pieces)
	}
	for r.pos <= off && r.more() {
	}
	if skip := off - (r.pos - int64(len(r.carry))); skip > 0 {
		r.carry = r.carry[min(skip, int64(len(r.carry))):]
	}
	n := 0
	for n < len(b) && (len(r.carry) > 0 || r.more()) {
		c := copy(b[n:], r.carry)
		r.carry = r.carry[c:]
		n += c
	}
	return n
}

// more makes the next piece.
func (r *RecordReader) more() bool {
	piece, ok := r.next()
	r.carry = piece
	r.pos += int64(len(piece))
	return ok
}

func (r *RecordReader) rewind() {
	if r.stop != nil {
		r.stop()
	}
	r.pos, r.carry, r.next, r.stop = 0, nil, nil, nil
}
