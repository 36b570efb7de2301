package logstore

import (
	"errors"
	"fmt"
	"sync"

	"klogfs/batch"
	"klogfs/internal/disk"
)

// Record is one record, read whole. Its slices are its own.
type Record struct {
	Offset int64
	// Timestamp is in milliseconds since 1970, −1 for none.
	Timestamp     int64
	TimestampType batch.TimestampType
	LeaderEpoch   int32
	// Key and Value are nil for null.
	Key, Value []byte
	Headers    []batch.RecordHeader
}

// Location is where a record is: what Locate found, to be read by its methods
// without another search. It stays right until the record's segment is
// deleted or replaced; then its methods return ErrDeleted. It is immutable.
type Location struct {
	Offset int64
	// Timestamp is in milliseconds since 1970, −1 for none.
	Timestamp int64
	// ValueSize is the length of the value in bytes, 0 for null.
	ValueSize int64

	seg   *segment
	batch int64 // where the batch starts in the segment
	size  int   // of the batch
	value int64 // where the value starts in the segment, −1 in a compressed batch
	large bool
}

// decoding is what it takes to read one batch; they are pooled.
type decoding struct {
	dec  batch.Decoder
	recs batch.Records
	buf  []byte
}

var decodings = sync.Pool{New: func() any { return new(decoding) }}

// keptBuffer is the largest buffer that is kept for the next use, in bytes, and
// keptDecoded the largest with decompressed records: what is larger counts
// against the budget.
const (
	keptBuffer  = 4 << 20
	keptDecoded = 1 << 20
)

func (d *decoding) release() {
	if cap(d.buf) > keptBuffer {
		d.buf = nil
	}
	d.dec.Trim(keptDecoded)
	d.recs = batch.Records{}
	decodings.Put(d)
}

// batchPlace names a batch of a store.
type batchPlace struct {
	seg *segment
	pos int64
}

// read reads and decodes the batch at a position and checks it as a whole.
// Compressed ones are kept for a while: who looks a record up reads it next.
func (d *decoding) read(s *segment, pos int64, size int) error {
	place := batchPlace{s, pos}
	if recs, ok := s.p.store.decoded.get(place); ok {
		d.recs = recs
		return nil
	}
	if err := d.decode(s, pos, size); err != nil {
		return err
	}
	if d.recs.Header.Attributes.Codec() != batch.CodecNone && d.recs.Size() <= keptDecoded {
		s.p.store.decoded.add(place, d.recs.Clone(), int64(d.recs.Size()))
	}
	return nil
}

func (d *decoding) decode(s *segment, pos int64, size int) error {
	if err := s.admit(pos, size); err != nil {
		return err
	}
	if cap(d.buf) < size {
		d.buf = make([]byte, size)
	}
	d.buf = d.buf[:size]
	if err := s.readFull(d.buf, pos); err != nil {
		return err
	}
	if err := s.decode(&d.dec, d.buf, &d.recs, pos); err != nil {
		return err
	}
	if err := d.recs.Validate(); err != nil {
		return s.corrupt(pos, err)
	}
	return nil
}

// decodedSize is what was found out of a batch that takes long to decompress:
// how large its records are, or why it can't be.
type decodedSize struct {
	bytes int
	err   error
}

// decode decodes a batch. What a costly one needed, or failed for, is known the
// next time.
func (s *segment) decode(dec *batch.Decoder, b []byte, recs *batch.Records, pos int64) error {
	place := batchPlace{s, pos}
	known, _ := s.p.store.costly.get(place)
	if known.err != nil {
		return known.err
	}
	dec.Budget, dec.Expect = s.p.store.budget, known.bytes
	err := dec.Decode(b, recs)
	if err != nil {
		err = s.corrupt(pos, err)
	}
	if errors.Is(err, batch.ErrTooLarge) || err == nil && known.bytes == 0 && dec.Holds() {
		s.p.store.costly.add(place, decodedSize{recs.Size(), err}, 0)
	}
	return err
}

