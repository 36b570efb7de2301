package fs

import (
	"encoding/json"
	"time"

	"klogfs/logstore"
)

// rootStatus is status.json of the root.
func (m *Mount) rootStatus() (content, error) {
	parts := m.store.Partitions()
	st := struct {
		NodeID     int       `json:"nodeId"`
		LogDirs    []string  `json:"logDirs"`
		Writable   bool      `json:"writable"`
		Started    time.Time `json:"started"`
		Topics     int       `json:"topics"`
		Partitions int       `json:"partitions"`
		Bytes      int64     `json:"bytes"`
	}{
		NodeID: m.store.NodeID(), LogDirs: m.store.LogDirs(), Writable: m.store.Writable(), Started: m.started,
		Topics: len(m.store.Topics()), Partitions: len(parts),
	}
	for _, p := range parts {
		st.Bytes += p.Bytes()
	}
	return m.json(st, m.started)
}

// partitionStatus is status.json of a partition.
func (m *Mount) partitionStatus(p *logstore.Partition) (content, error) {
	_ = p.Refresh() // what it met, the status has as well
	st := struct {
		logstore.PartitionStatus
		// Passthrough says whether the kernel may read sealed segments by
		// itself.
		Passthrough bool `json:"passthrough"`
	}{p.Status(), m.passthrough(p)}
	return m.json(st, p.ModTime())
}

func (m *Mount) json(v any, modified time.Time) (content, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return content{append(data, '\n'), modified}, err
}
