package index

import (
	"encoding/binary"
	"math"
	"sort"
)

// OffsetEntrySize is the length of an entry of an offset index in bytes.
const OffsetEntrySize = 8

// OffsetEntry says where in its segment the batch with a last offset starts.
type OffsetEntry struct {
	// RelativeOffset is the batch's last offset less the segment's base
	// offset, 0 to 2³¹ − 1.
	RelativeOffset int32
	// Position is the byte at which the batch starts, above 0.
	Position int32
}

// Append encodes the entry at the end of dst.
func (e OffsetEntry) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.RelativeOffset))
	return binary.BigEndian.AppendUint32(dst, uint32(e.Position))
}

// Offsets is a view of the entries of an offset index. It is valid as long as
// the bytes it was made from, and safe for concurrent use while they do not
// change.
type Offsets []byte

// ParseOffsets returns the entries that a file of an offset index holds: the
// longest prefix of whole entries that increase strictly in offset and in
// position. What follows, the zeros of a preallocated file or half an entry,
// is left out. No entry has position 0: a broker adds one only after bytes.
func ParseOffsets(file []byte) Offsets {
	last := OffsetEntry{RelativeOffset: -1, Position: 0}
	n := 0
	for ; n+OffsetEntrySize <= len(file); n += OffsetEntrySize {
		e := offsetEntry(file[n:])
		if e.RelativeOffset <= last.RelativeOffset || e.Position <= last.Position {
			break
		}
		last = e
	}
	return Offsets(file[:n:n])
}

// Len is the number of entries.
func (o Offsets) Len() int { return len(o) / OffsetEntrySize }

// At returns entry i, 0 ≤ i < Len.
func (o Offsets) At(i int) OffsetEntry { return offsetEntry(o[i*OffsetEntrySize:]) }

// Search returns the number of the last entry whose relative offset is at
// most relativeOffset, or −1 when there is none.
func (o Offsets) Search(relativeOffset int64) int {
	if relativeOffset > math.MaxInt32 {
		return o.Len() - 1
	}
	return sort.Search(o.Len(), func(i int) bool {
		return int64(o.At(i).RelativeOffset) > relativeOffset
	}) - 1
}

// SearchPosition returns the number of the last entry whose position is at
// most position, or −1 when there is none.
func (o Offsets) SearchPosition(position int64) int {
	return sort.Search(o.Len(), func(i int) bool {
		return int64(o.At(i).Position) > position
	}) - 1
}

func offsetEntry(b []byte) OffsetEntry {
	return OffsetEntry{
		RelativeOffset: int32(binary.BigEndian.Uint32(b)),
		Position:       int32(binary.BigEndian.Uint32(b[4:])),
	}
}

// DecodeOffset decodes the entry that b begins with, whatever it holds.
func DecodeOffset(b []byte) OffsetEntry { return offsetEntry(b) }
