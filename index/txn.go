package index

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// AbortedTxnSize is the length of an entry of a transaction index in bytes.
const AbortedTxnSize = 34

// abortedTxnVersion is the only version there is of the entries.
const abortedTxnVersion = 0

// ErrTxnIndex is returned when an entry of a transaction index is none that
// there is.
var ErrTxnIndex = errors.New("not an entry of a transaction index")

// AbortedTxn is an entry of a transaction index (Kafka's AbortedTxn): one
// aborted transaction that ends in the segment.
//
//	+---------+------------+-------------+------------+------------------+
//	| version | producerId | firstOffset | lastOffset | lastStableOffset |
//	| int16   | int64      | int64       | int64      | int64            |
//	+---------+------------+-------------+------------+------------------+
type AbortedTxn struct {
	ProducerID int64
	// FirstOffset is the transaction's first record's, LastOffset its
	// marker's.
	FirstOffset, LastOffset int64
	// LastStableOffset is what it was when the transaction was aborted.
	LastStableOffset int64
}

// ParseAbortedTxn decodes the entry that b begins with. ErrTxnIndex is
// returned for half an entry, and for one of another version.
func ParseAbortedTxn(b []byte) (AbortedTxn, error) {
	if len(b) < AbortedTxnSize {
		return AbortedTxn{}, fmt.Errorf("%d bytes where %d make one: %w", len(b), AbortedTxnSize, ErrTxnIndex)
	}
	be := binary.BigEndian
	if version := int16(be.Uint16(b)); version != abortedTxnVersion {
		return AbortedTxn{}, fmt.Errorf("version %d: %w", version, ErrTxnIndex)
	}
	return AbortedTxn{
		ProducerID:       int64(be.Uint64(b[2:])),
		FirstOffset:      int64(be.Uint64(b[10:])),
		LastOffset:       int64(be.Uint64(b[18:])),
		LastStableOffset: int64(be.Uint64(b[26:])),
	}, nil
}
