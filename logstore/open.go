package logstore

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"klogfs/internal/disk"
)

const lockFile = ".lock"

// load opens all partitions, several at a time.
func (s *Store) load() error {
	found := map[TopicPartition]*logDir{}
	for _, d := range s.dirs {
		infos, err := s.opts.Disk.List(d.path)
		if err != nil {
			return fmt.Errorf("list log directory: %w", err)
		}
		for _, info := range infos {
			tp, ok := s.partitionOf(d, info)
			if !ok || s.leave(d, tp, info) {
				continue
			}
			if other := found[tp]; other != nil {
				if !d.own {
					s.ignore(d, info.Name, "a partition that another log directory has, too")
					continue
				}
				return fmt.Errorf("%s is in %s and in %s: move one away", tp, other.path, d.path)
			}
			found[tp] = d
		}
	}
	var g errgroup.Group
	g.SetLimit(4 * runtime.GOMAXPROCS(0))
	for tp, d := range found {
		g.Go(func() error { return s.loadPartition(d, tp) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if !s.Writable() {
		s.nameTopics()
		return nil
	}
	return s.completeTopics()
}

// partitionOf is the topic-partition that an entry of a log directory is. What
// is none is told of once.
func (s *Store) partitionOf(d *logDir, info disk.Info) (TopicPartition, bool) {
	if info.Kind == disk.KindFile {
		return TopicPartition{}, false
	}
	if d.own && isDoomed(info.Name) && info.Kind == disk.KindDir {
		s.removeDoomed(filepath.Join(d.path, info.Name))
		return TopicPartition{}, false
	}
	tp, err := ParseTopicPartition(info.Name)
	if err == nil && info.Kind == disk.KindDir {
		return tp, true
	}
	s.ignore(d, info.Name, "not a topic-partition")
	return TopicPartition{}, false
}

func (s *Store) ignore(d *logDir, name, why string) {
	if !d.ignored[name] {
		d.ignored[name] = true
		s.log.Info(why+", ignored", slog.String("log-dir", d.path), slog.String("name", name))
	}
}

func (s *Store) removeDoomed(dir string) {
	if err := removeAll(s.opts.Disk, dir); err != nil {
		s.log.Warn("deleted partition not removed", slog.String("directory", dir), slog.Any("cause", err))
	}
}

// leave reports whether a directory of ours that has a partition's name is not
// to be opened as one: its topic is being deleted, or nobody made it a topic
// and it holds no log.
func (s *Store) leave(d *logDir, tp TopicPartition, info disk.Info) bool {
	record, known := s.topics[tp.Topic]
	if !d.own || known && !record.Deleting {
		return false
	}
	if known {
		if err := s.doom(d, tp); err != nil {
			s.log.Warn("deleted partition not removed", slog.String("partition", tp.String()), slog.Any("cause", err))
		}
		return true
	}
	if s.holdsLog(d.path, info) {
		return false
	}
	s.ignore(d, info.Name, "no topic of this store, and no log in it")
	return true
}

func (s *Store) loadPartition(d *logDir, tp TopicPartition) error {
	p := newPartition(s, tp, d)
	s.mu.RLock()
	record := s.topics[tp.Topic]
	s.mu.RUnlock()
	config := newConfig(s.opts.Config, record.Config)
	p.config.Store(&config)
	if err := p.open(d); err != nil {
		err = fmt.Errorf("open %s: %w", p.dir, err)
		if d.own {
			return err
		}
		p.setOffline(err) // it has a directory that says so; the next look tries again
	}
	s.mu.Lock()
	s.partitions[tp] = p
	s.mu.Unlock()
	return nil
}

// nameTopics records the topics of partitions that a broker has.
func (s *Store) nameTopics() {
	for tp, p := range s.partitions {
		record := s.topics[tp.Topic]
		if record.ID == "" {
			record.ID = p.topicID()
		}
		s.topics[tp.Topic] = record
	}
}

// completeTopics makes the marker file and the partition directories agree:
// logs that were put here become partitions, as far as their numbers follow on
// each other, and partitions that are only on record are made.
func (s *Store) completeTopics() error {
	s.nameTopics()
	for name, record := range s.topics {
		if record.Deleting {
			delete(s.topics, name) // its directories are gone by now
			continue
		}
		if record.ID == "" {
			record.ID = newUUID()
		}
		for s.partitions[TopicPartition{name, record.Partitions}] != nil {
			record.Partitions++
		}
		for i := range record.Partitions {
			if err := s.complete(TopicPartition{name, i}, record); err != nil {
				return err
			}
		}
		s.topics[name] = record
	}
	var errs []error
	for tp, p := range s.partitions {
		if tp.Partition >= s.topics[tp.Topic].Partitions {
			s.ignore(p.logDir, tp.String(), "a partition whose topic lacks the ones before")
			delete(s.partitions, tp)
			errs = append(errs, p.drop())
		}
		if s.topics[tp.Topic].Partitions == 0 {
			delete(s.topics, tp.Topic)
		}
	}
	errs = append(errs, s.writeMarkers())
	for _, d := range s.dirs {
		errs = append(errs, s.writeCheckpoints(d)) // those of a crash may say too much
	}
	return errors.Join(errs...)
}

// complete makes a partition that is on record and has no directory: a crash
// came between the two, or somebody removed it.
func (s *Store) complete(tp TopicPartition, record topicRecord) error {
	if s.partitions[tp] != nil {
		return nil
	}
	s.log.Warn("partition has no directory, it begins empty", slog.String("partition", tp.String()))
	return s.makePartition(tp, record)
}

// topicID is the topic's identity by partition.metadata, "" without one.
func (p *Partition) topicID() string {
	file, err := readFile(p.disk, p.path(partitionMetadataFile))
	if err != nil {
		return ""
	}
	return property(file, "topic_id: ")
}

func (p *Partition) path(name string) string { return filepath.Join(p.dir, name) }

func (s *Store) writeMarkers() error {
	for _, d := range s.dirs {
		if err := s.writeMarker(d); err != nil {
			return fmt.Errorf("write %s of %s: %w", markerFile, d.path, err)
		}
	}
	return nil
}

func (s *Store) writeMarker(d *logDir) error {
	file, err := s.marker(func(p *Partition) string { return p.logDir.id })
	if err != nil {
		return err
	}
	return replaceFile(s.opts.Disk, filepath.Join(d.path, markerFile), file)
}

// marker is the content of the marker file, with the directory of each
// partition as dir has it. The caller holds mu.
func (s *Store) marker(dir func(*Partition) string) ([]byte, error) {
	m := &marker{Version: markerVersion, Topics: map[string]topicRecord{}}
	for name, record := range s.topics {
		record.Dirs = nil
		for i := range record.Partitions {
			p := s.partitions[TopicPartition{name, i}]
			if p == nil {
				record.Dirs = nil // being made or deleted
				break
			}
			record.Dirs = append(record.Dirs, dir(p))
		}
		m.Topics[name] = record
	}
	return m.encode()
}
