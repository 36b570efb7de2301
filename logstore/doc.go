// Package logstore keeps topic-partitions in log directories as Apache Kafka
// does: segments with sparse offset and time indexes, checkpoints, leader
// epochs. It is a library of its own and knows nothing of FUSE.
//
// A Store is opened over one or several log directories. Each is either our
// own, which we append to and hold locked, or a broker's, of which not one
// byte changes. A Partition is a log; a View is the log's records as one
// growing text.
//
// Appends to a partition are ordered by its lock. Readers take no lock that a
// writer waits for: what they see is published by one atomic store after the
// bytes are in the file, so a record batch is seen whole or not at all.
package logstore