// admit refuses a batch that is larger than the budget for decoding, and looks
// at a large one's checksum before room is made for it.
func (s *segment) admit(pos int64, size int) error {
	if size <= keptBuffer {
		return nil
	}
	if int64(size) > s.p.store.budget.Size() {
		return s.corrupt(pos, batch.ErrTooLarge)
	}
	h, err := s.headerBelow(pos, pos+int64(size))
	if err != nil {
		return s.corrupt(pos, err)
	}
	return s.checkCRC(lastBatch{pos, h})
}

// Stale reports whether the record's segment was deleted or replaced.
func (l Location) Stale() bool { return l.seg.gone.Load() }

// ReadValue reads the record's value at the end of dst.
func (l Location) ReadValue(dst []byte) ([]byte, error) {
	if l.value >= 0 {
		n := len(dst)
		dst = append(dst, make([]byte, l.ValueSize)...)
		if err := l.seg.readFull(dst[n:], l.value); err != nil {
			return dst[:n], err
		}
		return dst, nil
	}
	err := l.visit(func(_ *batch.Header, r *batch.Record) { dst = append(dst, r.Value...) })
	return dst, err
}

// Span is a stretch of a segment's file that stays open until Close.
type Span struct {
	// Position is where the stretch starts in the file, Size its length, in
	// bytes.
	Position, Size int64

	seg  *segment
	file disk.File
}

// Fd is the descriptor of the file, valid until Close.
func (s *Span) Fd() int { return s.file.Fd() }

// ReadAt reads bytes of the stretch, which is immutable.
func (s *Span) ReadAt(b []byte, off int64) (int, error) { return s.file.ReadAt(b, s.Position+off) }

// Close lets go of the file.
func (s *Span) Close() { s.seg.log.release() }

// Span opens the value where it lies in its segment; false when it is in a
// compressed batch.
func (l Location) Span() (*Span, bool, error) {
	if l.value < 0 {
		return nil, false, nil
	}
	f, err := l.seg.log.acquire()
	if err != nil {
		return nil, false, err
	}
	return &Span{Position: l.value, Size: l.ValueSize, seg: l.seg, file: f}, true, nil
}

// ReadRecord reads the whole record.
func (l Location) ReadRecord() (*Record, error) {
	var rec *Record
	err := l.visit(func(h *batch.Header, r *batch.Record) { rec = copyRecord(h, r) })
	return rec, err
}

// AppendKey reads the record's key at the end of dst, nothing for null.
func (l Location) AppendKey(dst []byte) ([]byte, error) {
	err := l.visit(func(_ *batch.Header, r *batch.Record) { dst = append(dst, r.Key...) })
	return dst, err
}

// AppendJSON writes the whole record at the end of dst as a line of
// FormatJSONL.
func (l Location) AppendJSON(dst []byte) ([]byte, error) {
	err := l.visit(func(h *batch.Header, r *batch.Record) {
		dst = FormatJSONL.appendRecord(dst, l.seg.p.tp, h, r)
	})
	return dst, err
}

// visit calls f with the record while its bytes are there.
func (l Location) visit(f func(*batch.Header, *batch.Record)) error {
	d := decodings.Get().(*decoding)
	defer d.release()
	if err := d.read(l.seg, l.batch, l.size); err != nil {
		return err
	}
	var r batch.Record
	if !d.recs.Find(l.Offset, &r) || r.Offset != l.Offset {
		return fmt.Errorf("offset %d of %s: %w", l.Offset, l.seg.p.Name(), ErrNoRecord)
	}
	f(&d.recs.Header, &r)
	return nil
}

func copyRecord(h *batch.Header, r *batch.Record) *Record {
	rec := &Record{
		Offset: r.Offset, Timestamp: r.Timestamp, TimestampType: h.TimestampType(),
		LeaderEpoch: h.PartitionLeaderEpoch, Key: copyBytes(r.Key), Value: copyBytes(r.Value),
		Headers: r.AppendHeaders(nil),
	}
	for i := range rec.Headers {
		rec.Headers[i].Key = copyBytes(rec.Headers[i].Key)
		rec.Headers[i].Value = copyBytes(rec.Headers[i].Value)
	}
	return rec
}

// copyBytes copies a slice and keeps null apart from empty.
func copyBytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
