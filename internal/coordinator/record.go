package coordinator

import (
	"encoding/binary"
	"strconv"
)

// The internal topics, as schemas.txt names them.
const (
	offsets      = "offsets"
	transactions = "transactions"
	shares       = "shares"
)

// OffsetsKey is the key of a record of __consumer_offsets as JSON, of the form
// {"type":"1","data":{…}}; false for a key of a type that there is not, or that
// is not laid out as its type is.
func OffsetsKey(key []byte) (string, bool) { return keyJSON(offsets, key) }

// OffsetsValue is the value of a record of __consumer_offsets as JSON, of the
// form {"version":"4","data":{…}}; false as for OffsetsKey.
func OffsetsValue(key, value []byte) (string, bool) {
	json, ok := valueJSON(offsets, key, value)
	if typ, _ := prefix(key); ok && typ == groupMetadata {
		json = decodeMembers(json)
	}
	return json, ok
}

// OffsetsType reports whether there are records of __consumer_offsets of a
// type.
func OffsetsType(typ int16) bool { return schemas()[recordKind{topic: offsets, typ: typ}] != nil }

// TransactionKey is OffsetsKey for __transaction_state.
func TransactionKey(key []byte) (string, bool) { return keyJSON(transactions, key) }

// TransactionValue is OffsetsValue for __transaction_state.
func TransactionValue(key, value []byte) (string, bool) {
	json, ok := valueJSON(transactions, key, value)
	if !ok {
		return "", false
	}
	return nameState(json), true
}

// TransactionType is OffsetsType for __transaction_state.
func TransactionType(typ int16) bool {
	return schemas()[recordKind{topic: transactions, typ: typ}] != nil
}

// ShareKey is OffsetsKey for __share_group_state.
func ShareKey(key []byte) (string, bool) { return keyJSON(shares, key) }

// ShareValue is OffsetsValue for __share_group_state.
func ShareValue(key, value []byte) (string, bool) { return valueJSON(shares, key, value) }

// ShareType is OffsetsType for __share_group_state.
func ShareType(typ int16) bool { return schemas()[recordKind{topic: shares, typ: typ}] != nil }

func keyJSON(topic string, key []byte) (string, bool) {
	typ, ok := prefix(key)
	if !ok {
		return "", false
	}
	return decode(recordKind{topic: topic, typ: typ}, "type", typ, key)
}

func valueJSON(topic string, key, value []byte) (string, bool) {
	typ, ok1 := prefix(key)
	version, ok2 := prefix(value)
	if !ok1 || !ok2 {
		return "", false
	}
	return decode(recordKind{topic, typ, true, version}, "version", version, value)
}

// prefix is the type or version that bytes begin with.
func prefix(b []byte) (int16, bool) {
	if len(b) < 2 {
		return 0, false
	}
	return int16(binary.BigEndian.Uint16(b)), true
}

func decode(k recordKind, label string, number int16, b []byte) (string, bool) {
	schema := schemas()[k]
	if schema == nil {
		return "", false
	}
	dst := append([]byte(`{"`), label...)
	dst = append(dst, `":"`...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	dst = append(dst, `","data":`...)
	r := reader{b: b[2:]}
	dst = schema.appendJSON(dst, &r)
	return string(append(dst, '}')), !r.bad
}

// OffsetCommit is what a group committed for a partition.
type OffsetCommit struct {
	Group, Topic string
	Partition    int32
	// Offset is the next one that the group will read.
	Offset int64
	// LeaderEpoch is that of the last record read, −1 where it is not known.
	LeaderEpoch int32
	Metadata    string
	// CommitTimestamp is in milliseconds since 1970.
	CommitTimestamp int64
	// Tombstone is set when the offset was forgotten.
	Tombstone bool
}

// ParseOffsetCommit decodes a record of __consumer_offsets; false for one that
// is no commit, of which the topic holds several kinds, or that is not laid out
// as one is. A nil value is a tombstone.
func ParseOffsetCommit(key, value []byte) (OffsetCommit, bool) {
	typ, ok := prefix(key)
	if !ok || typ != 0 && typ != 1 {
		return OffsetCommit{}, false
	}
	r := reader{b: key[2:]}
	text := &field{kind: kindString}
	str := func(f *field) string { return string(r.take(r.length(f))) }
	c := OffsetCommit{Group: str(text), Topic: str(text), Partition: int32(r.int(4, false)), LeaderEpoch: -1, Tombstone: value == nil}
	if value == nil {
		return c, !r.bad
	}
	version, ok := prefix(value)
	schema := schemas()[recordKind{offsets, typ, true, version}]
	if !ok || r.bad || schema == nil {
		return OffsetCommit{}, false
	}
	r = reader{b: value[2:]}
	whole := r
	schema.skip(&whole) // the fields that are not taken
	const withEpoch, flexible = 3, 4
	c.Offset = r.int(8, false)
	if version >= withEpoch {
		c.LeaderEpoch = int32(r.int(4, false))
	}
	c.Metadata = str(&field{kind: kindString, compact: version >= flexible})
	c.CommitTimestamp = r.int(8, false)
	return c, !r.bad && !whole.bad
}
