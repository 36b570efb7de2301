package logstore

import (
	"iter"

	"klogfs/batch"
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
	w := textWriter{b: dst}
	f.write(&w, tp, h, r)
	return w.b
}

// pieces is what appendRecord writes, in pieces of a bounded size: the text of
// a record can be many times as long as the record. A piece is valid until the
// next.
func (f Format) pieces(tp TopicPartition, h *batch.Header, r *batch.Record) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		w := textWriter{b: make([]byte, 0, 2*pieceSize), emit: yield}
		f.write(&w, tp, h, r)
		w.end()
	}
}

// size is the length of what appendRecord writes.
func (f Format) size(tp TopicPartition, h *batch.Header, r *batch.Record) int64 {
	var n int64
	for piece := range f.pieces(tp, h, r) {
		n += int64(len(piece))
	}
	return n
}

func (f Format) write(w *textWriter, tp TopicPartition, h *batch.Header, r *batch.Record) {
	switch f {
	case FormatJSONL:
		w.json(tp, h, r)
	case FormatTSV:
		w.tsvField(r.Key)
		w.byte('\t')
		w.tsvField(r.Value)
	case FormatValues, formatCount:
		w.bytes(r.Value)
	}
	w.byte('\n')
}

// AppendJSON writes a record as one JSON object, without a newline. Bytes that
// are valid UTF-8 are a string, others {"base64":"…"}, null is null; headers
// are an array of [name, value], in order and with repeats. Of a record of the
// group or the transaction coordinator, decoded is what it says.
func AppendJSON(dst []byte, tp TopicPartition, h *batch.Header, r *batch.Record) []byte {
	w := textWriter{b: dst}
	w.json(tp, h, r)
	return w.b
}

// AppendJSONBytes writes bytes as a JSON value, as AppendJSON has keys and
// values.
func AppendJSONBytes(dst, b []byte) []byte {
	w := textWriter{b: dst}
	w.jsonBytes(b)
	return w.b
}
