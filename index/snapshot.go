package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A snapshot of the producers' state is Kafka's ProducerSnapshot, all integers
// big-endian:
//
//	+---------+--------+-------+---------+
//	| version | CRC    | count | entries |
//	| int16   | uint32 | int32 |         |
//	+---------+--------+-------+---------+
//
// The CRC-32C is of everything after it.
const (
	producerVersion   = 1
	producerCRCEnd    = 6
	producerHeader    = 10
	producerEntrySize = 46
)

// ErrSnapshot is returned when a file is no snapshot of the producers' state.
var ErrSnapshot = errors.New("snapshot is corrupt")

// SnapshotVersionError tells of a snapshot of a version that there is not.
type SnapshotVersionError struct{ Version int16 }

// Error says which version it is.
func (e *SnapshotVersionError) Error() string {
	return fmt.Sprintf("snapshot has an unknown version %d", e.Version)
}

// Unwrap returns ErrSnapshot.
func (e *SnapshotVersionError) Unwrap() error { return ErrSnapshot }

// SnapshotCRCError tells of a snapshot whose checksum is not that of its bytes.
type SnapshotCRCError struct{ Stored, Computed uint32 }

// Error says which checksum it has, and which it should have.
func (e *SnapshotCRCError) Error() string {
	return fmt.Sprintf("snapshot has the CRC %d, its bytes have %d", e.Stored, e.Computed)
}

// Unwrap returns ErrSnapshot.
func (e *SnapshotCRCError) Unwrap() error { return ErrSnapshot }

// ProducerEntry is what a partition knows of one producer.
type ProducerEntry struct {
	ProducerID    int64
	ProducerEpoch int16
	// LastSequence and LastOffset are the last batch's, −1 for none.
	LastSequence int32
	LastOffset   int64
	// OffsetDelta is the last batch's last offset less its first.
	OffsetDelta int32
	// Timestamp is the last batch's, in milliseconds since 1970.
	Timestamp        int64
	CoordinatorEpoch int32
	// CurrentTxnFirstOffset is the first offset of the transaction that is
	// open, −1 for none.
	CurrentTxnFirstOffset int64
}

// ParseProducers decodes a file of a snapshot. Its errors are ErrSnapshot,
// some of them a SnapshotVersionError or a SnapshotCRCError.
func ParseProducers(file []byte) ([]ProducerEntry, error) {
	be := binary.BigEndian
	if len(file) < 2 {
		return nil, fmt.Errorf("%d bytes: %w", len(file), ErrSnapshot)
	}
	if version := int16(be.Uint16(file)); version != producerVersion {
		return nil, &SnapshotVersionError{version}
	}
	if len(file) < producerHeader {
		return nil, fmt.Errorf("%d bytes, shorter than its header: %w", len(file), ErrSnapshot)
	}
	count := int32(be.Uint32(file[producerCRCEnd:]))
	body := file[producerHeader:]
	if count < 0 || int(count) > len(body)/producerEntrySize {
		return nil, fmt.Errorf("%d entries in %d bytes: %w", count, len(body), ErrSnapshot)
	}
	stored, computed := be.Uint32(file[2:]), crc32.Checksum(file[producerCRCEnd:], castagnoli)
	if stored != computed {
		return nil, &SnapshotCRCError{stored, computed}
	}
	entries := make([]ProducerEntry, count)
	for i := range entries {
		entries[i] = producerEntry(body[i*producerEntrySize:])
	}
	return entries, nil
}

func producerEntry(b []byte) ProducerEntry {
	be := binary.BigEndian
	return ProducerEntry{
		ProducerID:            int64(be.Uint64(b)),
		ProducerEpoch:         int16(be.Uint16(b[8:])),
		LastSequence:          int32(be.Uint32(b[10:])),
		LastOffset:            int64(be.Uint64(b[14:])),
		OffsetDelta:           int32(be.Uint32(b[22:])),
		Timestamp:             int64(be.Uint64(b[26:])),
		CoordinatorEpoch:      int32(be.Uint32(b[34:])),
		CurrentTxnFirstOffset: int64(be.Uint64(b[38:])),
	}
}
