package logstore

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"klogfs/batch"
	"klogfs/internal/disk"
)

// Options are how a store is opened. The zero value is right for a program
// that writes to its own log directories.
type Options struct {
	// Disk is the file system; nil for the machine's own.
	Disk disk.FS
	// Log takes what an operator should know; nil for nothing.
	Log *slog.Logger
	// ReadOnly opens log directories of our own as a broker's are: not locked,
	// and nothing is written. What another process appends shows.
	ReadOnly bool
	// Config holds Kafka's server properties. The store fails to open when one
	// is wrong.
	Config ServerConfig
	// Isolation says which records of transactions are readable.
	Isolation Isolation
	// SkipCorrupt lets views pass over damaged batches instead of stopping
	// there.
	SkipCorrupt bool
	// MaxOpenFiles bounds the descriptors that are kept open, 0 for 256, or a
	// quarter of what the process may have where that is less.
	MaxOpenFiles int
	// IndexMemory bounds the indexes kept in memory, in bytes, 0 for 32 MiB.
	IndexMemory int64
	// DecodedMemory bounds the decompressed batches kept in memory, in bytes,
	// 0 for 8 MiB.
	DecodedMemory int64
	// CacheDir is where what was found out about a broker's logs is kept for
	// the next time; "" for nowhere.
	CacheDir string
	// DecodeBudget bounds what is decompressed at one time, by all readers
	// together, in bytes, 0 for 256 MB. A batch that needs more is damage.
	DecodeBudget int64
}

// Store is a set of topic-partitions in one or several log directories. All
// methods may be called by several goroutines at once.
type Store struct {
	opts    Options
	log     *slog.Logger
	dirs    []*logDir
	handles *handleCache
	indexes *sizedCache[*segment, *segmentIndexes]
	decoded *sizedCache[batchPlace, batch.Records]
	windows *sizedCache[windowPlace, *timeWindow]
	costly  *sizedCache[batchPlace, decodedSize]
	budget  *batch.Budget
	closed  atomic.Bool
	nextID  atomic.Uint32

	mu         sync.RWMutex
	topics     map[string]topicRecord
	partitions map[TopicPartition]*Partition

	refreshing sync.Mutex
	groups     groups
	flushes    chan *Partition
	done       chan struct{} // closed by Close
	flusher    sync.WaitGroup
}

// Open opens a store over log directories. One that is missing or empty
// becomes ours; one with our marker file is ours; any other is a broker's and
// is only read. ErrLocked is returned when another process has one of ours
// open, ErrNotLogDir when a directory is something else.
func Open(dirs []string, opts Options) (*Store, error) {
	if err := ValidateServerConfig(opts.Config); err != nil {
		return nil, err
	}
	opts.Config = opts.Config.inMilliseconds()
	s := newStore(opts)
	for _, dir := range dirs {
		d, err := s.openDir(dir)
		if d != nil {
			s.dirs = append(s.dirs, d)
		}
		if err != nil {
			return nil, errors.Join(err, s.unlock())
		}
	}
	err := errors.Join(s.checkCacheDir(), s.checkDirs())
	if err == nil {
		err = s.load()
	}
	if err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	s.flusher.Add(1)
	go s.flush()
	return s, nil
}

// costlyMemory bounds what is remembered of costly batches, in bytes.
const costlyMemory = 1 << 20

// windowMemory bounds the windows of time indexes kept in memory, in bytes.
const windowMemory = 4 << 20

// openFiles is how many files a store keeps open when nobody said.
func openFiles() int {
	const usual, share = 256, 4
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return usual
	}
	return int(min(usual, limit.Cur/share))
}

func newStore(opts Options) *Store {
	if opts.Disk == nil {
		opts.Disk = disk.OS{}
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.MaxOpenFiles == 0 {
		opts.MaxOpenFiles = openFiles()
	}
	if opts.IndexMemory == 0 {
		opts.IndexMemory = 32 << 20
	}
	if opts.DecodedMemory == 0 {
		opts.DecodedMemory = 8 << 20
	}
	if opts.DecodeBudget == 0 {
		opts.DecodeBudget = 256 << 20
	}
	s := &Store{
		budget: batch.NewBudget(opts.DecodeBudget),
		opts:   opts, log: opts.Log,
		handles:    newHandleCache(opts.Disk, opts.MaxOpenFiles),
		indexes:    newSizedCache[*segment, *segmentIndexes](opts.IndexMemory),
		decoded:    newSizedCache[batchPlace, batch.Records](opts.DecodedMemory),
		windows:    newSizedCache[windowPlace, *timeWindow](windowMemory),
		costly:     newSizedCache[batchPlace, decodedSize](costlyMemory),
		topics:     map[string]topicRecord{},
		partitions: map[TopicPartition]*Partition{},
		flushes:    make(chan *Partition, 64),
		done:       make(chan struct{}),
	}
	s.groups = groups{s: s, logs: map[*Partition]*groupLog{}}
	return s
}

// Writable reports whether the store may be written.
func (s *Store) Writable() bool { return len(s.dirs) > 0 && s.dirs[0].own }

// NodeID is node.id of the first log directory's meta.properties, broker.id
// where an older broker wrote it, −1 without either.
func (s *Store) NodeID() int {
	file, err := readFile(s.opts.Disk, filepath.Join(s.dirs[0].path, metaPropertiesFile))
	if err != nil {
		return -1
	}
	for _, key := range []string{"node.id=", "broker.id="} {
		if id, err := strconv.Atoi(property(file, key)); err == nil {
			return id
		}
	}
	return -1
}

// LogDirs are the paths of the log directories.
func (s *Store) LogDirs() []string {
	dirs := make([]string, 0, len(s.dirs))
	for _, d := range s.dirs {
		dirs = append(dirs, d.path)
	}
	return dirs
}

// Partition returns a partition by name, or ErrUnknownTopic. What keeps a
// broker's log from being read, each read of it says.
func (s *Store) Partition(tp TopicPartition) (*Partition, error) {
	s.refresh()
	s.mu.RLock()
	p, ok := s.partitions[tp]
	s.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("%s: %w", tp, ErrUnknownTopic)
	}
	_ = p.refresh() // it is remembered, and told by whatever is read next
	return p, nil
}

