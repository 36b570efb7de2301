package batch

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// Producer is the identity of an idempotent producer (KIP-98).
type Producer struct {
	ID           int64
	Epoch        int16
	BaseSequence int32
}

// BuilderOptions say what kind of batch is made. The zero value makes an
// uncompressed batch without a producer's identity, with CreateTime.
type BuilderOptions struct {
	Codec Codec
	// Level is what Kafka's compression.<codec>.level takes, 0 for the codec's
	// own default.
	Level int
	// Producer is nil for none.
	Producer      *Producer
	Transactional bool
	Control       bool
}

// Builder makes record batches. It appends each to a slice of the caller's, so
// that several lie one after the other. Its base offset is 0 and its leader
// epoch −1 until SetBaseOffset and SetPartitionLeaderEpoch, which the checksum
// does not cover. It is not safe for concurrent use.
type Builder struct {
	opts  BuilderOptions
	dst   []byte
	start int

	count         int32
	baseTimestamp int64
	maxTimestamp  int64

	compressors
	packed []byte
}

// Begin starts a batch at the end of dst, which is the builder's until Finish.
func (b *Builder) Begin(dst []byte, opts BuilderOptions) {
	var header [HeaderSize]byte
	b.opts, b.start, b.count = opts, len(dst), 0
	b.dst = append(dst, header[:]...)
}

// Len is the length of the batch so far in bytes, not compressed.
func (b *Builder) Len() int { return len(b.dst) - b.start }

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.count) }

// Append adds a record. timestamp is in milliseconds since 1970; a nil key,
// value or header value is null.
func (b *Builder) Append(timestamp int64, key, value []byte, headers []RecordHeader) {
	delta := b.note(timestamp)
	b.dst = appendVarint(b.dst, int32(bodySize(delta, b.count, key, value, headers)))
	b.dst = appendBody(b.dst, delta, b.count, key, value, headers)
	b.count++
}

// AppendValue adds a record with a null key and no headers. A nil value is
// empty, not null.
func (b *Builder) AppendValue(timestamp int64, value []byte) {
	delta := b.note(timestamp)
	b.dst = appendValue(b.dst, delta, b.count, value)
	b.count++
}

// appendValue encodes a record with a null key and no headers.
func appendValue(dst []byte, delta int64, count int32, value []byte) []byte {
	const fixed = 1 + 1 + 1 // attributes, null key, no headers
	n := fixed + varlongSize(delta) + varintSize(count) + varintSize(int32(len(value))) + len(value)
	dst = appendVarint(dst, int32(n))
	dst = append(dst, 0)
	dst = appendVarlong(dst, delta)
	dst = appendVarint(dst, count)
	dst = append(dst, 1) // the length −1
	dst = appendVarint(dst, int32(len(value)))
	dst = append(dst, value...)
	return append(dst, 0)
}

// mostOverhead is how many bytes a record of appendValue takes beside its
// value, at most.
const mostOverhead = 3 + 2*maxVarint + maxVarint + maxVarlong

// AppendLines adds a record, as AppendValue does, of each line of lines, each
// of which a newline ends, while the batch stays within most bytes; the first
// record goes in whatever its size. It returns how many bytes of lines it took.
func (b *Builder) AppendLines(timestamp int64, lines []byte, most int) int {
	dst, count, at := b.dst, b.count, 0
	for at < len(lines) {
		n := bytes.IndexByte(lines[at:], '\n')
		if n < 0 || count > 0 && len(dst)-b.start+n+mostOverhead > most {
			break
		}
		b.count = count
		dst = appendValue(dst, b.note(timestamp), count, lines[at:at+n])
		count++
		at += n + 1
	}
	b.dst, b.count = dst, count
	return at
}

