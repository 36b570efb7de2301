package logstore

import "time"

// PartitionStatus is what status.json says of a partition.
type PartitionStatus struct {
	Topic          string `json:"topic"`
	Partition      int32  `json:"partition"`
	LogDir         string `json:"logDir"`
	Writable       bool   `json:"writable"`
	LogStartOffset int64  `json:"logStartOffset"`
	HighWatermark  int64  `json:"highWatermark"`
	LogEndOffset   int64  `json:"logEndOffset"`
	// LastStableOffset is where the first open transaction began, or the high
	// watermark. It is there where only committed records are read.
	LastStableOffset *int64 `json:"lastStableOffset,omitempty"`
	LeaderEpoch      int32  `json:"leaderEpoch"`
	// RecoveryPoint is the offset up to which everything is durable.
	RecoveryPoint int64 `json:"recoveryPoint"`
	Segments      int   `json:"segments"`
	// Bytes is the length of the log in bytes.
	Bytes int64 `json:"bytes"`
	// MaxTimestamp is the newest record's, in milliseconds since 1970, −1 for
	// none.
	MaxTimestamp int64 `json:"maxTimestamp"`
	// Future are segments that hold a timestamp later than now, which keeps them,
	// and all behind them, from being deleted by retention.ms.
	Future []FutureSegment `json:"future,omitempty"`
	// CorruptBatches is how often a damaged batch was met since the store was
	// opened.
	CorruptBatches int64 `json:"corruptBatches"`
	// Offline is why the partition takes no more writes.
	Offline string `json:"offline,omitempty"`
}

// FutureSegment is a segment with a timestamp later than now.
type FutureSegment struct {
	Segment int64 `json:"segment"`
	// MaxTimestamp is in milliseconds since 1970.
	MaxTimestamp int64 `json:"maxTimestamp"`
}

// Status describes the partition as of now.
func (p *Partition) Status() PartitionStatus {
	st := PartitionStatus{
		Topic: p.tp.Topic, Partition: p.tp.Partition, LogDir: p.logDir.path, Writable: p.own,
		LogStartOffset: p.LogStartOffset(), HighWatermark: p.EndOffset(), LogEndOffset: p.EndOffset(),
		RecoveryPoint: p.recoveryPoint.Load(), CorruptBatches: p.corruptions.Load(), MaxTimestamp: -1,
	}
	now := time.Now().UnixMilli()
	if p.committed() {
		if stable, err := p.LastStableOffset(); err == nil {
			st.LastStableOffset = &stable
		}
	}
	for _, s := range p.segments() {
		st.Segments++
		st.Bytes += s.size.Load()
		if newest, err := s.maxTimestamp(); err == nil {
			st.MaxTimestamp = max(st.MaxTimestamp, newest)
			if newest > now {
				st.Future = append(st.Future, FutureSegment{s.base, newest})
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	st.LeaderEpoch = p.leaderEpoch()
	if cause := p.offline.Load(); cause != nil {
		st.Offline = (*cause).Error()
	}
	return st
}

// Bytes is the length of the log in bytes.
func (p *Partition) Bytes() int64 {
	var n int64
	for _, s := range p.segments() {
		n += s.size.Load()
	}
	return n
}
