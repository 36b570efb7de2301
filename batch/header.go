package batch

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// Sizes and places within a batch, in bytes.
const (
	// LogOverhead is what lies before what Length counts.
	LogOverhead = 12
	// HeaderSize is the length of the header; the records follow.
	HeaderSize = 61
	// LeastSize is the length of the smallest thing that can be taken for a
	// batch: an empty message of format 0.
	LeastSize = LogOverhead + legacySmallest

	offsetLength          = 8
	offsetEpoch           = 12
	offsetMagic           = 16
	offsetCRC             = 17
	offsetAttributes      = 21
	offsetLastOffsetDelta = 23
	offsetBaseTimestamp   = 27
	offsetMaxTimestamp    = 35
	offsetProducerID      = 43
	offsetProducerEpoch   = 51
	offsetBaseSequence    = 53
	offsetCount           = 57

	// Magic is the version of record batches.
	Magic = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is the header of a batch, or of a message of formats 0 and 1, which
// is taken for one.
type Header struct {
	// Magic is the version of the format: 2, or 0 and 1 for a message. Of a
	// message, the fields that it does not have are −1; the offsets of a
	// compressed one are all its last, and its Count is 0: Decoder.Decode finds
	// them out.
	Magic                int8
	BaseOffset           int64
	Length               int32 // bytes of the batch after this field
	PartitionLeaderEpoch int32
	CRC                  uint32
	Attributes           Attributes
	LastOffsetDelta      int32
	// BaseTimestamp is in milliseconds since 1970: what the records'
	// timestamps are relative to, which a delete horizon may be too.
	BaseTimestamp int64
	// MaxTimestamp is in milliseconds since 1970, −1 for none.
	MaxTimestamp  int64
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	// Count is how many records there are. Compaction leaves fewer than the
	// offsets span, or none.
	Count int32
}

// ParseHeader decodes a header and checks that its fields can be: ErrTruncated,
// ErrMagic, ErrLength and ErrOffsetOrder are returned, bare. It does not
// allocate.
func ParseHeader(b []byte) (Header, error) {
	if len(b) <= offsetMagic {
		return Header{}, ErrTruncated
	}
	if version := int8(b[offsetMagic]); version != Magic {
		if version == 0 || version == 1 {
			return parseLegacyHeader(b, version)
		}
		return Header{}, ErrMagic
	}
	if len(b) < HeaderSize {
		return Header{}, ErrTruncated
	}
	b = b[:HeaderSize:HeaderSize]
	be := binary.BigEndian
	h := Header{
		Magic:                Magic,
		BaseOffset:           int64(be.Uint64(b)),
		Length:               int32(be.Uint32(b[offsetLength:])),
		PartitionLeaderEpoch: int32(be.Uint32(b[offsetEpoch:])),
		CRC:                  be.Uint32(b[offsetCRC:]),
		Attributes:           Attributes(be.Uint16(b[offsetAttributes:])),
		LastOffsetDelta:      int32(be.Uint32(b[offsetLastOffsetDelta:])),
		BaseTimestamp:        int64(be.Uint64(b[offsetBaseTimestamp:])),
		MaxTimestamp:         int64(be.Uint64(b[offsetMaxTimestamp:])),
		ProducerID:           int64(be.Uint64(b[offsetProducerID:])),
		ProducerEpoch:        int16(be.Uint16(b[offsetProducerEpoch:])),
		BaseSequence:         int32(be.Uint32(b[offsetBaseSequence:])),
		Count:                int32(be.Uint32(b[offsetCount:])),
	}
	if h.Length < HeaderSize-LogOverhead || h.LastOffsetDelta < 0 || h.Count < 0 {
		return Header{}, ErrLength
	}
	if h.BaseOffset < 0 || h.BaseOffset > math.MaxInt64-int64(h.LastOffsetDelta)-1 {
		return Header{}, ErrOffsetOrder
	}
	return h, nil
}

// Size is the length of the whole batch in bytes.
func (h *Header) Size() int { return LogOverhead + int(h.Length) }

// LastOffset is the last offset that the batch spans, whether a record has it
// or not.
func (h *Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// LeastOffset is an offset that no record of the batch is below: its base
// offset, where the header tells that.
func (h *Header) LeastOffset() int64 {
	if h.Magic < Magic && h.Count == 0 {
		return 0
	}
	return h.BaseOffset
}

// TimestampType says who set the timestamps of the records.
func (h *Header) TimestampType() TimestampType {
	if h.Magic == 0 {
		return NoTimestampType
	}
	return h.Attributes.TimestampType()
}

// NextOffset is the offset after the batch.
func (h *Header) NextOffset() int64 { return h.LastOffset() + 1 }

// Timestamp is a record's time by its delta.
func (h *Header) Timestamp(delta int64) int64 {
	if h.Attributes&logAppendTimeBit != 0 {
		return h.MaxTimestamp
	}
	return h.BaseTimestamp + delta
}

// VerifyCRC reports whether the checksum in h is that of the whole batch b.
func VerifyCRC(b []byte, h *Header) bool {
	if h.Magic < Magic {
		return verifyLegacyCRC(b, h)
	}
	return crc32.Checksum(b[offsetAttributes:h.Size()], castagnoli) == h.CRC
}

// SetBaseOffset sets the base offset of the batch at the start of b.
func SetBaseOffset(b []byte, offset int64) {
	binary.BigEndian.PutUint64(b, uint64(offset))
}

// SetPartitionLeaderEpoch sets the leader epoch of the batch at the start of b.
func SetPartitionLeaderEpoch(b []byte, epoch int32) {
	binary.BigEndian.PutUint32(b[offsetEpoch:], uint32(epoch))
}

// SetLogAppendTime makes a time, in milliseconds since 1970, that of all
// records of the batch that b is, and its checksum right again.
func SetLogAppendTime(b []byte, ms int64) {
	be := binary.BigEndian
	attributes := be.Uint16(b[offsetAttributes:]) | uint16(logAppendTimeBit)
	be.PutUint16(b[offsetAttributes:], attributes)
	be.PutUint64(b[offsetMaxTimestamp:], uint64(ms))
	be.PutUint32(b[offsetCRC:], crc32.Checksum(b[offsetAttributes:], castagnoli))
}

// SetLastOffsetDelta makes the batch that b is span more offsets than it has
// records, as compaction leaves it, and its checksum right again.
func SetLastOffsetDelta(b []byte, delta int32) {
	be := binary.BigEndian
	be.PutUint32(b[offsetLastOffsetDelta:], uint32(delta))
	be.PutUint32(b[offsetCRC:], crc32.Checksum(b[offsetAttributes:], castagnoli))
}