// Finish ends the batch and returns the slice that Begin was given with the
// batch appended. An error is the codec's; the slice is then as it was.
func (b *Builder) Finish() ([]byte, error) {
	dst := b.dst
	b.dst = nil
	attributes := Attributes(b.opts.Codec)
	if b.opts.Transactional {
		attributes |= transactionalBit
	}
	if b.opts.Control {
		attributes |= controlBit
	}
	if b.opts.Codec != CodecNone && b.count > 0 {
		var err error
		b.packed, err = b.compress(b.opts.Codec, b.opts.Level, b.packed[:0], dst[b.start+HeaderSize:])
		if err != nil {
			return dst[:b.start], err
		}
		dst = append(dst[:b.start+HeaderSize], b.packed...)
	}
	b.putHeader(dst[b.start:], attributes)
	return dst, nil
}

func (b *Builder) putHeader(raw []byte, attributes Attributes) {
	be := binary.BigEndian
	producer := Producer{ID: -1, Epoch: -1, BaseSequence: -1}
	if b.opts.Producer != nil {
		producer = *b.opts.Producer
	}
	if b.count == 0 {
		b.baseTimestamp, b.maxTimestamp = -1, -1
	}
	be.PutUint64(raw, 0)
	be.PutUint32(raw[offsetLength:], uint32(len(raw)-LogOverhead))
	be.PutUint32(raw[offsetEpoch:], 0xffffffff)
	raw[offsetMagic] = Magic
	be.PutUint16(raw[offsetAttributes:], uint16(attributes))
	be.PutUint32(raw[offsetLastOffsetDelta:], uint32(max(b.count-1, 0)))
	be.PutUint64(raw[offsetBaseTimestamp:], uint64(b.baseTimestamp))
	be.PutUint64(raw[offsetMaxTimestamp:], uint64(b.maxTimestamp))
	be.PutUint64(raw[offsetProducerID:], uint64(producer.ID))
	be.PutUint16(raw[offsetProducerEpoch:], uint16(producer.Epoch))
	be.PutUint32(raw[offsetBaseSequence:], uint32(producer.BaseSequence))
	be.PutUint32(raw[offsetCount:], uint32(b.count))
	be.PutUint32(raw[offsetCRC:], crc32.Checksum(raw[offsetAttributes:], castagnoli))
}

// note takes a record's time into account and returns its delta.
func (b *Builder) note(timestamp int64) int64 {
	if b.count == 0 {
		b.baseTimestamp, b.maxTimestamp = timestamp, timestamp
	}
	b.maxTimestamp = max(b.maxTimestamp, timestamp)
	return timestamp - b.baseTimestamp
}

// RecordSize is how many bytes a record takes in a batch, not compressed.
// timestampDelta is its time less that of the batch's first record, in
// milliseconds.
func RecordSize(timestampDelta int64, offsetDelta int32, key, value []byte, headers []RecordHeader) int {
	n := bodySize(timestampDelta, offsetDelta, key, value, headers)
	return varintSize(int32(n)) + n
}

func bodySize(timestampDelta int64, offsetDelta int32, key, value []byte, headers []RecordHeader) int {
	n := 1 + varlongSize(timestampDelta) + varintSize(offsetDelta) + nullableSize(key) + nullableSize(value)
	n += varintSize(int32(len(headers)))
	for _, h := range headers {
		n += varintSize(int32(len(h.Key))) + len(h.Key) + nullableSize(h.Value)
	}
	return n
}

func appendBody(dst []byte, timestampDelta int64, offsetDelta int32, key, value []byte, headers []RecordHeader) []byte {
	dst = append(dst, 0) // attributes
	dst = appendVarlong(dst, timestampDelta)
	dst = appendVarint(dst, offsetDelta)
	dst = appendNullable(dst, key)
	dst = appendNullable(dst, value)
	dst = appendVarint(dst, int32(len(headers)))
	for _, h := range headers {
		dst = appendVarint(dst, int32(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendNullable(dst, h.Value)
	}
	return dst
}

func nullableSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int32(len(b))) + len(b)
}

func appendNullable(dst, b []byte) []byte {
	if b == nil {
		return appendVarint(dst, -1)
	}
	return append(appendVarint(dst, int32(len(b))), b...)
}
