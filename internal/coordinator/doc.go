// Package coordinator decodes the records that Kafka's group and transaction
// coordinators keep in __consumer_offsets and __transaction_state, to the JSON
// that Kafka's dump tool prints of them.
//
// A key begins with a type, a value with a version, each an int16; what follows
// is laid out as schemas.txt has it.
package coordinator
