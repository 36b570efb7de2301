package logstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"klogfs/internal/disk"
)

// logDir is one of the store's log directories.
type logDir struct {
	path string
	own  bool
	// id is directory.id of meta.properties, "" for a directory of ours that
	// is new.
	id   string
	lock io.Closer
	// clean is whether the last stop was told to be a clean one.
	clean bool

	// checkpoints are what the checkpoint files say; writing orders who
	// replaces them.
	checkpoints atomic.Pointer[checkpoints]
	writing     sync.Mutex

	listed  listing
	ignored map[string]bool // names that were told of
}

// checkpoints are the hints at the root of a log directory. They do not
// change; newer ones take their place.
type checkpoints struct {
	recoveryPoints, logStarts map[TopicPartition]int64
}

func (d *logDir) hints() *checkpoints {
	if c := d.checkpoints.Load(); c != nil {
		return c
	}
	return &checkpoints{}
}

// openDir finds out what a directory is, and locks it when it is ours. What is
// in it stays as it is until all directories were looked at.
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
	if err := s.readDir(d); err != nil {
		return d, fmt.Errorf("open log directory %s: %w", path, err)
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

// readDir reads what a directory of ours says of itself.
func (s *Store) readDir(d *logDir) error {
	file, err := readFile(s.opts.Disk, filepath.Join(d.path, markerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s.readCheckpoints(d)
	}
	if err != nil {
		return err
	}
	m, err := parseMarker(file)
	if err != nil {
		return err
	}
	for name, topic := range m.Topics {
		s.topics[name] = topic
	}
	properties, err := readFile(s.opts.Disk, filepath.Join(d.path, metaPropertiesFile))
	if err != nil {
		return err
	}
	d.id = property(properties, "directory.id=")
	return s.readCheckpoints(d)
}

// property is the rest of the line that begins so.
func property(file []byte, prefix string) string {
	for _, line := range strings.Split(string(file), "\n") {
		if value, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
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
	d.checkpoints.Store(&checkpoints{read(recoveryPointFile), read(logStartFile)})
	_, err := s.opts.Disk.Stat(filepath.Join(d.path, cleanShutdownFile))
	d.clean = err == nil
	return ignoreMissing(err)
}

// checkDirs refuses a store of which we may write only some directories, or
// of which some are missing, and then takes those that are ours: from here on
// the shutdown is not a clean one until Close.
func (s *Store) checkDirs() error {
	ids := map[string]bool{}
	for _, d := range s.dirs {
		if d.own != s.dirs[0].own {
			return fmt.Errorf("%s is ours and %s is a broker's: mount them apart, or with --read-only: %w",
				s.dirs[0].path, d.path, ErrNotLogDir)
		}
		ids[d.id] = true
	}
	if !s.Writable() {
		return nil
	}
	for name, topic := range s.topics {
		for i, id := range topic.Dirs {
			if !ids[id] {
				return fmt.Errorf("%s-%d is in a log directory that was not given (directory.id %s): give all of the store's log directories, and see that their disks are mounted: %w",
					name, i, id, ErrMissingDir)
			}
		}
	}
	for _, d := range s.dirs {
		if err := s.takeDir(d); err != nil {
			return fmt.Errorf("open log directory %s: %w", d.path, err)
		}
	}
	return nil
}

func (s *Store) takeDir(d *logDir) error {
	if d.id == "" {
		d.id = newUUID()
		if err := writeMetaProperties(s.opts.Disk, d.path, d.id, newUUID()); err != nil {
			return err
		}
		if err := s.writeMarker(d); err != nil {
			return err
		}
	}
	if !d.clean {
		return nil
	}
	if err := s.opts.Disk.Remove(filepath.Join(d.path, cleanShutdownFile)); err != nil {
		return err
	}
	return s.opts.Disk.SyncDir(d.path)
}

// writeCheckpoints writes the recovery points and log starts of a directory's
// partitions.
func (s *Store) writeCheckpoints(d *logDir) error {
	s.mu.RLock()
	c := s.checkpointsOf(d)
	s.mu.RUnlock()
	return s.replaceCheckpoints(d, c)
}

// checkpointsOf gathers a directory's checkpoints. The caller holds mu.
func (s *Store) checkpointsOf(d *logDir) *checkpoints {
	c := &checkpoints{map[TopicPartition]int64{}, map[TopicPartition]int64{}}
	for tp, p := range s.partitions {
		if p.logDir != d {
			continue
		}
		c.recoveryPoints[tp] = p.recoveryPoint.Load()
		if start := p.LogStartOffset(); start > p.segments()[0].base {
			c.logStarts[tp] = start
		}
	}
	return c
}

func (s *Store) replaceCheckpoints(d *logDir, c *checkpoints) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	err := replaceFile(s.opts.Disk, filepath.Join(d.path, recoveryPointFile), appendOffsets(nil, c.recoveryPoints))
	err = errors.Join(err, replaceFile(s.opts.Disk, filepath.Join(d.path, logStartFile), appendOffsets(nil, c.logStarts)))
	if err == nil {
		d.checkpoints.Store(c)
	}
	return err
}
