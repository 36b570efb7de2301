package batch

import (
	"encoding/binary"
	"fmt"
)

// ControlType is what a control record says
// (org.apache.kafka.common.record.ControlRecordType).
type ControlType int16

// The types of control records. The first two end a transaction of the batch's
// producer; the others are a Raft log's.
const (
	ControlAbort ControlType = iota
	ControlCommit
	ControlLeaderChange
	ControlSnapshotHeader
	ControlSnapshotFooter
	ControlKRaftVersion
	ControlKRaftVoters

	// ControlUnknown is a type that there is not, to be passed over.
	ControlUnknown ControlType = -1
)

var controlNames = [...]string{
	"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS",
}

// String is the type's name in Kafka.
func (t ControlType) String() string {
	if t < 0 || int(t) >= len(controlNames) {
		return "UNKNOWN"
	}
	return controlNames[t]
}

// EndTxn reports whether the record ends a transaction.
func (t ControlType) EndTxn() bool { return t == ControlAbort || t == ControlCommit }

// ParseControl decodes the key of a control record: a version, of which later
// ones are read as far as the first goes, and a type. A key that is too short,
// or of a version below 0, is ErrTruncated or ErrMagic.
func ParseControl(key []byte) (ControlType, error) {
	const size = 4
	if len(key) < size {
		return ControlUnknown, fmt.Errorf("key of a control record: %w", ErrTruncated)
	}
	if version := int16(binary.BigEndian.Uint16(key)); version < 0 {
		return ControlUnknown, fmt.Errorf("version %d of a control record: %w", version, ErrMagic)
	}
	t := ControlType(binary.BigEndian.Uint16(key[2:]))
	if t < 0 || int(t) >= len(controlNames) {
		return ControlUnknown, nil
	}
	return t, nil
}
