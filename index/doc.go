// Package index holds the three indexes of a log segment: by offset, by time,
// and by position in the text of a view.
//
// Offset and time indexes are Kafka's, byte for byte (kafka.log.OffsetIndex,
// kafka.log.TimeIndex); all integers are big-endian:
//
//	offset index, 8 bytes an entry            time index, 12 bytes an entry
//	+-----------------+-----------------+     +-----------------+-----------------+
//	| relative offset | position        |     | timestamp       | relative offset |
//	| int32           | int32           |     | int64           | int32           |
//	+-----------------+-----------------+     +-----------------+-----------------+
//
// A relative offset is an offset less the segment's base offset. In the
// offset index it is the last offset of the batch that starts at position.
// In the time index it is the last offset of the batch that carries the
// largest timestamp so far.
//
// An index is a hint. Nothing in this package trusts a file: a view holds the
// longest prefix of entries that increase strictly, and it is the caller who
// confirms the entry that a search finds against the log.
package index
