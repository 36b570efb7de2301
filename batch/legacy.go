package batch

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// A message of the formats before record batches, 0 and 1
// (org.apache.kafka.common.record.LegacyRecord), lies behind the same offset
// and length as a batch, and has its magic in the same place:
//
//	+------------+-----------------------------------------------+
//	| offset     | int64                                         |
//	| length     | int32, of what follows                        |
//	| CRC        | uint32, CRC-32 of everything after it         |
//	| magic      | int8, 0 or 1                                  |
//	| attributes | int8: bits 0–2 codec, 3 timestamp type        |
//	| timestamp  | int64, format 1 only                          |
//	| key        | int32 length, −1 for null, and bytes          |
//	| value      | int32 length, −1 for null, and bytes          |
//	+------------+-----------------------------------------------+
//
// A compressed message is a wrapper: its value is a set of messages. Its offset
// is that of the last of them, and theirs are absolute in format 0, relative
// to each other in format 1.
const (
	legacyFrom       = 16 // what the CRC is of
	legacyAttributes = 17
	legacyTimestamp  = 18

	legacySmallest = 14 // Length of an empty message of format 0
	timestampSize  = 8  // what format 1 has more

	legacyAttributeBits = codecMask | logAppendTimeBit
)

// legacyLeast is the least Length of a message.
func legacyLeast(magic int8) int { return legacySmallest + int(magic)*timestampSize }

// parseLegacyHeader makes the header of a batch of a message.
func parseLegacyHeader(b []byte, magic int8) (Header, error) {
	be := binary.BigEndian
	if len(b) < LogOverhead+legacyLeast(magic) {
		return Header{}, ErrTruncated
	}
	h := Header{
		Magic: magic, BaseOffset: int64(be.Uint64(b)), Length: int32(be.Uint32(b[offsetLength:])),
		PartitionLeaderEpoch: -1, CRC: be.Uint32(b[LogOverhead:]),
		Attributes:    Attributes(b[legacyAttributes]) & legacyAttributeBits,
		BaseTimestamp: -1, MaxTimestamp: -1, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
	if magic == 0 {
		h.Attributes &= codecMask
	} else {
		h.MaxTimestamp = int64(be.Uint64(b[legacyTimestamp:]))
		h.BaseTimestamp = h.MaxTimestamp
	}
	if h.Attributes.Codec() == CodecNone {
		h.Count = 1 // of a wrapper, only its messages tell
	}
	if h.Length < int32(legacyLeast(magic)) {
		return Header{}, ErrLength
	}
	if h.BaseOffset < 0 || h.BaseOffset == math.MaxInt64 {
		return Header{}, ErrOffsetOrder
	}
	return h, nil
}

func verifyLegacyCRC(b []byte, h *Header) bool {
	return crc32.ChecksumIEEE(b[legacyFrom:h.Size()]) == h.CRC
}

// message is a message's fields.
type message struct {
	offset, timestamp int64
	key, value        []byte
}

// parseMessage takes the message apart that b begins with.
func parseMessage(b []byte, h *Header) (message, error) {
	m := message{offset: h.BaseOffset, timestamp: h.MaxTimestamp}
	rest := b[legacyTimestamp+int(h.Magic)*timestampSize : h.Size()]
	var err error
	if m.key, rest, err = cutField(rest); err != nil {
		return m, err
	}
	if m.value, rest, err = cutField(rest); err != nil {
		return m, err
	}
	if len(rest) > 0 {
		return m, ErrTrailing
	}
	return m, nil
}

// cutField takes a length and as many bytes off b; nil for the length −1.
func cutField(b []byte) (field, rest []byte, err error) {
	const size = 4
	if len(b) < size {
		return nil, nil, ErrTruncated
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	b = b[size:]
	switch {
	case n == -1:
		return nil, b, nil
	case n < -1:
		return nil, nil, ErrLength
	case n > len(b):
		return nil, nil, ErrTruncated
	}
	return b[:n:n], b[n:], nil
}

// decodeLegacy makes the records of a message, or of the messages in a
// wrapper, those of a batch of format 2: from there on they are the same.
func (d *Decoder) decodeLegacy(b []byte, h *Header, rs *Records) error {
	m, err := parseMessage(b, h)
	if err != nil {
		return err
	}
	rs.Header, rs.base = *h, 0
	d.converted = d.converted[:0]
	if h.Attributes.Codec() == CodecNone {
		d.convert(&rs.Header, &m)
	} else if err := d.unwrap(&rs.Header, m.value); err != nil {
		return err
	}
	rs.b = d.converted
	rs.Reset()
	return nil
}

// unwrap converts the messages of a wrapper, and makes its header that of a
// batch that holds them.
func (d *Decoder) unwrap(h *Header, value []byte) error {
	if value == nil {
		return ErrLength
	}
	inner, err := d.inflate(h, value)
	if err != nil {
		return err
	}
	first, last, err := messageOffsets(inner, h)
	if err != nil {
		return err
	}
	wrapper := h.BaseOffset
	shift := int64(0)
	if h.Magic == 1 {
		shift = wrapper - last
	}
	first, last = first+shift, last+shift
	if first < 0 || last != wrapper || wrapper-first > math.MaxInt32 {
		return ErrOffsetOrder
	}
	h.BaseOffset, h.LastOffsetDelta = first, int32(wrapper-first)
	for len(inner) > 0 {
		mh, err := ParseHeader(inner)
		if err != nil {
			return err
		}
		m, err := parseMessage(inner, &mh)
		if err != nil {
			return err
		}
		m.offset += shift
		d.convert(h, &m)
		h.Count++
		inner = inner[mh.Size():]
	}
	return nil
}

// messageOffsets goes over a message set and returns the offsets of the first
// and the last, as they are written. A message in it is of the wrapper's format
// and not compressed itself.
func messageOffsets(set []byte, wrapper *Header) (first, last int64, err error) {
	if len(set) == 0 {
		return 0, 0, ErrCount
	}
	first, last = -1, -1
	for len(set) > 0 {
		h, err := ParseHeader(set)
		switch {
		case err != nil:
			return 0, 0, err
		case h.Magic != wrapper.Magic:
			return 0, 0, ErrMagic
		case h.Size() > len(set):
			return 0, 0, ErrTruncated
		case h.Attributes.Codec() != CodecNone:
			return 0, 0, ErrCodec
		case !verifyLegacyCRC(set, &h):
			return 0, 0, ErrCRC
		case h.BaseOffset <= last:
			return 0, 0, ErrOffsetOrder
		}
		if first < 0 {
			first = h.BaseOffset
		}
		last = h.BaseOffset
		set = set[h.Size():]
	}
	return first, last, nil
}

// convert appends a message as a record of the batch that h is of.
func (d *Decoder) convert(h *Header, m *message) {
	time, offset := m.timestamp-h.BaseTimestamp, int32(m.offset-h.BaseOffset)
	d.converted = appendVarint(d.converted, int32(bodySize(time, offset, m.key, m.value, nil)))
	d.converted = appendBody(d.converted, time, offset, m.key, m.value, nil)
}
