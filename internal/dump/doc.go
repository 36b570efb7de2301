// Package dump prints the files of a partition as Kafka's own tool does
// (org.apache.kafka.tools.DumpLogSegments), the same text line for line:
// segments, offset and time indexes, transaction indexes, and snapshots of the
// producers' state.
//
// What is damaged is printed as far as Kafka prints it. So the package reads
// batches and records by itself, with Kafka's rules of what still counts as
// one, and not with those of package batch, which takes sound bytes only.
package dump
