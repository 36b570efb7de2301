// Package coordinator decodes the records that Kafka's group, transaction and
// share coordinators keep in __consumer_offsets, __transaction_state and
// __share_group_state, to the JSON that Kafka's dump tool prints of them.
//
// A key begins with a type, a value with a version, each an int16; what follows
// is laid out as schemas.txt has it. Bytes behind that are not looked at, as
// Kafka does not.
//
// The tool prints what is not JSON in the place of some records, and so has the
// caller to: <DELETE> for a value that is null, a tombstone; and for a key or
// value that is refused here, in the place of both, "Unknown record type 99 at
// offset 7, skipping." or "Error at offset 7, skipping." with Java's reason.
package coordinator
