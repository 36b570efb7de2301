package coordinator

import "encoding/binary"

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

func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.b)
	const most = 1<<31 - 1
	if r.bad || n <= 0 || v > most {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// length is that of a string, bytes or an array, −1 for null.
func (r *reader) length(f *field) int {
	switch {
	case f.compact:
		return r.uvarint() - 1
	case f.kind == kindString:
		return int(r.int(2, false))
	}
	return int(r.int(4, false))
}

// tagged are the tagged fields of a struct, by tag.
func (r *reader) tagged() map[int][]byte {
	n := r.uvarint()
	fields := map[int][]byte{}
	for range n {
		tag := r.uvarint()
		fields[tag] = r.take(r.uvarint())
		if r.bad {
			break
		}
	}
	return fields
}
