package dump

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errControl = errors.New("not a control record")

// Sizes of the fields of a control record, in bytes.
const (
	controlKeySize = 4 // version, type
	endTxnSize     = 6 // version, coordinator epoch
)

// controlKinds are the types of control records, in Kafka's words.
var controlKinds = []string{
	"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS",
}

// controlType is what a control record's key says.
func controlType(key []byte) (int16, error) {
	if len(key) < controlKeySize {
		return 0, fmt.Errorf("%w: its key has %d bytes, %d are needed", errControl, len(key), controlKeySize)
	}
	if version := int16(binary.BigEndian.Uint16(key)); version < 0 {
		return 0, fmt.Errorf("%w: its key has version %d", errControl, version)
	}
	return int16(binary.BigEndian.Uint16(key[2:])), nil
}

// controlRecord prints what a control record says.
func (d *dumper) controlRecord(r *record) error {
	kind, err := controlType(r.key)
	if err != nil {
		return err
	}
	out := &d.out
	switch {
	case kind == 0 || kind == 1:
		epoch, err := coordinatorEpoch(r.value)
		if err != nil {
			return err
		}
		out.b = append(append(out.b, " endTxnMarker: "...), controlKinds[kind]...)
		out.int(" coordinatorEpoch: ", int64(epoch))
	case kind > 1 && int(kind) < len(controlKinds):
		out.b, err = appendRaftRecord(out.b, kind, r.value)
		return err
	default:
		out.int(" controlType: UNKNOWN(", int64(kind))
		out.b = append(out.b, ')')
	}
	return nil
}

// coordinatorEpoch is what the marker of a transaction's end holds.
func coordinatorEpoch(value []byte) (int32, error) {
	if len(value) < endTxnSize {
		return 0, fmt.Errorf("%w: its value has %d bytes, %d are needed", errControl, len(value), endTxnSize)
	}
	if version := int16(binary.BigEndian.Uint16(value)); version < 0 {
		return 0, fmt.Errorf("%w: its value has version %d", errControl, version)
	}
	return int32(binary.BigEndian.Uint32(value[2:])), nil
}
