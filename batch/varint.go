package batch

import (
	"encoding/binary"
	"math/bits"
)

// Lengths of the longest encodings, in bytes.
const (
	maxVarint  = 5
	maxVarlong = 10
)

// uvarint32 decodes a varint before its zigzag is undone, and returns the
// place after it; a place of 0 says that it goes on past the bytes, a negative
// one that it has too many bytes (ByteUtils.readUnsignedVarint).
func uvarint32(b []byte, at int) (uint32, int) {
	var v uint32
	for i := range maxVarint {
		if at+i >= len(b) {
			return 0, 0
		}
		c := b[at+i]
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, at + i + 1
		}
	}
	return 0, -1
}

// uvarint64 is uvarint32 for a varlong.
func uvarint64(b []byte, at int) (uint64, int) {
	var v uint64
	for i := range maxVarlong {
		if at+i >= len(b) {
			return 0, 0
		}
		c := b[at+i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, at + i + 1
		}
	}
	return 0, -1
}

func unzigzag32(u uint32) int32 { return int32(u>>1) ^ -int32(u&1) }
func unzigzag64(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

func appendVarint(dst []byte, v int32) []byte {
	return appendUvarint(dst, uint64(uint32(v<<1)^uint32(v>>31)))
}

func appendVarlong(dst []byte, v int64) []byte {
	return appendUvarint(dst, uint64(v<<1)^uint64(v>>63))
}

// appendUvarint is binary.AppendUvarint with its usual cases, one byte and
// two, in the caller's code.
func appendUvarint(dst []byte, u uint64) []byte {
	if u < 1<<7 {
		return append(dst, byte(u))
	}
	if u < 1<<14 {
		return append(dst, byte(u)|0x80, byte(u>>7))
	}
	return binary.AppendUvarint(dst, u)
}

func varintSize(v int32) int { return uvarintSize(uint64(uint32(v<<1) ^ uint32(v>>31))) }

func varlongSize(v int64) int { return uvarintSize(uint64(v<<1) ^ uint64(v>>63)) }

func uvarintSize(u uint64) int { return (bits.Len64(u|1) + 6) / 7 }

// reader decodes the fields of a record. It goes bad once, and is asked at the
// end: err is the first failure and failed its place.
type reader struct {
	b      []byte
	at     int
	err    error
	failed int
}

func (r *reader) fail(at int, err error) {
	if r.err == nil {
		r.err, r.failed = err, at
	}
}

func (r *reader) next(next int) bool {
	switch {
	case next > 0:
		r.at = next
		return true
	case next == 0:
		r.fail(r.at, ErrTruncated)
	default:
		r.fail(r.at, ErrVarint)
	}
	return false
}

func (r *reader) varint() int32 {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		u := uint32(r.b[r.at])
		r.at++
		return unzigzag32(u)
	}
	u, next := uvarint32(r.b, r.at)
	if !r.next(next) {
		return 0
	}
	return unzigzag32(u)
}

// bytes decodes a length and as many bytes; nil for the length −1.
func (r *reader) bytes() []byte {
	at := r.at
	n := int(r.varint())
	switch {
	case r.err != nil || n == -1:
		return nil
	case n < -1:
		r.fail(at, ErrLength)
		return nil
	case n > len(r.b)-r.at:
		r.fail(at, ErrTruncated)
		return nil
	}
	b := r.b[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}
