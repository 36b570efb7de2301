package logstore

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"klogfs/batch"
	"klogfs/internal/coordinator"
)

// Format is how the records of a partition are written as text, a line each.
type Format int8

// The formats of a view.
const (
	// FormatValues is each record's value as it is; null is an empty line.
	FormatValues Format = iota
	// FormatJSONL is each record as a JSON object.
	FormatJSONL
	// FormatTSV is key and value in PostgreSQL's COPY text format.
	FormatTSV

	formatCount
)

// appendText writes the records of a decoded batch at the end of dst. On an
// error dst is returned as it was.
func (f Format) appendText(dst []byte, tp TopicPartition, recs *batch.Records) ([]byte, error) {
	if f == FormatValues {
		return recs.AppendValues(dst, 0)
	}
	start := len(dst)
	var r batch.Record
	for recs.Next(&r) {
		dst = f.appendRecord(dst, tp, &recs.Header, &r)
	}
	if err := recs.Err(); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// appendRecord writes one record at the end of dst, and a newline.
func (f Format) appendRecord(dst []byte, tp TopicPartition, h *batch.Header, r *batch.Record) []byte {
	switch f {
	case FormatJSONL:
		dst = AppendJSON(dst, tp, h, r)
	case FormatTSV:
		dst = appendTSV(dst, r)
	case FormatValues, formatCount:
		dst = append(dst, r.Value...)
	}
	return append(dst, '\n')
}

// AppendJSON writes a record as one JSON object, without a newline. Bytes that
// are valid UTF-8 are a string, others {"base64":"…"}, null is null; headers
// are an array of [name, value], in order and with repeats. Of a record of the
// group or the transaction coordinator, decoded is what it says.
func AppendJSON(dst []byte, tp TopicPartition, h *batch.Header, r *batch.Record) []byte {
	dst = append(dst, `{"topic":`...)
	dst = appendJSONString(dst, []byte(tp.Topic))
	dst = appendJSONInt(dst, `,"partition":`, int64(tp.Partition))
	dst = appendJSONInt(dst, `,"offset":`, r.Offset)
	dst = appendJSONInt(dst, `,"timestamp":`, r.Timestamp)
	dst = append(dst, `,"timestampType":"`...)
	dst = append(dst, h.TimestampType().String()...)
	dst = appendJSONInt(dst, `","leaderEpoch":`, int64(h.PartitionLeaderEpoch))
	dst = AppendJSONBytes(append(dst, `,"key":`...), r.Key)
	dst = AppendJSONBytes(append(dst, `,"value":`...), r.Value)
	dst = append(dst, `,"headers":[`...)
	first := true
	for name, value := range r.Headers() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = AppendJSONBytes(append(dst, '['), name)
		dst = AppendJSONBytes(append(dst, ','), value)
		dst = append(dst, ']')
	}
	dst = append(dst, ']')
	return append(appendDecoded(dst, tp.Topic, r), '}')
}

// transactionsTopic is where a broker's transaction coordinators keep their
// state.
const transactionsTopic = "__transaction_state"

// appendDecoded writes what a record of an internal topic says, if it is one
// and can be decoded.
func appendDecoded(dst []byte, topic string, r *batch.Record) []byte {
	keyOf, valueOf := coordinator.OffsetsKey, coordinator.OffsetsValue
	switch topic {
	case groupsTopic:
	case transactionsTopic:
		keyOf, valueOf = coordinator.TransactionKey, coordinator.TransactionValue
	default:
		return dst
	}
	key, ok := keyOf(r.Key)
	if !ok {
		return dst
	}
	value := "null"
	if r.Value != nil {
		if value, ok = valueOf(r.Key, r.Value); !ok {
			return dst
		}
	}
	dst = append(append(dst, `,"decoded":{"key":`...), key...)
	return append(append(append(dst, `,"value":`...), value...), '}')
}

func appendJSONInt(dst []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(dst, name...), v, 10)
}

// AppendJSONBytes writes bytes as a JSON value, as AppendJSON has keys and
// values.
func AppendJSONBytes(dst, b []byte) []byte {
	switch {
	case b == nil:
		return append(dst, "null"...)
	case utf8.Valid(b):
		return appendJSONString(dst, b)
	}
	dst = append(dst, `{"base64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, `"}`...)
}

// appendJSONString writes valid UTF-8 as a JSON string.
func appendJSONString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendTSV writes key, tab and value as PostgreSQL's COPY does.
func appendTSV(dst []byte, r *batch.Record) []byte {
	dst = appendTSVField(dst, r.Key)
	return appendTSVField(append(dst, '\t'), r.Value)
}

func appendTSVField(dst, b []byte) []byte {
	const hex = "0123456789ABCDEF"
	if b == nil {
		return append(dst, `\N`...)
	}
	for len(b) > 0 {
		switch c := b[0]; c {
		case '\t':
			dst = append(dst, `\t`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\\':
			dst = append(dst, `\\`...)
		default:
			r, n := utf8.DecodeRune(b)
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, '\\', 'x', hex[c>>4], hex[c&15])
			} else {
				dst = append(dst, b[:n]...)
			}
			b = b[n:]
			continue
		}
		b = b[1:]
	}
	return dst
}
