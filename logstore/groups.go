package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sort"
	"sync"

	"klogfs/batch"
	"klogfs/internal/coordinator"
)

// groupsTopic is where a broker's group coordinators keep what groups
// committed (org.apache.kafka.common.internals.Topic).
const groupsTopic = "__consumer_offsets"

// Committed is what a consumer group committed for a partition.
type Committed struct {
	// Offset is the next one that the group will read.
	Offset int64
	// LeaderEpoch is that of the last record read, −1 where it is not known.
	LeaderEpoch int32
	Metadata    string
	// Timestamp is when, in milliseconds since 1970.
	Timestamp int64
}

// groups are the consumer groups of a store, by the records of groupsTopic,
// which are read once and then on from there. Commits of transactions count
// once these are committed.
type groups struct {
	s *Store

	mu   sync.Mutex
	logs map[*Partition]*groupLog
}

// groupLog is what one partition of groupsTopic holds.
type groupLog struct {
	next    int64 // offset read up to
	commits map[string]map[TopicPartition]Committed
}

// Groups returns the names of the consumer groups that have committed offsets,
// sorted.
func (s *Store) Groups() ([]string, error) {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	if err := s.groups.refresh(); err != nil {
		return nil, err
	}
	var names []string
	for _, l := range s.groups.logs {
		for name := range l.commits {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return slices.Compact(names), nil
}

// Group returns what a consumer group committed, by partition. ErrUnknownGroup
// is returned for one that has committed nothing.
func (s *Store) Group(name string) (map[TopicPartition]Committed, error) {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	if err := s.groups.refresh(); err != nil {
		return nil, err
	}
	all := map[TopicPartition]Committed{}
	for _, l := range s.groups.logs {
		for tp, c := range l.commits[name] {
			all[tp] = c
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%q: %w", name, ErrUnknownGroup)
	}
	return all, nil
}

// Lag is how many offsets a group that committed an offset has before it, up
// to the end of what is readable.
func (p *Partition) Lag(offset int64) (int64, error) {
	end, err := p.readable()
	return max(0, end-offset), err
}

// refresh reads on. The caller holds mu.
func (g *groups) refresh() error {
	present := map[*Partition]bool{}
	for _, p := range g.s.partitionsOf(groupsTopic) {
		present[p] = true
		if err := p.refresh(); err != nil {
			return err
		}
		if err := g.read(p); err != nil {
			return err
		}
	}
	for p := range g.logs {
		if !present[p] {
			delete(g.logs, p)
		}
	}
	return nil
}

// partitionsOf are the partitions of a topic, in any order.
func (s *Store) partitionsOf(topic string) []*Partition {
	s.refresh()
	s.mu.RLock()
	defer s.mu.RUnlock()
	var parts []*Partition
	for tp, p := range s.partitions {
		if tp.Topic == topic {
			parts = append(parts, p)
		}
	}
	return parts
}

func (g *groups) read(p *Partition) error {
	stable, err := p.LastStableOffset()
	if err != nil {
		return err
	}
	l := g.logs[p]
	if l == nil || stable < l.next { // new, or cut off
		l = &groupLog{next: p.LogStartOffset(), commits: map[string]map[TopicPartition]Committed{}}
		g.logs[p] = l
	}
	for _, s := range p.segments() {
		if s.next.Load() <= l.next || s.base >= stable {
			continue
		}
		err := l.readSegment(s, stable)
		if err != nil && !errors.Is(err, ErrDeleted) && !errors.Is(err, fs.ErrNotExist) {
			return err // a segment that went away holds nothing that counts still
		}
	}
	l.next = max(l.next, stable)
	return nil
}

func (l *groupLog) readSegment(s *segment, stable int64) error {
	pos, err := s.floor(l.next)
	if err != nil {
		return err
	}
	w := s.walkTo(pos, s.size.Load(), math.MaxInt64)
	defer w.close()
	d := decodings.Get().(*decoding)
	defer d.release()
	for w.next() {
		h := &w.header
		if w.err != nil || h.Attributes.Control() || h.LastOffset() < l.next || h.LeastOffset() >= stable || s.p.txns.hides(h) {
			continue
		}
		if err := w.decode(&d.dec, &d.recs); err != nil {
			if w.ioErr != nil {
				return w.ioErr
			}
			s.p.countCorruption(err)
			continue
		}
		var r batch.Record
		for d.recs.Next(&r) {
			if r.Offset >= l.next {
				l.apply(&r)
			}
		}
	}
	return w.ioErr
}

// apply takes a record into account.
func (l *groupLog) apply(r *batch.Record) {
	c, ok := coordinator.ParseOffsetCommit(r.Key, r.Value)
	if !ok {
		return // of another kind
	}
	tp := TopicPartition{c.Topic, c.Partition}
	if c.Tombstone {
		delete(l.commits[c.Group], tp)
		if len(l.commits[c.Group]) == 0 {
			delete(l.commits, c.Group)
		}
		return
	}
	if l.commits[c.Group] == nil {
		l.commits[c.Group] = map[TopicPartition]Committed{}
	}
	l.commits[c.Group][tp] = Committed{c.Offset, c.LeaderEpoch, c.Metadata, c.CommitTimestamp}
}
