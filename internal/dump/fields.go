package dump

import "errors"

// What is wrong with a record.
var (
	errRecordSize = errors.New("its size is not that of its fields")
	errVarint     = errors.New("a varint is too long")
	errRecordEnd  = errors.New("it goes past the end of the batch")
	errCount      = errors.New("the count of records or headers is not that of the batch")
)

// fields reads the fields of records. It goes bad once, and is asked at the
// end.
type fields struct {
	b   []byte
	at  int
	err error
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// varint reads a number of up to size bytes (Kafka's ByteUtils).
func (f *fields) varint(size int) int64 {
	if f.at < len(f.b) && f.b[f.at] < 0x80 {
		c := f.b[f.at]
		f.at++
		return int64(c>>1) ^ -int64(c&1)
	}
	return f.longVarint(size)
}

func (f *fields) longVarint(size int) int64 {
	var v uint64
	for i := range size {
		if f.at >= len(f.b) {
			f.fail(errRecordEnd)
			return 0
		}
		c := f.b[f.at]
		f.at++
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if size == varintSize {
				v = uint64(uint32(v))
			}
			return int64(v>>1) ^ -int64(v&1)
		}
	}
	f.fail(errVarint)
	return 0
}

// The lengths of the longest numbers, in bytes.
const (
	varintSize  = 5
	varlongSize = 10
)

// bytes reads a length and as many bytes; nil for any negative length, as
// Kafka has it.
func (f *fields) bytes() []byte {
	n := int(f.varint(varintSize))
	if n < 0 || f.err != nil {
		return nil
	}
	if n > len(f.b)-f.at {
		f.fail(errRecordEnd)
		return nil
	}
	b := f.b[f.at : f.at+n : f.at+n]
	f.at += n
	return b
}
