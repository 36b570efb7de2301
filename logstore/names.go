package logstore

import (
	"fmt"
	"strconv"
	"strings"
)

// maxTopicLength is the longest topic name (Topic.MAX_NAME_LENGTH): with a
// dash and a partition it still fits a file name.
const maxTopicLength = 249

// TopicPartition names one log: a topic and the number of one of its
// partitions.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the name of the partition's directory.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// ParseTopicPartition takes a directory's name apart at its last dash.
// ErrInvalidTopic or ErrNameTooLong is returned for what is not the name of a
// topic-partition, in the one spelling that String gives it.
func ParseTopicPartition(name string) (TopicPartition, error) {
	dash := strings.LastIndexByte(name, '-')
	if dash < 1 {
		return TopicPartition{}, fmt.Errorf("%q is not <topic>-<partition>: %w", name, ErrInvalidTopic)
	}
	number, err := strconv.ParseInt(name[dash+1:], 10, 32)
	tp := TopicPartition{Topic: name[:dash], Partition: int32(number)}
	if err != nil || number < 0 || tp.String() != name {
		return TopicPartition{}, fmt.Errorf("%q does not end in a partition number: %w", name, ErrInvalidTopic)
	}
	return tp, ValidateTopic(tp.Topic)
}

// ValidateTopic checks a name as Kafka does (Topic.validate): 1 to 249 of the
// characters a–z, A–Z, 0–9, dot, underscore and dash, and neither "." nor "..".
func ValidateTopic(name string) error {
	if name == "" || name == "." || name == ".." {
		return fmt.Errorf("%q: %w", name, ErrInvalidTopic)
	}
	for i := range len(name) {
		c := name[i]
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
		if !ok {
			return fmt.Errorf("%q holds a character other than letters, digits, '.', '_' and '-': %w", name, ErrInvalidTopic)
		}
	}
	if len(name) > maxTopicLength {
		return fmt.Errorf("%q: %w", name, ErrNameTooLong)
	}
	return nil
}

// Suffixes of the files of a segment.
const (
	suffixLog       = ".log"
	suffixOffset    = ".index"
	suffixTime      = ".timeindex"
	suffixTxn       = ".txnindex"
	suffixProducers = ".snapshot"
	suffixText      = ".valuestext"
)

// segmentFile is a file's name: the offset in 20 digits and a suffix.
func segmentFile(base int64, suffix string) string {
	return fmt.Sprintf("%020d%s", base, suffix)
}

// parseSegmentFile takes a file's name apart; ok is false when it is none of
// a segment's files.
func parseSegmentFile(name string) (base int64, suffix string, ok bool) {
	const digits = 20
	if len(name) <= digits || name[digits] != '.' {
		return 0, "", false
	}
	base, err := strconv.ParseInt(name[:digits], 10, 64)
	if err != nil || base < 0 {
		return 0, "", false
	}
	return base, name[digits:], true
}
