package index

import (
	"encoding/binary"
	"sort"
)

// TimeEntrySize is the length of an entry of a time index in bytes.
const TimeEntrySize = 12

// NoTimestamp is the timestamp of a batch without one (Kafka's
// RecordBatch.NO_TIMESTAMP).
const NoTimestamp = -1

// TimeEntry says that no record up to an offset is younger than a timestamp.
type TimeEntry struct {
	// Timestamp is in milliseconds since 1970, the largest so far.
	Timestamp int64
	// RelativeOffset is the last offset of the batch that carries it, less
	// the segment's base offset.
	RelativeOffset int32
}

// Append encodes the entry at the end of dst.
func (e TimeEntry) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Timestamp))
	return binary.BigEndian.AppendUint32(dst, uint32(e.RelativeOffset))
}

// Times is a view of the entries of a time index. It is valid as long as the
// bytes it was made from, and safe for concurrent use while they do not
// change.
type Times []byte

// ParseTimes returns the entries that a file of a time index holds: the
// longest prefix of whole entries whose timestamps increase strictly and
// whose offsets do not fall.
func ParseTimes(file []byte) Times {
	last := TimeEntry{Timestamp: NoTimestamp, RelativeOffset: 0}
	n := 0
	for ; n+TimeEntrySize <= len(file); n += TimeEntrySize {
		e := timeEntry(file[n:])
		zero := e == TimeEntry{} && allZero(file[n:])
		if zero || e.Timestamp <= last.Timestamp || e.RelativeOffset < last.RelativeOffset {
			break
		}
		last = e
	}
	return Times(file[:n:n])
}

// Len is the number of entries.
func (t Times) Len() int { return len(t) / TimeEntrySize }

// At returns entry i, 0 ≤ i < Len.
func (t Times) At(i int) TimeEntry { return timeEntry(t[i*TimeEntrySize:]) }

// Search returns the number of the last entry whose timestamp is below
// timestamp, or −1 when there is none: every record up to that entry's offset
// is older, so the first record at or after timestamp comes behind it.
func (t Times) Search(timestamp int64) int {
	return sort.Search(t.Len(), func(i int) bool {
		return t.At(i).Timestamp >= timestamp
	}) - 1
}

func timeEntry(b []byte) TimeEntry {
	return TimeEntry{
		Timestamp:      int64(binary.BigEndian.Uint64(b)),
		RelativeOffset: int32(binary.BigEndian.Uint32(b[8:])),
	}
}

// allZero tells an entry (0, 0), which a record of 1970 may have as the only
// one of its index, from the zeros of a preallocated file, which fill it.
func allZero(b []byte) bool {
	if len(b) == TimeEntrySize {
		return false
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// DecodeTime decodes the entry that b begins with, whatever it holds.
func DecodeTime(b []byte) TimeEntry { return timeEntry(b) }
