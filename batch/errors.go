package batch

import (
	"errors"
	"fmt"
	"strings"
)

// Causes of corruption, found in a header.
var (
	// ErrTruncated is returned when a batch or a field of it goes past the
	// bytes that are there.
	ErrTruncated = errors.New("goes past the bytes that are left")
	// ErrMagic is returned when a batch is of no format version that there is,
	// or a message not of its wrapper's.
	ErrMagic = errors.New("magic is not one that can be here")
	// ErrLength is returned when a length or delta is below what it can be.
	ErrLength = errors.New("length is out of range")
	// ErrCRC is returned when the checksum is not that of the bytes.
	ErrCRC = errors.New("CRC does not match")
	// ErrOffsetOrder is returned when a batch's offsets are not above those of
	// the batch before, or a record's not above those of the record before.
	ErrOffsetOrder = errors.New("offsets do not rise")
)

// Causes of corruption, found in the records.
var (
	// ErrCodec is returned when the attributes name no codec that there is, or
	// when its bytes can't be decompressed.
	ErrCodec = errors.New("can't be decompressed")
	// ErrTooLarge is returned when the records are larger, decompressed, than
	// the decoder's limit.
	ErrTooLarge = errors.New("decompressed records are over the limit")
	// ErrCount is returned when there are more or fewer records, or headers,
	// than the count says.
	ErrCount = errors.New("count does not match")
	// ErrVarint is returned when a varint or varlong has too many bytes.
	ErrVarint = errors.New("varint is too long")
	// ErrTrailing is returned when a record, or a batch, has bytes after its
	// last field.
	ErrTrailing = errors.New("bytes after the last field")
)

// CorruptionError tells of bytes that are not what they should be: where, as
// far as that is known, and why.
type CorruptionError struct {
	// TopicPartition is the directory's name, "" where it is not known.
	TopicPartition string
	// Segment is the base offset of the segment, −1 where it is not known.
	Segment int64
	// Position is in bytes from the start of the segment, or of the bytes that
	// were decoded.
	Position int64
	// Cause is one of the errors of this package.
	Cause error
}

// Error names the place and the cause.
func (e *CorruptionError) Error() string {
	var b strings.Builder
	b.WriteString("corrupt record batch")
	if e.TopicPartition != "" {
		fmt.Fprintf(&b, " in %s", e.TopicPartition)
	}
	if e.Segment >= 0 {
		fmt.Fprintf(&b, " segment %020d", e.Segment)
	}
	fmt.Fprintf(&b, " at position %d: %v", e.Position, e.Cause)
	return b.String()
}

// Unwrap returns the cause.
func (e *CorruptionError) Unwrap() error { return e.Cause }

func corrupt(position int, cause error) error {
	return &CorruptionError{Segment: -1, Position: int64(position), Cause: cause}
}
