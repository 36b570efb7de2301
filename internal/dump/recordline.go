package dump

import (
	"fmt"

	"klogfs/batch"
)

// eachOfBatch goes over the records of a batch of format 2.
func (d *dumper) eachOfBatch(h *head, b []byte, each func(*record) error) error {
	if len(b) < batch.HeaderSize || h.Count < 0 {
		return errCount
	}
	if h.Count == 0 {
		return nil
	}
	body, err := d.decoder.Decompress(&h.Header, b[batch.HeaderSize:])
	if err != nil {
		return err
	}
	if h.Attributes.Codec() != batch.CodecNone {
		// Kafka reads all records of a compressed batch before it prints one.
		if err := d.parseAll(h, body, skip); err != nil {
			return err
		}
	}
	return d.parseAll(h, body, each)
}

func skip(*record) error { return nil }

// parseAll goes over the records of a batch, decompressed.
func (d *dumper) parseAll(h *head, body []byte, each func(*record) error) error {
	f := fields{b: body}
	for i := range h.Count {
		if err := d.record.parse(h, &f); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		if i == h.Count-1 && f.at != len(body) {
			return fmt.Errorf("record %d: bytes behind the last record: %w", i, errCount)
		}
		if err := each(&d.record); err != nil {
			return err
		}
		if err := d.out.spill(); err != nil {
			return err
		}
	}
	return nil
}

// recordLine prints the line of a record.
func (d *dumper) recordLine(h *head, r *record) error {
	out := &d.out
	prefix := "| "
	if !d.SkipRecordMetadata {
		d.recordMetadata(h, r)
		prefix = " "
		if !h.legacy() && h.Attributes.Control() {
			if err := d.controlRecord(r); err != nil {
				return err
			}
		}
	}
	if d.PrintDataLog && (h.legacy() || !h.Attributes.Control()) {
		if err := d.contents(r, prefix); err != nil {
			return err
		}
	}
	out.b = append(out.b, '\n')
	return nil
}

func (d *dumper) recordMetadata(h *head, r *record) {
	out := &d.out
	out.int("| offset: ", r.offset)
	out.b = append(append(append(out.b, ' '), h.TimestampType().String()...), ": "...)
	out.int("", r.timestamp)
	out.int(" keySize: ", int64(r.keySize))
	out.int(" valueSize: ", int64(r.valueSize))
	if h.legacy() {
		out.bool(" isValid: ", r.legacyValid)
		out.int(" crc: ", int64(r.legacyCRC))
		return
	}
	out.int(" sequence: ", int64(r.sequence))
	out.b = append(out.b, " headerKeys: ["...)
	f := fields{b: r.headers}
	for i := range r.headerCount {
		if i > 0 {
			out.b = append(out.b, ',')
		}
		out.b = appendJavaString(out.b, f.bytes())
		f.bytes()
	}
	out.b = append(out.b, ']')
}

// contents prints a record's key and value, each with its name.
func (d *dumper) contents(r *record, prefix string) error {
	if r.valueErr != nil {
		return r.valueErr
	}
	out := &d.out
	if d.Messages != nil {
		return d.message(r, prefix)
	}
	if r.key != nil {
		out.b = append(append(out.b, prefix...), "key: "...)
		out.b = d.Key.append(out.b, r.key)
		prefix = " "
	}
	if r.value != nil {
		out.b = append(append(out.b, prefix...), "payload: "...)
		out.b = d.Value.append(out.b, r.value)
	}
	return nil
}

// offsetGaps remembers where the offsets of a segment do not follow on one
// another.
type offsetGaps struct {
	last int64
	// any is whether whatever comes first is right.
	any   bool
	after map[int64]int64
}

func (g *offsetGaps) next(offset int64) {
	if g.last+1 != offset && !g.any {
		if g.after == nil {
			g.after = map[int64]int64{}
		}
		g.after[g.last] = offset
	}
	g.last, g.any = offset, false
}
