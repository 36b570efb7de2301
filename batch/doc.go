// Package batch encodes and decodes Kafka's record batches, format version 2
// (KIP-98; org.apache.kafka.common.record.DefaultRecordBatch).
//
// A batch is a header of 61 bytes, integers big-endian, and its records:
//
//	+----------------------+---------+--------------------------------------+
//	| baseOffset           | int64   | offset of the first record           |
//	| length               | int32   | bytes after this field               |
//	| partitionLeaderEpoch | int32   | set by the leader, outside the CRC   |
//	| magic                | int8    | 2                                    |
//	| crc                  | uint32  | CRC-32C of all that follows          |
//	| attributes           | int16   | see Attributes                       |
//	| lastOffsetDelta      | int32   | last offset less baseOffset          |
//	| baseTimestamp        | int64   | milliseconds; or the delete horizon  |
//	| maxTimestamp         | int64   | milliseconds, largest of the records |
//	| producerId           | int64   | −1 for none                          |
//	| producerEpoch        | int16   |                                      |
//	| baseSequence         | int32   |                                      |
//	| count                | int32   | records                              |
//	+----------------------+---------+--------------------------------------+
//	| records              | count × record, compressed as a whole          |
//	+----------------------+------------------------------------------------+
//
// and a record (DefaultRecord), where varint and varlong are zigzag-coded
// base-128 integers of 32 and 64 bits, and a length of −1 means null:
//
//	length varint | attributes int8 | timestampDelta varlong | offsetDelta varint
//	keyLength varint | key | valueLength varint | value
//	headerCount varint | header count × ( keyLength varint | key | valueLength varint | value )
//
// Nothing in a batch is trusted: every count and length is held against the
// bytes that are left, and what is decompressed against a limit.
package batch
