package dump

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"klogfs/batch"
)

// message is a message of format 0 or 1, as a record and as a wrapper of
// others:
//
//	offset int64, size int32, CRC uint32, magic int8, attributes int8,
//	timestamp int64 (format 1 only), key, value (each after an int32 length)
type message struct {
	b          []byte
	offset     int64
	magic      int8
	attributes batch.Attributes
	timestamp  int64
	key, value []byte
	keySize    int
	valueSize  int
	// valueErr says why there is no value, though its size is there.
	valueErr error
}

func parseMessage(b []byte) (message, error) {
	be := binary.BigEndian
	m := message{b: b, offset: int64(be.Uint64(b)), magic: int8(b[16]), attributes: batch.Attributes(b[17]), timestamp: -1}
	at := 18
	if m.magic != 0 {
		if len(b) < 26 {
			return m, errRecordEnd
		}
		m.timestamp = int64(be.Uint64(b[18:]))
		at = 26
	}
	var err error
	if m.key, m.keySize, at, err = sized(b, at); err != nil {
		return m, err
	}
	if len(b)-at < 4 {
		return m, errRecordEnd
	}
	m.value, m.valueSize, _, m.valueErr = sized(b, at)
	return m, nil
}

// sized is a field after its length; nil for any negative length.
func sized(b []byte, at int) (field []byte, size, end int, err error) {
	if len(b)-at < 4 {
		return nil, 0, 0, errRecordEnd
	}
	size = int(int32(binary.BigEndian.Uint32(b[at:])))
	at += 4
	if size < 0 {
		return nil, size, at, nil
	}
	if size > len(b)-at {
		return nil, size, 0, errRecordEnd
	}
	return b[at : at+size : at+size], size, at + size, nil
}

func (r *record) fromMessage(m *message) {
	crc := binary.BigEndian.Uint32(m.b[12:])
	*r = record{
		offset: m.offset, timestamp: m.timestamp, sequence: -1,
		key: m.key, value: m.value, keySize: m.keySize, valueSize: m.valueSize, valueErr: m.valueErr,
		legacyCRC: crc, legacyValid: crc == crc32.ChecksumIEEE(m.b[legacyBody:]),
		batchFields: r.batchFields,
	}
}

// eachMessage goes over a message, or over those that it wraps.
func (d *dumper) eachMessage(h *head, b []byte, each func(*record) error) error {
	outer, err := parseMessage(b)
	if err != nil {
		return err
	}
	if h.Attributes.Codec() == batch.CodecNone {
		d.record.fromMessage(&outer)
		return each(&d.record)
	}
	inner, err := d.unwrap(h, &outer)
	if err != nil {
		return err
	}
	for i := range inner {
		if inner[i].attributes.Codec() != batch.CodecNone {
			return fmt.Errorf("message %d in it is compressed again", i)
		}
		d.record.fromMessage(&inner[i])
		if err := each(&d.record); err != nil {
			return err
		}
		if err := d.out.spill(); err != nil {
			return err
		}
	}
	return nil
}

// unwrap is what a compressed message holds, with true offsets and times.
func (d *dumper) unwrap(h *head, outer *message) ([]message, error) {
	codec := h.Attributes.Codec()
	if outer.valueErr != nil {
		return nil, outer.valueErr
	}
	if outer.value == nil || codec > batch.CodecLZ4 {
		return nil, fmt.Errorf("a message of format %d with codec %s holds no messages", h.Magic, codec)
	}
	body, err := d.decoder.Decompress(&h.Header, outer.value)
	if err != nil {
		return nil, err
	}
	var inner []message
	for len(body) >= logOverhead {
		length := int(int32(binary.BigEndian.Uint32(body[8:])))
		if length < smallestBody {
			return nil, fmt.Errorf("a message in it has length %d", length)
		}
		if length > len(body)-logOverhead {
			break
		}
		m, err := parseMessage(body[:logOverhead+length])
		if err != nil {
			return nil, err
		}
		if m.magic == 1 && h.TimestampType() == batch.LogAppendTime {
			m.timestamp = outer.timestamp
		}
		inner = append(inner, m)
		body = body[logOverhead+length:]
	}
	if len(inner) == 0 {
		return nil, fmt.Errorf("it wraps nothing: %w", errCount)
	}
	return inner, rebase(h, inner)
}

// rebase makes the offsets of a wrapper's messages true. In format 1 they are
// relative, and the last one's is the wrapper's; a wrapper of offset 0 is one
// that a producer made, and has none yet.
func rebase(h *head, inner []message) error {
	if h.Magic != 1 || h.BaseOffset == 0 {
		return nil
	}
	last := inner[len(inner)-1].offset
	if h.BaseOffset < last {
		return fmt.Errorf("its offset %d is below that of the last message in it, %d", h.BaseOffset, last)
	}
	for i := range inner {
		inner[i].offset += h.BaseOffset - last
	}
	return nil
}
