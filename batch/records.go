package batch

import (
	"iter"
	"math"
)

// Records are the decoded records of one batch, to be gone over from the
// first to the last. They are a view of the batch's bytes or of the decoder's
// buffer, valid until the decoder's next Decode and as long as the batch's
// bytes do not change. They are not safe for concurrent use.
type Records struct {
	// Header is the batch's.
	Header Header

	b    []byte // the records, decompressed
	base int    // place of b in the batch, 0 when it was decompressed

	at   int
	seen int32
	last int32 // offset delta of the record before
	err  error
}

// Record is one record. Its slices are views, valid as long as the Records
// they came from.
type Record struct {
	Offset int64
	// Timestamp is in milliseconds since 1970, −1 for none.
	Timestamp int64
	// Key and Value are nil for null, and not nil for empty.
	Key, Value []byte
	// ValuePos is where Value starts in an uncompressed batch, in bytes.
	ValuePos int

	headers     []byte
	headerCount int32
}

// Size is the length of the record's key, value and headers in bytes.
func (r *Record) Size() int { return len(r.Key) + len(r.Value) + len(r.headers) }

// RecordHeader is a header of a record.
type RecordHeader struct {
	// Key is never null.
	Key []byte
	// Value is nil for null.
	Value []byte
}

// Size is the length of the records in bytes, decompressed.
func (rs *Records) Size() int { return len(rs.b) }

// Clone returns records of their own bytes, valid for ever, at the first one.
func (rs *Records) Clone() Records {
	c := *rs
	c.b = append([]byte(nil), rs.b...)
	c.Reset()
	return c
}

// Reset goes back to the first record.
func (rs *Records) Reset() { rs.at, rs.seen, rs.last, rs.err = 0, 0, -1, nil }

// Err is a *CorruptionError when Next ended early, else nil. Its position is
// from the start of the batch, or of the decompressed records.
func (rs *Records) Err() error { return rs.err }

// Next decodes the next record. It returns false after the last one, and at
// the first that is not well formed. It does not allocate.
func (rs *Records) Next(rec *Record) bool {
	var f fields
	if !rs.next(&f) {
		return false
	}
	rec.Offset = rs.Header.BaseOffset + int64(f.offsetDelta)
	rec.Timestamp = rs.Header.Timestamp(f.timestampDelta)
	rec.Key, rec.Value = nil, nil
	if f.keyLen >= 0 {
		rec.Key = rs.b[f.key : f.key+f.keyLen : f.key+f.keyLen]
	}
	if f.valueLen >= 0 {
		rec.Value = rs.b[f.value : f.value+f.valueLen : f.value+f.valueLen]
	}
	rec.ValuePos = rs.base + f.value
	rec.headers, rec.headerCount = rs.b[f.headers:f.end], f.headerCount
	return true
}

// Find goes to the first record at or after an offset, from where the
// iteration stands; false when there is none.
func (rs *Records) Find(offset int64, rec *Record) bool {
	for rs.Next(rec) {
		if rec.Offset >= offset {
			return true
		}
	}
	return false
}

// Validate goes over all records, and back to the first. What is wrong with
// any of them is returned as a *CorruptionError.
func (rs *Records) Validate() error {
	rs.Reset()
	var f fields
	for rs.next(&f) {
	}
	err := rs.err
	rs.Reset()
	return err
}

// AppendHeaders appends the record's headers to dst. Their slices are views as
// the record's are.
func (r *Record) AppendHeaders(dst []RecordHeader) []RecordHeader {
	h := reader{b: r.headers}
	for range r.headerCount {
		dst = append(dst, RecordHeader{Key: h.bytes(), Value: h.bytes()})
	}
	return dst
}

// Headers goes over the record's headers, key and value, in order and with
// repeats. Their slices are views as the record's are.
func (r *Record) Headers() iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		h := reader{b: r.headers}
		for range r.headerCount {
			if !yield(h.bytes(), h.bytes()) {
				return
			}
		}
	}
}

// fields are the places of a record's fields in the records' bytes.
type fields struct {
	timestampDelta  int64
	offsetDelta     int32
	key, keyLen     int
	value, valueLen int
	headers, end    int
	headerCount     int32
}

// next finds the fields of the next record and checks all of them.
func (rs *Records) next(f *fields) bool {
	if rs.err != nil {
		return false
	}
	if rs.seen == rs.Header.Count {
		if rs.at != len(rs.b) {
			rs.err = corrupt(rs.base+rs.at, ErrTrailing)
		}
		return false
	}
	if rs.at == len(rs.b) {
		rs.err = corrupt(rs.base+rs.at, ErrCount)
		return false
	}
	if at, err := f.parse(rs.b, rs.at); err != nil {
		rs.err = corrupt(rs.base+at, err)
		return false
	}
	if f.offsetDelta <= rs.last || f.offsetDelta > rs.Header.LastOffsetDelta {
		rs.err = corrupt(rs.base+rs.at, ErrOffsetOrder)
		return false
	}
	rs.last = f.offsetDelta
	rs.at = f.end
	rs.seen++
	return true
}

