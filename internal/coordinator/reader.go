package coordinator

import (
	"encoding/binary"
	"math"
)

// reader takes bytes off their start. It goes bad once, and is asked at the
// end.
type reader struct {
	b   []byte
	bad bool
}

// take is the next n bytes, nil when there are fewer.
func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// int is a big-endian integer of 1, 2, 4 or 8 bytes.
func (r *reader) int(size int, unsigned bool) int64 {
	b := r.take(size)
	if b == nil {
		return 0
	}
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	if unsigned {
		return int64(v)
	}
	shift := 64 - 8*size
	return int64(v<<shift) >> shift
}

// uvarint is a number of 32 bits in up to five bytes, which Kafka takes for a
// signed one.
func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.b)
	const longest = 5
	if r.bad || n <= 0 || n > longest {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return int(int32(v))
}

// length is that of a string, bytes or an array; negative for null.
func (r *reader) length(f *field) int {
	switch {
	case f.compact:
		n := int(int32(r.uvarint() - 1))
		r.bad = r.bad || f.kind == kindString && n > math.MaxInt16
		return n
	case f.kind == kindString:
		return int(r.int(2, false))
	}
	return int(r.int(4, false))
}