// Partitions returns all partitions, sorted by topic and number.
func (s *Store) Partitions() []*Partition {
	s.refresh()
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*Partition, 0, len(s.partitions))
	for _, p := range s.partitions {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Partition) int {
		if c := strings.Compare(a.tp.Topic, b.tp.Topic); c != 0 {
			return c
		}
		return int(a.tp.Partition) - int(b.tp.Partition)
	})
	return all
}

// Topic describes a topic.
type Topic struct {
	Name string `json:"topic"`
	// ID is the topic's identity, "" for one of a broker without
	// partition.metadata.
	ID string `json:"topicId"`
	// Partitions are the numbers of its partitions, in order.
	Partitions []int32 `json:"partitions"`
	// Config holds the keys that were set for this topic.
	Config map[string]string `json:"config"`
}

// Topics returns all topics, sorted by name.
func (s *Store) Topics() []Topic {
	byName := map[string]*Topic{}
	var names []string
	for _, p := range s.Partitions() {
		t, ok := byName[p.tp.Topic]
		if !ok {
			s.mu.RLock()
			record := s.topics[p.tp.Topic]
			s.mu.RUnlock()
			t = &Topic{Name: p.tp.Topic, ID: record.ID, Config: record.Config}
			byName[t.Name] = t
			names = append(names, t.Name)
		}
		t.Partitions = append(t.Partitions, p.tp.Partition)
	}
	sort.Strings(names)
	topics := make([]Topic, 0, len(names))
	for _, name := range names {
		topics = append(topics, *byName[name])
	}
	return topics
}

// Topic returns a topic by name, or ErrUnknownTopic.
func (s *Store) Topic(name string) (Topic, error) {
	for _, t := range s.Topics() {
		if t.Name == name {
			return t, nil
		}
	}
	return Topic{}, fmt.Errorf("%s: %w", name, ErrUnknownTopic)
}

// Close makes everything durable, writes the checkpoints, and gives the locks
// back. Readers that are still open get ErrClosed.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	close(s.done)
	s.flusher.Wait()
	var g errgroup.Group
	const together = 16
	g.SetLimit(together)
	s.mu.RLock()
	for _, p := range s.partitions {
		g.Go(p.close)
	}
	s.mu.RUnlock()
	err := g.Wait()
	if s.Writable() {
		for _, d := range s.dirs {
			err = errors.Join(err, s.writeCheckpoints(d))
			if err == nil && s.allOnline() {
				err = s.writeCleanShutdown(d)
			}
		}
	}
	return errors.Join(err, s.unlock())
}

// allOnline reports whether what the partitions have on disk is known.
func (s *Store) allOnline() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, p := range s.partitions {
		if p.offline.Load() != nil {
			return false
		}
	}
	return true
}

func (s *Store) unlock() error {
	var errs []error
	for _, d := range s.dirs {
		if d.lock != nil {
			errs = append(errs, d.lock.Close())
			d.lock = nil
		}
	}
	return errors.Join(errs...)
}

// writeCleanShutdown leaves the file by which a broker, and we, know that the
// logs need no recovery (CleanShutdownFileHandler).
func (s *Store) writeCleanShutdown(d *logDir) error {
	return replaceFile(s.opts.Disk, filepath.Join(d.path, cleanShutdownFile), []byte(`{"version":0,"brokerEpoch":-1}`))
}

// flushLater makes what a partition has now durable in the background.
func (s *Store) flushLater(p *Partition) {
	select {
	case s.flushes <- p:
	default: // the next roll, or Close, takes it along
	}
}

func (s *Store) flush() {
	defer s.flusher.Done()
	for {
		select {
		case <-s.done:
			return
		case p := <-s.flushes:
			s.flushNow(p)
		}
	}
}

func (s *Store) flushNow(p *Partition) {
	err := p.Sync()
	if err == nil {
		err = s.writeCheckpoints(p.logDir)
	}
	if err != nil && !errors.Is(err, ErrDeleted) {
		p.log.Error("flush", slog.Any("cause", err))
	}
}
