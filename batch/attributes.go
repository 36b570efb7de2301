package batch

import "fmt"

// Codec is how the records of a batch are compressed
// (org.apache.kafka.common.record.CompressionType).
type Codec int8

// The codecs.
const (
	CodecNone Codec = iota
	CodecGzip
	CodecSnappy
	CodecLZ4
	CodecZstd
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String is the codec's name in Kafka's configuration.
func (c Codec) String() string {
	if c < 0 || int(c) >= len(codecNames) {
		return fmt.Sprintf("unknown codec %d", int8(c))
	}
	return codecNames[c]
}

// ParseCodec is the codec of a name. ErrCodec is returned for other names.
func ParseCodec(name string) (Codec, error) {
	for i, n := range codecNames {
		if n == name {
			return Codec(i), nil
		}
	}
	return CodecNone, fmt.Errorf("unknown codec %q: %w", name, ErrCodec)
}

// TimestampType says who set the timestamps of a batch's records.
type TimestampType int8

// The types of timestamps.
const (
	// CreateTime: each record has the producer's.
	CreateTime TimestampType = iota
	// LogAppendTime: all have the time of the append, the batch's maxTimestamp.
	LogAppendTime
	// NoTimestampType: there are none, as in format 0.
	NoTimestampType TimestampType = -1
)

// String is the type's name in Kafka's configuration.
func (t TimestampType) String() string {
	switch t {
	case LogAppendTime:
		return "LogAppendTime"
	case NoTimestampType:
		return "NoTimestampType"
	case CreateTime:
	}
	return "CreateTime"
}

// Attributes are the bits of a batch: 0–2 the codec, 3 the timestamp type,
// 4 transactional, 5 control, 6 that baseTimestamp is a delete horizon
// (KIP-534).
type Attributes int16

const (
	codecMask         Attributes = 0x07
	logAppendTimeBit  Attributes = 0x08
	transactionalBit  Attributes = 0x10
	controlBit        Attributes = 0x20
	deleteHorizonBit  Attributes = 0x40
	firstUnknownCodec            = Codec(len(codecNames))
)

// Codec is how the records are compressed; it may be none that there is.
func (a Attributes) Codec() Codec { return Codec(a & codecMask) }

// TimestampType says who set the timestamps.
func (a Attributes) TimestampType() TimestampType {
	if a&logAppendTimeBit != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// Transactional reports whether the batch is part of a transaction.
func (a Attributes) Transactional() bool { return a&transactionalBit != 0 }

// Control reports whether the batch holds a marker and no data.
func (a Attributes) Control() bool { return a&controlBit != 0 }

// HasDeleteHorizon reports whether baseTimestamp is the time from which the
// cleaner may drop the batch's tombstones.
func (a Attributes) HasDeleteHorizon() bool { return a&deleteHorizonBit != 0 }
