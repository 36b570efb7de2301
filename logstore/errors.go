package logstore

import (
	"errors"

	"klogfs/internal/disk"
)

// Opening a store.
var (
	// ErrLocked is returned when another process, klogfs or a broker, holds
	// the lock of a log directory.
	ErrLocked = disk.ErrLocked
	// ErrMissingDir is returned when a store is opened without one of its log
	// directories.
	ErrMissingDir = errors.New("log directory is missing")
	// ErrNotLogDir is returned when a directory is neither empty nor a log
	// directory of any kind.
	ErrNotLogDir = errors.New("not a log directory")
)

// Naming and making topics.
var (
	// ErrInvalidTopic is returned for a name that Kafka does not take
	// (org.apache.kafka.common.internals.Topic).
	ErrInvalidTopic = errors.New("invalid topic name")
	// ErrNameTooLong is returned for a topic name of over 249 characters.
	ErrNameTooLong = errors.New("topic name is over 249 characters")
	// ErrTopicExists is returned when a topic or partition is there already.
	ErrTopicExists = errors.New("topic exists")
	// ErrUnknownTopic is returned when a topic or partition is not there.
	ErrUnknownTopic = errors.New("unknown topic or partition")
	// ErrPartitionOrder is returned when a partition to be added is not the
	// next one of its topic, or one to be deleted not the last.
	ErrPartitionOrder = errors.New("partitions come and go at the end of their topic only")
	// ErrInvalidConfig is returned for a configuration key that Kafka does not
	// have, or a value that the key does not take.
	ErrInvalidConfig = errors.New("invalid configuration")
)

// Appending.
var (
	// ErrReadOnly is returned when a store that may not be written is asked to.
	ErrReadOnly = errors.New("store is read-only")
	// ErrTooLarge is returned when a record batch is over max.message.bytes or
	// segment.bytes.
	ErrTooLarge = errors.New("record batch is too large")
	// ErrInvalidBatch is returned when bytes to be appended are no record
	// batches that a partition may take.
	ErrInvalidBatch = errors.New("invalid record batch")
	// ErrDeleted is returned when the partition was deleted, by us or by the
	// broker that owns it.
	ErrDeleted = errors.New("partition was deleted")
	// ErrOffline is returned when a partition can take no more writes because
	// its log could not be brought back to a known state.
	ErrOffline = errors.New("partition is offline")
	// ErrClosed is returned when the store was closed.
	ErrClosed = errors.New("store is closed")
)

// Reading.
var (
	// ErrNoRecord is returned when no readable record has the offset, or none
	// is at or after the time.
	ErrNoRecord = errors.New("no such record")
	// ErrUnknownGroup is returned for a consumer group that has no committed
	// offset.
	ErrUnknownGroup = errors.New("unknown consumer group")
)