// varintAt decodes a varint before its zigzag is undone.
func varintAt(b []byte, at int) (uint32, int) {
	if at < len(b) && b[at] < 0x80 {
		return uint32(b[at]), at + 1
	}
	return uvarint32(b, at)
}

// parse finds the fields of the record at a place. Where it fails it returns
// the place and the cause.
func (f *fields) parse(b []byte, start int) (int, error) {
	u, at := varintAt(b, start)
	if at <= 0 {
		return start, varintError(at)
	}
	size := int(unzigzag32(u))
	if size < 0 {
		return start, ErrLength
	}
	if size > len(b)-at {
		return start, ErrTruncated
	}
	f.end = at + size
	b = b[:f.end]
	at++ // attributes, of which none are in use

	var failed error
	if at < len(b) && b[at] < 0x80 {
		f.timestampDelta = unzigzag64(uint64(b[at]))
		at++
	} else {
		u, next := uvarint64(b, at)
		if next <= 0 {
			return at, varintError(next)
		}
		f.timestampDelta, at = unzigzag64(u), next
	}
	u, next := varintAt(b, at)
	if next <= 0 {
		return at, varintError(next)
	}
	f.offsetDelta = unzigzag32(u)
	if f.key, f.keyLen, failed = lengthAt(b, next); failed != nil {
		return next, failed
	}
	at = f.key + max(f.keyLen, 0)
	if f.value, f.valueLen, failed = lengthAt(b, at); failed != nil {
		return at, failed
	}
	return f.parseHeaders(b, f.value+max(f.valueLen, 0))
}

// parseHeaders checks the headers, which are all that is left of the record.
func (f *fields) parseHeaders(b []byte, at int) (int, error) {
	u, next := varintAt(b, at)
	if next <= 0 {
		return at, varintError(next)
	}
	f.headers, f.headerCount = next, unzigzag32(u)
	if f.headerCount == 0 && next == len(b) {
		return 0, nil
	}
	if f.headerCount < 0 {
		return at, ErrLength
	}
	if int64(f.headerCount)*2 > int64(len(b)-next) { // two lengths each at least
		return at, ErrCount
	}
	r := reader{b: b, at: next}
	for range f.headerCount {
		keyAt := r.at
		if r.bytes() == nil {
			r.fail(keyAt, ErrLength) // a header's key is never null
		}
		r.bytes()
		if r.err != nil {
			return r.failed, r.err
		}
	}
	if r.at != len(b) {
		return r.at, ErrTrailing
	}
	return 0, nil
}

// lengthAt decodes the length of a key or value, and checks that as many
// bytes are there. It returns their place, and −1 for null.
func lengthAt(b []byte, at int) (int, int, error) {
	u, next := varintAt(b, at)
	if next <= 0 {
		return 0, 0, varintError(next)
	}
	n := int(unzigzag32(u))
	if n < -1 {
		return 0, 0, ErrLength
	}
	if n > len(b)-next {
		return 0, 0, ErrTruncated
	}
	return next, n, nil
}

func varintError(next int) error {
	if next < 0 {
		return ErrVarint
	}
	return ErrTruncated
}

// AppendValues appends to dst the value of each record with an offset of at
// least from, and a newline after each; null is empty. On an error, a
// *CorruptionError, dst is returned as it was. It does not allocate but for
// dst, and begins at the first record wherever the iteration stands.
func (rs *Records) AppendValues(dst []byte, from int64) ([]byte, error) {
	start := len(dst)
	first := firstDelta(rs.Header.BaseOffset, from)
	rs.Reset()
	var f fields
	for rs.next(&f) {
		if int64(f.offsetDelta) < first {
			continue
		}
		if f.valueLen > 0 {
			dst = append(dst, rs.b[f.value:f.value+f.valueLen]...)
		}
		dst = append(dst, '\n')
	}
	err := rs.err
	rs.Reset()
	if err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// ValuesSize is how many bytes AppendValues would append, and for how many
// records.
func (rs *Records) ValuesSize(from int64) (size int64, count int, err error) {
	first := firstDelta(rs.Header.BaseOffset, from)
	rs.Reset()
	var f fields
	for rs.next(&f) {
		if int64(f.offsetDelta) >= first {
			size += int64(max(f.valueLen, 0)) + 1
			count++
		}
	}
	err = rs.err
	rs.Reset()
	if err != nil {
		return 0, 0, err
	}
	return size, count, nil
}

func firstDelta(base, from int64) int64 {
	if from <= base {
		return math.MinInt64
	}
	return from - base
}
