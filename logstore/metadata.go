package logstore

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"klogfs/internal/disk"
)

const (
	metaPropertiesFile    = "meta.properties"
	partitionMetadataFile = "partition.metadata"
	// markerFile makes a log directory ours. It is a file, since a broker
	// stops over a directory that it does not know.
	markerFile    = "klogfs.json"
	markerVersion = 1
)

// marker is what markerFile holds: what Kafka keeps in its metadata log.
type marker struct {
	Version int                    `json:"version"`
	Topics  map[string]topicRecord `json:"topics"`
}

// topicRecord is what is known of a topic beside its logs.
type topicRecord struct {
	// ID is the topic's identity, as in partition.metadata.
	ID string `json:"id"`
	// Partitions is how many there are.
	Partitions int32 `json:"partitions"`
	// Dirs has directory.id of the log directory of each partition.
	Dirs []string `json:"dirs,omitempty"`
	// Config holds the keys that were set for this topic.
	Config map[string]string `json:"config,omitempty"`
	// Deleting is set from when its deletion begins until all of it is gone.
	Deleting bool `json:"deleting,omitempty"`
}

// newUUID makes an identity as Kafka spells it (org.apache.kafka.common.Uuid):
// 128 random bits in URL-safe base64, never with a leading dash, which command
// lines would take for a flag.
func newUUID() string {
	for {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails
		b[6] = b[6]&0x0f | 0x40
		b[8] = b[8]&0x3f | 0x80
		if id := base64.RawURLEncoding.EncodeToString(b[:]); !strings.HasPrefix(id, "-") {
			return id
		}
	}
}

func parseMarker(file []byte) (*marker, error) {
	m := &marker{}
	if err := json.Unmarshal(file, m); err != nil {
		return nil, fmt.Errorf("parse %s: %w", markerFile, err)
	}
	if m.Version != markerVersion {
		return nil, fmt.Errorf("%s has version %d, this klogfs knows %d", markerFile, m.Version, markerVersion)
	}
	for name, topic := range m.Topics {
		if err := topic.check(name); err != nil {
			return nil, fmt.Errorf("%s: %w", markerFile, err)
		}
	}
	return m, nil
}

// mostPartitions bounds what a marker file can make a store create.
const mostPartitions = 1 << 20

// check holds a record against what the store itself would have written.
func (t *topicRecord) check(name string) error {
	if err := errors.Join(ValidateTopic(name), ValidateTopicConfig(t.Config)); err != nil {
		return err
	}
	if t.Partitions < 0 || t.Partitions > mostPartitions || len(t.Dirs) > int(t.Partitions) {
		return fmt.Errorf("topic %s has %d partitions in %d directories: %w", name, t.Partitions, len(t.Dirs), ErrInvalidConfig)
	}
	return nil
}

func (m *marker) encode() ([]byte, error) {
	file, err := json.MarshalIndent(m, "", "  ")
	return append(file, '\n'), err
}

// writeMetaProperties gives a new log directory the file by which a broker
// knows one (org.apache.kafka.metadata.properties.MetaProperties, version 1).
func writeMetaProperties(d disk.FS, dir, directoryID, clusterID string) error {
	text := fmt.Sprintf("#\n#klogfs\nnode.id=1\ndirectory.id=%s\nversion=1\ncluster.id=%s\n", directoryID, clusterID)
	return replaceFile(d, filepath.Join(dir, metaPropertiesFile), []byte(text))
}

// writePartitionMetadata writes partition.metadata
// (org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile).
func writePartitionMetadata(d disk.FS, dir, topicID string) error {
	text := "version: 0\ntopic_id: " + topicID
	return replaceFile(d, filepath.Join(dir, partitionMetadataFile), []byte(text))
}
