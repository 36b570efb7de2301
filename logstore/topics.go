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
	return s.createTopic(name, partitions, config)
}

// createTopic makes the topic's logs and then puts it on record: what is on
// record is there. The caller holds mu.
func (s *Store) createTopic(name string, partitions int32, config map[string]string) error {
	if err := s.changeable(); err != nil {
		return err
	}
	if _, ok := s.topics[name]; ok {
		return fmt.Errorf("%s: %w", name, ErrTopicExists)
	}
	record := topicRecord{ID: newUUID(), Config: maps.Clone(config)}
	for i := range partitions {
		if err := s.addPartition(TopicPartition{name, i}, record); err != nil {
			return errors.Join(err, s.undo(name, 0, i))
		}
	}
	record.Partitions = partitions
	s.topics[name] = record
	if err := s.writeMarkers(); err != nil {
		delete(s.topics, name)
		return errors.Join(err, s.undo(name, 0, partitions), s.writeMarkers())
	}
	s.log.Info("topic created", slog.String("topic", name), slog.Int("partitions", int(partitions)))
	return nil
}

// undo takes partitions away that could not be put on record.
func (s *Store) undo(topic string, from, to int32) error {
	var errs []error
	for i := from; i < to; i++ {
		errs = append(errs, s.dropPartition(TopicPartition{topic, i}))
	}
	return errors.Join(errs...)
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
	if !ok || old.Deleting {
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
	if err := ValidateTopic(tp.Topic); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	record, ok := s.topics[tp.Topic]
	switch {
	case !ok && tp.Partition == 0:
		return s.createTopic(tp.Topic, 1, nil)
	case ok && tp.Partition < record.Partitions:
		return fmt.Errorf("%s: %w", tp, ErrTopicExists)
	case !ok || tp.Partition > record.Partitions:
		return fmt.Errorf("%s: %w: the next one is %s-%d", tp, ErrPartitionOrder, tp.Topic, record.Partitions)
	}
	if err := s.changeable(); err != nil {
		return err
	}
	if err := s.addPartition(tp, record); err != nil {
		return errors.Join(err, s.undo(tp.Topic, tp.Partition, tp.Partition+1))
	}
	added := record
	added.Partitions++
	s.topics[tp.Topic] = added
	if err := s.writeMarkers(); err != nil {
		s.topics[tp.Topic] = record
		return errors.Join(err, s.undo(tp.Topic, tp.Partition, tp.Partition+1), s.writeMarkers())
	}
	return nil
}

// addPartition makes a partition, and lets go of what checkpoints say of a
// former one of its name. The caller holds mu.
func (s *Store) addPartition(tp TopicPartition, record topicRecord) error {
	if err := s.makePartition(tp, record); err != nil {
		return err
	}
	d := s.partitions[tp].logDir
	known := d.hints()
	if known.recoveryPoints[tp] == 0 && known.logStarts[tp] == 0 {
		return nil
	}
	return s.replaceCheckpoints(d, s.checkpointsOf(d))
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
	used := map[*logDir]int{}
	for _, p := range s.partitions {
		used[p.logDir]++
	}
	best := s.dirs[0]
	for _, d := range s.dirs {
		if used[d] < used[best] {
			best = d
		}
	}
	p := newPartition(s, tp, best)
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
// ErrDeleted. That it is being deleted is put on record first: what a crash or
// an error leaves, the next start takes away.
func (s *Store) DeleteTopic(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleteTopic(name)
}

func (s *Store) deleteTopic(name string) error {
	if err := s.changeable(); err != nil {
		return err
	}
	record, ok := s.topics[name]
	if !ok || record.Deleting {
		return fmt.Errorf("%s: %w", name, ErrUnknownTopic)
	}
	deleting := record
	deleting.Deleting = true
	s.topics[name] = deleting
	if err := s.writeMarkers(); err != nil {
		s.topics[name] = record
		return err
	}
	if err := s.undo(name, 0, record.Partitions); err != nil {
		return err
	}
	delete(s.topics, name)
	s.log.Info("topic deleted", slog.String("topic", name))
	return errors.Join(s.writeMarkers(), s.forgetCheckpoints())
}

// forgetCheckpoints writes the checkpoints without what was deleted.
func (s *Store) forgetCheckpoints() error {
	var errs []error
	for _, d := range s.dirs {
		errs = append(errs, s.replaceCheckpoints(d, s.checkpointsOf(d)))
	}
	return errors.Join(errs...)
}

// DeletePartition deletes the last partition of a topic, and the topic with
// its only one. ErrPartitionOrder is returned for any other.
func (s *Store) DeletePartition(tp TopicPartition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, ok := s.topics[tp.Topic]
	switch {
	case !ok || tp.Partition >= record.Partitions:
		return fmt.Errorf("%s: %w", tp, ErrUnknownTopic)
	case record.Partitions == 1:
		return s.deleteTopic(tp.Topic)
	case tp.Partition != record.Partitions-1:
		return fmt.Errorf("%s: %w: the last one is %s-%d", tp, ErrPartitionOrder, tp.Topic, record.Partitions-1)
	}
	if err := s.changeable(); err != nil {
		return err
	}
	// Its directory goes first: one that is not on record, and has a log, would
	// be taken in again.
	if err := s.dropPartition(tp); err != nil {
		return err
	}
	record.Partitions--
	s.topics[tp.Topic] = record
	return errors.Join(s.writeMarkers(), s.forgetCheckpoints())
}

// dropPartition takes a partition out of the store and its files off the disk.
// The caller holds mu.
func (s *Store) dropPartition(tp TopicPartition) error {
	p, ok := s.partitions[tp]
	if !ok {
		return nil
	}
	delete(s.partitions, tp)
	return errors.Join(p.drop(), s.doom(p.logDir, tp))
}

// doom gives a partition's directory the name by which a broker knows what is
// being deleted, and then removes it.
func (s *Store) doom(d *logDir, tp TopicPartition) error {
	doomed := filepath.Join(d.path, doomedName(tp.String()))
	if err := s.opts.Disk.Rename(filepath.Join(d.path, tp.String()), doomed); err != nil {
		return err
	}
	if err := s.opts.Disk.SyncDir(d.path); err != nil {
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
