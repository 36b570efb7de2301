package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"klogfs/internal/disk"
)

const lockFile = ".lock"

// openDir finds out what a directory is, and takes it when it is ours.
func (s *Store) openDir(path string) (*logDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	d := &logDir{path: path, ignored: map[string]bool{}}
	if d.own, err = s.isOurs(path); err != nil {
		return nil, err
	}
	if s.opts.ReadOnly {
		d.own = false
	}
	if !d.own {
		return d, s.readCheckpoints(d)
	}
	if err := s.opts.Disk.Mkdir(path); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	if d.lock, err = s.opts.Disk.Lock(filepath.Join(path, lockFile)); err != nil {
		return nil, fmt.Errorf("open log directory %s: %w", path, err)
	}
	if err := s.takeDir(d); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	return d, nil
}

// isOurs tells a directory of ours from a broker's.
func (s *Store) isOurs(path string) (bool, error) {
	infos, err := s.opts.Disk.List(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !s.opts.ReadOnly:
		return true, nil
	case err != nil:
		return false, fmt.Errorf("open log directory: %w", err)
	}
	foreign, log := "", false
	for _, info := range infos {
		switch {
		case info.Name == markerFile && info.Kind == disk.KindFile:
			return true, nil
		case info.Name == metaPropertiesFile || s.holdsLog(path, info):
			log = true
		case info.Name != lockFile && info.Name != "lost+found":
			foreign = info.Name
		}
	}
	if !log && foreign != "" {
		return false, fmt.Errorf("%s holds %q, no %s and no topic-partition: %w", path, foreign, metaPropertiesFile, ErrNotLogDir)
	}
	return !log, nil
}

// holdsLog reports whether a directory entry is a partition with a segment.
func (s *Store) holdsLog(dir string, info disk.Info) bool {
	if _, err := ParseTopicPartition(info.Name); err != nil || info.Kind != disk.KindDir {
		return false
	}
	files, err := s.opts.Disk.List(filepath.Join(dir, info.Name))
	if err != nil {
		return false
	}
	for _, f := range files {
		if _, suffix, ok := parseSegmentFile(f.Name); ok && suffix == suffixLog {
			return true
		}
	}
	return false
}

// takeDir reads what a directory of ours says of itself, and writes it down in
// a new one. From here on the shutdown is not a clean one until Close.
func (s *Store) takeDir(d *logDir) error {
	file, err := readFile(s.opts.Disk, filepath.Join(d.path, markerFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := s.writeMarker(d); err != nil {
			return fmt.Errorf("make log directory %s: %w", d.path, err)
		}
		if err := writeMetaProperties(s.opts.Disk, d.path, newUUID()); err != nil {
			return fmt.Errorf("make log directory %s: %w", d.path, err)
		}
	case err != nil:
		return fmt.Errorf("open log directory: %w", err)
	default:
		m, err := parseMarker(file)
		if err != nil {
			return fmt.Errorf("open log directory %s: %w", d.path, err)
		}
		for name, topic := range m.Topics {
			s.topics[name] = topic
		}
	}
	if err := s.readCheckpoints(d); err != nil {
		return err
	}
	if !d.clean {
		return nil
	}
	if err := s.opts.Disk.Remove(filepath.Join(d.path, cleanShutdownFile)); err != nil {
		return fmt.Errorf("open log directory: %w", err)
	}
	return s.opts.Disk.SyncDir(d.path)
}

// readCheckpoints reads the hints at the root of a log directory. One that
// can't be read is as good as none.
func (s *Store) readCheckpoints(d *logDir) error {
	read := func(name string) map[TopicPartition]int64 {
		file, err := readFile(s.opts.Disk, filepath.Join(d.path, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		offsets, err2 := parseOffsets(file)
		if err := errors.Join(err, err2); err != nil {
			s.log.Warn("checkpoint is not used", slog.String("log-dir", d.path), slog.String("file", name), slog.Any("cause", err))
			return nil
		}
		return offsets
	}
	d.recoveryPoints, d.logStarts = read(recoveryPointFile), read(logStartFile)
	_, err := s.opts.Disk.Stat(filepath.Join(d.path, cleanShutdownFile))
	d.clean = err == nil
	return ignoreMissing(err)
}

// load opens all partitions, several at a time.
func (s *Store) load() error {
	var g errgroup.Group
	g.SetLimit(4 * runtime.GOMAXPROCS(0))
	for _, d := range s.dirs {
		infos, err := s.opts.Disk.List(d.path)
		if err != nil {
			return fmt.Errorf("list log directory: %w", err)
		}
		for _, info := range infos {
			tp, ok := s.partitionOf(d, info)
			if !ok {
				continue
			}
			g.Go(func() error { return s.loadPartition(d, tp) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
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
		if err := removeAll(s.opts.Disk, filepath.Join(d.path, info.Name)); err != nil {
			s.log.Warn("deleted partition not removed", slog.String("directory", info.Name), slog.Any("cause", err))
		}
		return TopicPartition{}, false
	}
	tp, err := ParseTopicPartition(info.Name)
	if err == nil && info.Kind == disk.KindDir {
		return tp, true
	}
	if !d.ignored[info.Name] {
		d.ignored[info.Name] = true
		s.log.Info("not a topic-partition, ignored", slog.String("log-dir", d.path), slog.String("name", info.Name))
	}
	return TopicPartition{}, false
}

func (s *Store) loadPartition(d *logDir, tp TopicPartition) error {
	p := newPartition(s, tp, filepath.Join(d.path, tp.String()), d.own)
	s.mu.RLock()
	record, twice := s.topics[tp.Topic], s.partitions[tp]
	s.mu.RUnlock()
	if twice != nil {
		return fmt.Errorf("%s is in %s and in %s: move one away", tp, filepath.Dir(twice.dir), d.path)
	}
	config := newConfig(s.opts.Config, record.Config)
	p.config.Store(&config)
	if err := p.open(d); err != nil {
		return fmt.Errorf("open %s: %w", p.dir, err)
	}
	s.mu.Lock()
	s.partitions[tp] = p
	s.mu.Unlock()
	return nil
}

// completeTopics makes the marker file and the partition directories agree:
// directories that were put here become topics, and partitions that are only
// on record are made.
func (s *Store) completeTopics() error {
	for tp, p := range s.partitions {
		record := s.topics[tp.Topic]
		if record.ID == "" {
			record.ID = p.topicID()
		}
		record.Partitions = max(record.Partitions, tp.Partition+1)
		s.topics[tp.Topic] = record
	}
	if !s.Writable() {
		return nil
	}
	for name, record := range s.topics {
		if record.ID == "" {
			record.ID = newUUID()
			s.topics[name] = record
		}
		for i := range record.Partitions {
			tp := TopicPartition{name, i}
			if _, ok := s.partitions[tp]; ok {
				continue
			}
			if err := s.makePartition(tp, record); err != nil {
				return err
			}
		}
	}
	return s.writeMarkers()
}

// topicID is the topic's identity by partition.metadata, "" without one.
func (p *Partition) topicID() string {
	file, err := readFile(p.disk, p.path(partitionMetadataFile))
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(file), "\n") {
		if id, ok := strings.CutPrefix(line, "topic_id: "); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
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
	file, err := (&marker{Version: markerVersion, Topics: s.topics}).encode()
	if err != nil {
		return err
	}
	return replaceFile(s.opts.Disk, filepath.Join(d.path, markerFile), file)
}
