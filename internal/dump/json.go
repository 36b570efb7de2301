package dump

import "klogfs/logstore"

// object begins the JSON object of something in a file.
func (o *output) object(name string) {
	o.b = logstore.AppendJSONBytes(append(o.b, `{"file":`...), []byte(name))
}

// nullable appends a name and a number, or null.
func (o *output) nullable(name string, v int64, there bool) {
	if !there {
		o.b = append(append(o.b, name...), "null"...)
		return
	}
	o.int(name, v)
}

// batchJSON makes the fields of a batch that stand with each of its records.
func (r *record) batchJSON(h *head, valid bool, name string) {
	o := output{b: r.batchFields[:0]}
	o.object(name)
	o.int(`,"position":`, h.pos)
	o.int(`,"size":`, int64(h.Size()))
	o.int(`,"magic":`, int64(h.Magic))
	o.b = append(append(append(o.b, `,"codec":"`...), h.Attributes.Codec().String()...), '"')
	o.int(`,"crc":`, int64(h.CRC))
	o.bool(`,"valid":`, valid)
	v2 := !h.legacy()
	o.nullable(`,"baseOffset":`, h.BaseOffset, v2)
	o.int(`,"lastOffset":`, h.LastOffset())
	o.nullable(`,"leaderEpoch":`, int64(h.PartitionLeaderEpoch), v2)
	o.nullable(`,"producerId":`, h.ProducerID, v2)
	o.nullable(`,"producerEpoch":`, int64(h.ProducerEpoch), v2)
	o.bool(`,"transactional":`, v2 && h.Attributes.Transactional())
	o.bool(`,"control":`, v2 && h.Attributes.Control())
	o.nullable(`,"deleteHorizonMs":`, h.BaseTimestamp, v2 && h.Attributes.HasDeleteHorizon())
	r.batchFields = o.b
}

// recordJSON prints a record as one object.
func (d *dumper) recordJSON(h *head, r *record) error {
	if r.valueErr != nil {
		return r.valueErr
	}
	out := &d.out
	out.b = append(out.b, r.batchFields...)
	out.int(`,"offset":`, r.offset)
	out.int(`,"timestamp":`, r.timestamp)
	out.b = append(append(append(out.b, `,"timestampType":"`...), h.TimestampType().String()...), '"')
	out.nullable(`,"sequence":`, int64(r.sequence), r.sequence >= 0)
	if !h.legacy() && h.Attributes.Control() {
		d.controlJSON(r)
	}
	if err := d.contentsJSON(r, h); err != nil {
		return err
	}
	out.b = append(out.b, `,"headers":[`...)
	f := fields{b: r.headers}
	for i := range r.headerCount {
		if i > 0 {
			out.b = append(out.b, ',')
		}
		out.b = logstore.AppendJSONBytes(append(out.b, '['), f.bytes())
		out.b = logstore.AppendJSONBytes(append(out.b, ','), f.bytes())
		out.b = append(out.b, ']')
	}
	out.b = append(out.b, "]}\n"...)
	return nil
}

// controlJSON appends what a control record says; what it does not say is left
// to its key and value.
func (d *dumper) controlJSON(r *record) {
	out := &d.out
	kind, err := controlType(r.key)
	if err != nil {
		return
	}
	name := "UNKNOWN"
	if kind >= 0 && int(kind) < len(controlKinds) {
		name = controlKinds[kind]
	}
	out.b = append(append(append(out.b, `,"controlType":"`...), name...), '"')
	if epoch, err := coordinatorEpoch(r.value); err == nil && kind >= 0 && kind <= 1 {
		out.int(`,"coordinatorEpoch":`, int64(epoch))
	}
}

// contentsJSON appends a record's key and value.
func (d *dumper) contentsJSON(r *record, h *head) error {
	if d.Messages != nil && (h.legacy() || !h.Attributes.Control()) {
		return d.messageJSON(r)
	}
	out := &d.out
	out.b = d.Key.appendJSON(append(out.b, `,"key":`...), r.key)
	out.b = d.Value.appendJSON(append(out.b, `,"value":`...), r.value)
	return nil
}

func (k Bytes) appendJSON(dst, b []byte) []byte {
	if k == String || b == nil {
		return logstore.AppendJSONBytes(dst, b)
	}
	return append(k.append(append(dst, '"'), b), '"')
}
