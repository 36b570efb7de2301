package logstore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"

	"klogfs/internal/disk"
)

// CreateTopic makes a topic. partitions is how many it gets, 0 for
// num.partitions; config holds the topic's own configuration. The topic is on
// disk when the call returns. ErrInvalidTopic, ErrNameTooLong, ErrTopicExists,
// ErrInvalidConfig or ErrReadOnly is returned.
func (s *Store) CreateTopic(name string, partitions int32, config map[string]string) error {
	if err := ValidateTopic(name); err != nil {
		return err
	}
	if err := ValidateTopicConfig(config); err != nil {
		return err
	}
	if partitions == 0 {
		partitions = s.opts.Config.numPartitions()
	}
	if partitions < 0 {
		return fmt.Errorf("%d partitions: %w", partitions, ErrInvalidConfig)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.changeable(); err != nil {
		return err
	}
	if _, ok := s.topics[name]; ok {
		return fmt.Errorf("%s: %w", name, ErrTopicExists)
	}
	record := topicRecord{ID: newUUID(), Partitions: partitions, Config: maps.Clone(config)}
	s.topics[name] = record
	if err := s.writeMarkers(); err != nil {
		delete(s.topics, name)
		return errors.Join(err, s.writeMarkers())
	}
	for i := range partitions {
		if err := s.makePartition(TopicPartition{name, i}, record); err != nil {
			return err
		}
	}
	s.log.Info("topic created", slog.String("topic", name), slog.Int("partitions", int(partitions)))
	return nil
}

// AlterTopic replaces the configuration that was set for a topic. It holds for
// appends from now on, and is on disk when the call returns. ErrUnknownTopic,
// ErrInvalidConfig or ErrReadOnly is returned.
func (s *Store) AlterTopic(name string, config map[string]string) error {
	if err := ValidateTopicConfig(config); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.changeable(); err != nil {
		return err
	}
	old, ok := s.topics[name]
	if !ok {
		return fmt.Errorf("%s: %w", name, ErrUnknownTopic)
	}
	altered := old
	altered.Config = maps.Clone(config)
	s.topics[name] = altered
	if err := s.writeMarkers(); err != nil {
		s.topics[name] = old
		return err
	}
	effective := newConfig(s.opts.Config, config)
	for i := range altered.Partitions {
		if p, ok := s.partitions[TopicPartition{name, i}]; ok {
			p.config.Store(&effective)
		}
	}
	s.log.Info("topic configured", slog.String("topic", name), slog.Any("config", config))
	return nil
}

// AddPartition makes a partition: of a new topic when it is number 0, else it
// has to be the next one of its topic, or ErrPartitionOrder is returned.
func (s *Store) AddPartition(tp TopicPartition) error {
	s.mu.RLock()
	record, ok := s.topics[tp.Topic]
	s.mu.RUnlock()
	switch {
	case !ok && tp.Partition == 0:
		return s.CreateTopic(tp.Topic, 1, nil)
	case ok && tp.Partition < record.Partitions:
		return fmt.Errorf("%s: %w", tp, ErrTopicExists)
	case !ok || tp.Partition > record.Partitions:
		return fmt.Errorf("%s: %w: the next one is %s-%d", tp, ErrPartitionOrder, tp.Topic, record.Partitions)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.changeable(); err != nil {
		return err
	}
	record.Partitions = tp.Partition + 1
	s.topics[tp.Topic] = record
	if err := s.writeMarkers(); err != nil {
		return err
	}
	return s.makePartition(tp, record)
}

func (s *Store) changeable() error {
	switch {
	case s.closed.Load():
		return ErrClosed
	case !s.Writable():
		return ErrReadOnly
	}
	return nil
}

// makePartition makes an empty partition in the log directory that has the
// fewest. The caller holds mu.
func (s *Store) makePartition(tp TopicPartition, record topicRecord) error {
	used := map[string]int{}
	for _, p := range s.partitions {
		used[filepath.Dir(p.dir)]++
	}
	best := s.dirs[0]
	for _, d := range s.dirs {
		if used[d.path] < used[best.path] {
			best = d
		}
	}
	p := newPartition(s, tp, filepath.Join(best.path, tp.String()), true)
	config := newConfig(s.opts.Config, record.Config)
	p.config.Store(&config)
	if err := p.create(record.ID); err != nil {
		return fmt.Errorf("make %s: %w", p.dir, err)
	}
	if err := s.opts.Disk.SyncDir(best.path); err != nil {
		return err
	}
	s.partitions[tp] = p
	return nil
}

// create makes an empty log.
func (p *Partition) create(topicID string) error {
	if err := p.disk.Mkdir(p.dir); err != nil {
		return err
	}
	if err := writePartitionMetadata(p.disk, p.dir, topicID); err != nil {
		return err
	}
	if err := p.writeEpochs(); err != nil {
		return err
	}
	s, err := p.createSegment(0)
	if err != nil {
		return err
	}
	p.segs.Store(&[]*segment{s})
	return nil
}

// DeleteTopic deletes a topic and its records. Whoever has it open gets
// ErrDeleted.
func (s *Store) DeleteTopic(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.changeable(); err != nil {
		return err
	}
	record, ok := s.topics[name]
	if !ok {
		return fmt.Errorf("%s: %w", name, ErrUnknownTopic)
	}
	delete(s.topics, name)
	if err := s.writeMarkers(); err != nil {
		s.topics[name] = record
		return err
	}
	var errs []error
	for i := range record.Partitions {
		errs = append(errs, s.dropPartition(TopicPartition{name, i}))
	}
	s.log.Info("topic deleted", slog.String("topic", name))
	return errors.Join(errs...)
}

// DeletePartition deletes the last partition of a topic, and the topic with
// its only one. ErrPartitionOrder is returned for any other.
func (s *Store) DeletePartition(tp TopicPartition) error {
	s.mu.RLock()
	record, ok := s.topics[tp.Topic]
	s.mu.RUnlock()
	switch {
	case !ok || tp.Partition >= record.Partitions:
		return fmt.Errorf("%s: %w", tp, ErrUnknownTopic)
	case record.Partitions == 1:
		return s.DeleteTopic(tp.Topic)
	case tp.Partition != record.Partitions-1:
		return fmt.Errorf("%s: %w: the last one is %s-%d", tp, ErrPartitionOrder, tp.Topic, record.Partitions-1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.changeable(); err != nil {
		return err
	}
	record.Partitions--
	s.topics[tp.Topic] = record
	if err := s.writeMarkers(); err != nil {
		return err
	}
	return s.dropPartition(tp)
}

// dropPartition takes a partition out of the store and its files off the disk:
// first under the name by which a broker knows what is being deleted. The
// caller holds mu.
func (s *Store) dropPartition(tp TopicPartition) error {
	p, ok := s.partitions[tp]
	if !ok {
		return nil
	}
	delete(s.partitions, tp)
	if err := p.drop(); err != nil {
		return err
	}
	doomed := filepath.Join(filepath.Dir(p.dir), doomedName(tp.String()))
	if err := s.opts.Disk.Rename(p.dir, doomed); err != nil {
		return err
	}
	return removeAll(s.opts.Disk, doomed)
}

// drop makes the partition one that is gone.
func (p *Partition) drop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone.Store(true)
	var errs []error
	for _, s := range p.segments() {
		errs = append(errs, s.retire())
	}
	return errors.Join(errs...)
}

// removeAll removes a directory of plain files.
func removeAll(d disk.FS, dir string) error {
	infos, err := d.List(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, info := range infos {
		errs = append(errs, d.Remove(filepath.Join(dir, info.Name)))
	}
	return errors.Join(append(errs, d.Remove(dir))...)
}

// doomedName is a new name for a directory that is being deleted
// (UnifiedLog.logDeleteDirName). A long topic's name is cut to make room.
func doomedName(name string) string {
	const longest = 255
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	suffix := "." + hex.EncodeToString(id[:]) + "-delete"
	return name[:min(len(name), longest-len(suffix))] + suffix
}

// isDoomed reports whether doomedName, here or in a broker, made a name.
func isDoomed(name string) bool {
	rest, ok := strings.CutSuffix(name, "-delete")
	const digits = 32
	if !ok || len(rest) < digits+1 || rest[len(rest)-digits-1] != '.' {
		return false
	}
	_, err := hex.DecodeString(rest[len(rest)-digits:])
	return err == nil
}
