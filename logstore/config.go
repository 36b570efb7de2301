package logstore

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"klogfs/batch"
)

// Config is the configuration of one topic. Each field is a key of Kafka's
// topic configuration (org.apache.kafka.common.config.TopicConfig), with
// Kafka's default and range.
type Config struct {
	// SegmentBytes is segment.bytes: a segment is rolled before it passes it.
	SegmentBytes int64
	// SegmentIndexBytes is segment.index.bytes: a segment is rolled when an
	// index is as long.
	SegmentIndexBytes int64
	// IndexIntervalBytes is index.interval.bytes: an index entry is made once
	// more bytes than this came since the last one.
	IndexIntervalBytes int64
	// MaxMessageBytes is max.message.bytes: the largest record batch, in bytes
	// as it is stored.
	MaxMessageBytes int64
	// FlushMs is flush.ms: records are made durable at the latest after as many
	// milliseconds. The default leaves it to the page cache.
	FlushMs int64
	// FlushMessages is flush.messages: records are made durable at the latest
	// after as many. The default leaves it to the page cache.
	FlushMessages int64
	// Compression is the codec of the batches that are made here:
	// compression.type, none where that says producer.
	Compression batch.Codec
	// TimestampType is message.timestamp.type.
	TimestampType batch.TimestampType

	values map[string]string
}

// configKey is one key of Kafka's topic configuration.
type configKey struct {
	topic  string // the key of a topic
	broker string // the key of the store for all topics, "" when there is none
	def    string
	check  func(string) error
}

// configKeys are all keys, with the defaults of Kafka 4
// (org.apache.kafka.storage.internals.log.LogConfig, ServerTopicConfigSynonyms).
var configKeys = []configKey{
	{"cleanup.policy", "log.cleanup.policy", "delete", listOf("delete", "compact")},
	{"compression.gzip.level", "compression.gzip.level", "-1", between(-1, 9)},
	{"compression.lz4.level", "compression.lz4.level", "9", between(1, 17)},
	{"compression.type", "compression.type", "producer", oneOf("producer", "uncompressed", "none", "gzip", "snappy", "lz4", "zstd")},
	{"compression.zstd.level", "compression.zstd.level", "3", between(-131072, 22)},
	{"delete.retention.ms", "log.cleaner.delete.retention.ms", "86400000", between(0, math.MaxInt64)},
	{"file.delete.delay.ms", "log.segment.delete.delay.ms", "60000", between(0, math.MaxInt64)},
	{"flush.messages", "log.flush.interval.messages", "9223372036854775807", between(1, math.MaxInt64)},
	{"flush.ms", "log.flush.interval.ms", "9223372036854775807", between(0, math.MaxInt64)},
	{"index.interval.bytes", "log.index.interval.bytes", "4096", between(0, math.MaxInt32)},
	{"max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms", "9223372036854775807", between(1, math.MaxInt64)},
	{"max.message.bytes", "message.max.bytes", "1048588", between(0, math.MaxInt32)},
	{"message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms", "3600000", between(0, math.MaxInt64)},
	{"message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms", "9223372036854775807", between(0, math.MaxInt64)},
	{"message.timestamp.type", "log.message.timestamp.type", "CreateTime", oneOf("CreateTime", "LogAppendTime")},
	{"min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio", "0.5", fraction},
	{"min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms", "0", between(0, math.MaxInt64)},
	{"min.insync.replicas", "min.insync.replicas", "1", between(1, math.MaxInt32)},
	{"preallocate", "log.preallocate", "false", oneOf("true", "false")},
	{"retention.bytes", "log.retention.bytes", "-1", between(-1, math.MaxInt64)},
	{"retention.ms", "log.retention.ms", "604800000", between(-1, math.MaxInt64)},
	{"segment.bytes", "log.segment.bytes", "1073741824", between(14, math.MaxInt32)},
	{"segment.index.bytes", "log.index.size.max.bytes", "10485760", between(12, math.MaxInt32)},
	{"segment.jitter.ms", "log.roll.jitter.ms", "0", between(0, math.MaxInt64)},
	{"segment.ms", "log.roll.ms", "604800000", between(1, math.MaxInt64)},
	{"unclean.leader.election.enable", "unclean.leader.election.enable", "false", oneOf("true", "false")},
}

// coarseKeys are older spellings of some of the store's keys, in larger units
// of time. The one in milliseconds goes before, and minutes before hours.
var coarseKeys = []struct {
	broker, ms string
	unit       int64
}{
	{"log.retention.minutes", "log.retention.ms", 60_000},
	{"log.retention.hours", "log.retention.ms", 3_600_000},
	{"log.roll.hours", "log.roll.ms", 3_600_000},
	{"log.roll.jitter.hours", "log.roll.jitter.ms", 3_600_000},
}

// inMilliseconds returns the configuration with its coarse keys translated.
func (c ServerConfig) inMilliseconds() ServerConfig {
	fine := maps.Clone(c)
	for _, k := range coarseKeys {
		n, err := strconv.ParseInt(c[k.broker], 10, 64)
		if _, ok := fine[k.ms]; ok || err != nil {
			continue // said more exactly, or not at all
		}
		if n > 0 {
			n *= k.unit
		}
		fine[k.ms] = strconv.FormatInt(n, 10)
	}
	return fine
}

