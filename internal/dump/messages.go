package dump

import (
	"encoding/binary"
	"errors"
	"fmt"

	"klogfs/logstore"
)

// Messages decodes the records of an internal topic to Kafka's JSON. Each of
// its functions returns false for what it can't decode.
type Messages struct {
	// Known reports whether there are keys of a type.
	Known func(typ int16) bool
	Key   func(key []byte) (json string, ok bool)
	Value func(key, value []byte) (json string, ok bool)
}

// decoded is a record of an internal topic as text: JSON, or a remark in its
// place. What is "" is not printed.
type decoded struct {
	key, value, remark string
}

// errNoKey is returned for a record that no internal topic has.
var errNoKey = errors.New("it has no key")

// deleted stands for the value of a tombstone.
const deleted = "<DELETE>"

// decode decodes a record as Kafka's tool does.
func (m *Messages) decode(r *record) (decoded, error) {
	if r.key == nil {
		return decoded{}, fmt.Errorf("decode the record at offset %d: %w, so it is not of the topic that the decoder is for", r.offset, errNoKey)
	}
	key, ok := m.Key(r.key)
	if !ok {
		return decoded{remark: m.badKey(r)}, nil
	}
	if r.value == nil {
		return decoded{key: key, value: deleted}, nil
	}
	value, ok := m.Value(r.key, r.value)
	if !ok {
		return decoded{remark: notRead(r.offset, "value", r.value)}, nil
	}
	return decoded{key: key, value: value}, nil
}

// badKey tells of a key that can't be decoded. It begins with its type.
func (m *Messages) badKey(r *record) string {
	if len(r.key) >= 2 {
		if typ := int16(binary.BigEndian.Uint16(r.key)); !m.Known(typ) {
			return fmt.Sprintf("Unknown record type %d at offset %d, skipping.", typ, r.offset)
		}
	}
	return notRead(r.offset, "key", r.key)
}

// notRead is Kafka's remark for a key or value that ends early, which it has
// no reason for.
func notRead(offset int64, what string, b []byte) string {
	if len(b) < 2 {
		return fmt.Sprintf("Error at offset %d, skipping. Could not read version from %s's buffer.", offset, what)
	}
	version := int16(binary.BigEndian.Uint16(b))
	return fmt.Sprintf("Error at offset %d, skipping. Could not read record with version %d from %s's buffer due to: null.", offset, version, what)
}

// message prints a record of an internal topic.
func (d *dumper) message(r *record, prefix string) error {
	m, err := d.Messages.decode(r)
	if err != nil {
		return err
	}
	out := &d.out
	out.b = append(append(append(append(out.b, prefix...), "key: "...), m.key...), m.remark...)
	if m.value != "" {
		out.b = append(append(out.b, " payload: "...), m.value...)
	}
	return nil
}

// messageJSON is message for --json: a remark is the key, as a string.
func (d *dumper) messageJSON(r *record) error {
	m, err := d.Messages.decode(r)
	if err != nil {
		return err
	}
	out := &d.out
	out.b = append(out.b, `,"key":`...)
	if m.remark != "" {
		out.b = logstore.AppendJSONBytes(out.b, []byte(m.remark))
	} else {
		out.b = append(out.b, m.key...)
	}
	if m.value == "" || m.value == deleted {
		m.value = "null"
	}
	out.b = append(append(out.b, `,"value":`...), m.value...)
	return nil
}
