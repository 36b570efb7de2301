package logstore

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"klogfs/batch"
	"klogfs/internal/coordinator"
)

// pieceSize is how much text a textWriter gathers, in bytes, and of how many
// bytes of a field it makes text at a time.
const pieceSize = 32 << 10

// textWriter makes the text of records: all of it in b, or, with emit, in
// pieces that are given away as they come.
type textWriter struct {
	b       []byte
	emit    func([]byte) bool
	stopped bool // emit wants no more
}

// spill gives away what there is, if that is enough. It is called after each
// bounded step.
func (w *textWriter) spill() {
	if w.emit != nil && len(w.b) >= pieceSize {
		w.end()
	}
}

func (w *textWriter) end() {
	if !w.stopped && len(w.b) > 0 {
		w.stopped = !w.emit(w.b)
	}
	w.b = w.b[:0]
}

func (w *textWriter) byte(c byte) { w.b = append(w.b, c) }

func (w *textWriter) bytes(b []byte) {
	for w.emit != nil && len(b) > pieceSize && !w.stopped {
		w.b = append(w.b, b[:pieceSize]...)
		b = b[pieceSize:]
		w.spill()
	}
	w.b = append(w.b, b[:min(len(b), w.most(len(b)))]...)
}

// most is n, or little once nobody wants more.
func (w *textWriter) most(n int) int {
	if w.stopped {
		return 0
	}
	return n
}

// json writes a record as one JSON object.
func (w *textWriter) json(tp TopicPartition, h *batch.Header, r *batch.Record) {
	w.b = append(w.b, `{"topic":`...)
	w.jsonString([]byte(tp.Topic))
	w.jsonInt(`,"partition":`, int64(tp.Partition))
	w.jsonInt(`,"offset":`, r.Offset)
	w.jsonInt(`,"timestamp":`, r.Timestamp)
	w.b = append(w.b, `,"timestampType":"`...)
	w.b = append(w.b, h.TimestampType().String()...)
	w.jsonInt(`","leaderEpoch":`, int64(h.PartitionLeaderEpoch))
	w.b = append(w.b, `,"key":`...)
	w.jsonBytes(r.Key)
	w.b = append(w.b, `,"value":`...)
	w.jsonBytes(r.Value)
	w.b = append(w.b, `,"headers":[`...)
	first := true
	for name, value := range r.Headers() {
		if w.stopped {
			return
		}
		if !first {
			w.byte(',')
		}
		first = false
		w.byte('[')
		w.jsonBytes(name)
		w.byte(',')
		w.jsonBytes(value)
		w.byte(']')
		w.spill()
	}
	w.byte(']')
	w.decoded(tp.Topic, r)
	w.byte('}')
}

func (w *textWriter) jsonInt(name string, v int64) {
	w.b = strconv.AppendInt(append(w.b, name...), v, 10)
}

func (w *textWriter) jsonBytes(b []byte) {
	switch {
	case b == nil:
		w.b = append(w.b, "null"...)
		return
	case utf8.Valid(b):
		w.jsonString(b)
		return
	}
	w.b = append(w.b, `{"base64":"`...)
	const step = pieceSize / 3 * 3
	for len(b) > step && !w.stopped {
		w.b = base64.StdEncoding.AppendEncode(w.b, b[:step])
		b = b[step:]
		w.spill()
	}
	w.b = base64.StdEncoding.AppendEncode(w.b, b[:w.most(len(b))])
	w.b = append(w.b, `"}`...)
}

// jsonString writes valid UTF-8 as a JSON string.
func (w *textWriter) jsonString(s []byte) {
	w.byte('"')
	for len(s) > pieceSize && !w.stopped {
		n := pieceSize
		for !utf8.RuneStart(s[n]) {
			n--
		}
		w.jsonText(s[:n])
		s = s[n:]
		w.spill()
	}
	w.jsonText(s[:w.most(len(s))])
	w.byte('"')
}

func (w *textWriter) jsonText(s []byte) {
	const hex = "0123456789abcdef"
	dst, start := w.b, 0
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
	w.b = append(dst, s[start:]...)
}

// Where a broker's transaction coordinators and its share coordinators keep
// their state.
const (
	transactionsTopic = "__transaction_state"
	sharesTopic       = "__share_group_state"
)

// decoded writes what a record of an internal topic says, if it is one and can
// be decoded.
func (w *textWriter) decoded(topic string, r *batch.Record) {
	keyOf, valueOf := coordinator.OffsetsKey, coordinator.OffsetsValue
	switch topic {
	case groupsTopic:
	case transactionsTopic:
		keyOf, valueOf = coordinator.TransactionKey, coordinator.TransactionValue
	case sharesTopic:
		keyOf, valueOf = coordinator.ShareKey, coordinator.ShareValue
	default:
		return
	}
	if len(r.Key)+len(r.Value) > wholeText {
		return // no coordinator writes such
	}
	key, ok := keyOf(r.Key)
	if !ok {
		return
	}
	value := "null"
	if r.Value != nil {
		if value, ok = valueOf(r.Key, r.Value); !ok {
			return
		}
	}
	w.b = append(append(w.b, `,"decoded":{"key":`...), key...)
	w.b = append(append(append(w.b, `,"value":`...), value...), '}')
}

// tsvField writes a key or value as PostgreSQL's COPY does.
func (w *textWriter) tsvField(b []byte) {
	if b == nil {
		w.b = append(w.b, `\N`...)
		return
	}
	for len(b) > pieceSize && !w.stopped {
		n := pieceSize
		for n > pieceSize-utf8.UTFMax && !utf8.RuneStart(b[n]) {
			n--
		}
		w.tsvText(b[:n])
		b = b[n:]
		w.spill()
	}
	w.tsvText(b[:w.most(len(b))])
}

func (w *textWriter) tsvText(b []byte) {
	const hex = "0123456789ABCDEF"
	dst := w.b
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
	w.b = dst
}