// keyNumPartitions is the store's key for how many partitions a topic gets
// when nobody says.
const keyNumPartitions = "num.partitions"

// ServerConfig holds the keys of Kafka's server.properties that a store takes.
type ServerConfig map[string]string

// ValidateServerConfig checks the keys and values of a store's configuration.
// ErrInvalidConfig is returned for the first that is wrong.
func ValidateServerConfig(c ServerConfig) error {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if key == keyNumPartitions {
			if err := between(1, math.MaxInt32)(c[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			continue
		}
		if isCoarse(key) {
			if err := between(-1, math.MaxInt32)(c[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			continue
		}
		i := slices.IndexFunc(configKeys, func(k configKey) bool { return k.broker == key })
		if i < 0 {
			return fmt.Errorf("%s is not a key of the server configuration that klogfs takes: %w", key, ErrInvalidConfig)
		}
		if err := configKeys[i].check(c[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// IsServerKey reports whether a key of Kafka's server.properties is one that a
// store takes.
func IsServerKey(key string) bool {
	return key == keyNumPartitions || isCoarse(key) || slices.ContainsFunc(configKeys, func(k configKey) bool { return k.broker == key })
}

func isCoarse(key string) bool {
	for _, k := range coarseKeys {
		if k.broker == key {
			return true
		}
	}
	return false
}

// ValidateTopicConfig checks the keys and values of a topic's configuration.
// ErrInvalidConfig is returned for the first that is wrong.
func ValidateTopicConfig(c map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		i := slices.IndexFunc(configKeys, func(k configKey) bool { return k.topic == key })
		if i < 0 {
			return fmt.Errorf("%s is not a key of the topic configuration: %w", key, ErrInvalidConfig)
		}
		if err := configKeys[i].check(c[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// numPartitions is how many partitions a topic gets when nobody says.
func (c ServerConfig) numPartitions() int32 {
	n, err := strconv.ParseInt(c[keyNumPartitions], 10, 32)
	if err != nil {
		return 1 // Kafka's default; a wrong value was refused when the store opened
	}
	return int32(n)
}

// newConfig is what holds for a topic: its own keys, else the store's, else
// Kafka's defaults. All values were validated before.
func newConfig(server ServerConfig, topic map[string]string) Config {
	values := make(map[string]string, len(configKeys))
	for _, k := range configKeys {
		values[k.topic] = k.def
		if v, ok := server[k.broker]; ok {
			values[k.topic] = v
		}
		if v, ok := topic[k.topic]; ok {
			values[k.topic] = v
		}
	}
	number := func(key string) int64 {
		n, _ := strconv.ParseInt(values[key], 10, 64) // validated
		return n
	}
	c := Config{
		SegmentBytes:       number("segment.bytes"),
		SegmentIndexBytes:  number("segment.index.bytes"),
		IndexIntervalBytes: number("index.interval.bytes"),
		MaxMessageBytes:    number("max.message.bytes"),
		FlushMs:            number("flush.ms"),
		FlushMessages:      number("flush.messages"),
		values:             values,
	}
	if codec, err := batch.ParseCodec(values["compression.type"]); err == nil {
		c.Compression = codec // producer and uncompressed stay none
	}
	if values["message.timestamp.type"] == batch.LogAppendTime.String() {
		c.TimestampType = batch.LogAppendTime
	}
	return c
}

// Get is the value of a topic's key as it would stand in a properties file;
// "" for a key that Kafka does not have.
func (c Config) Get(key string) string { return c.values[key] }

// compressionLevel is the level for the topic's codec, 0 for the codec's own
// default.
func (c Config) compressionLevel() int {
	switch c.Compression {
	case batch.CodecGzip, batch.CodecLZ4, batch.CodecZstd:
		level, _ := strconv.Atoi(c.values["compression."+c.Compression.String()+".level"]) // validated
		return level
	case batch.CodecNone, batch.CodecSnappy:
	}
	return 0
}

func between(least, most int64) func(string) error {
	return func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number: %w", v, ErrInvalidConfig)
		}
		if n < least || n > most {
			return fmt.Errorf("%d is not within %d to %d: %w", n, least, most, ErrInvalidConfig)
		}
		return nil
	}
}

func fraction(v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || f < 0 || f > 1 || math.IsNaN(f) {
		return fmt.Errorf("%q is not a number from 0 to 1: %w", v, ErrInvalidConfig)
	}
	return nil
}

func oneOf(words ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("%q is not one of %s: %w", v, strings.Join(words, ", "), ErrInvalidConfig)
		}
		return nil
	}
}

func listOf(words ...string) func(string) error {
	one := oneOf(words...)
	return func(v string) error {
		for _, word := range strings.Split(v, ",") {
			if err := one(strings.TrimSpace(word)); err != nil {
				return err
			}
		}
		return nil
	}
}
