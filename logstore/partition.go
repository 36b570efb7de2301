package logstore

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"klogfs/batch"
	"klogfs/internal/disk"
)

// Partition is the log of one topic-partition. All methods may be called by
// several goroutines at once.
type Partition struct {
	tp  TopicPartition
	id  uint32
	dir string
	// logDir holds dir.
	logDir *logDir
	store  *Store
	disk   disk.FS
	log    *slog.Logger
	// own is whether we may write; else the log is a broker's.
	own    bool
	config atomic.Pointer[Config]

	// segs are the segments in order; the last one grows. The slice is
	// replaced, never changed.
	segs     atomic.Pointer[[]*segment]
	logStart atomic.Int64
	end      atomic.Int64
	gone     atomic.Bool

	// mu orders appends, rolls and whatever else changes the log.
	mu        sync.Mutex
	epochs    []epochEntry
	unflushed int64 // records since the last sync
	flushing  bool  // whether flush.ms is running

	// offline is why the log takes no more writes.
	offline atomic.Pointer[error]

	// syncing is held by who makes the log durable, for all who wait.
	syncing       sync.Mutex
	recoveryPoint atomic.Int64

	source source // how far a broker's log was read
	txns   transactions

	views       [formatCount]View
	corruptions atomic.Int64
}

func newPartition(store *Store, tp TopicPartition, d *logDir) *Partition {
	p := &Partition{
		tp: tp, id: store.nextID.Add(1), dir: filepath.Join(d.path, tp.String()), logDir: d,
		store: store, disk: store.opts.Disk, own: d.own,
		log: store.log.With(slog.String("partition", tp.String())),
	}
	for f := range p.views {
		p.views[f].p, p.views[f].format = p, Format(f)
	}
	p.txns.p = p
	p.segs.Store(&[]*segment{})
	return p
}

// Name is the name of the partition's directory.
func (p *Partition) Name() string { return p.tp.String() }

// TopicPartition is the partition's name in its parts.
func (p *Partition) TopicPartition() TopicPartition { return p.tp }

// ID tells the partition from every other that this store had since it was
// opened, one of the same name included.
func (p *Partition) ID() uint32 { return p.id }

// Writable reports whether the partition may be appended to.
func (p *Partition) Writable() bool { return p.own }

// Deleted reports whether the partition is gone.
func (p *Partition) Deleted() bool { return p.gone.Load() }

// LogDir is the log directory that holds the partition.
func (p *Partition) LogDir() string { return p.logDir.path }

// Refresh reads on in a log that another process writes. It does nothing for
// a log of our own.
func (p *Partition) Refresh() error { return p.refresh() }

// ModTime is when the log last changed.
func (p *Partition) ModTime() time.Time {
	segs := p.segments()
	if len(segs) > 0 {
		if info, err := p.disk.Stat(segs[len(segs)-1].path(suffixLog)); err == nil {
			return info.ModTime
		}
	}
	return time.Unix(0, 0)
}

// Config is what the partition's topic is configured to.
func (p *Partition) Config() Config { return *p.config.Load() }

// LogStartOffset is the first offset that can be read.
func (p *Partition) LogStartOffset() int64 { return p.logStart.Load() }

// EndOffset is the offset that the next record gets, the log end offset.
func (p *Partition) EndOffset() int64 { return p.end.Load() }

// View is the partition's records as text.
func (p *Partition) View(f Format) *View { return &p.views[f] }

func (p *Partition) segments() []*segment { return *p.segs.Load() }

func (p *Partition) active() *segment {
	segs := p.segments()
	return segs[len(segs)-1]
}

func (p *Partition) indexInterval() int { return int(p.config.Load().IndexIntervalBytes) }

// countCorruption counts and tells of a damaged batch that someone met.
func (p *Partition) countCorruption(err error) {
	var c *batch.CorruptionError
	if !errors.As(err, &c) {
		return
	}
	p.corruptions.Add(1)
	p.log.Error("damaged batch", slog.Int64("segment", c.Segment), slog.Int64("position", c.Position), slog.Any("cause", c.Cause))
}

// writable is why the partition can't be appended to, nil when it can. The
// caller holds mu.
func (p *Partition) writable() error {
	switch {
	case !p.own:
		return fmt.Errorf("%s: %w", p.Name(), ErrReadOnly)
	case p.store.closed.Load():
		return ErrClosed
	}
	return p.usable()
}

// usable is why what is on disk can't be added to or vouched for.
func (p *Partition) usable() error {
	if p.gone.Load() {
		return fmt.Errorf("%s: %w", p.Name(), ErrDeleted)
	}
	if cause := p.offline.Load(); cause != nil {
		return fmt.Errorf("%s: %w: %w", p.Name(), ErrOffline, *cause)
	}
	return nil
}

// close makes the log durable and its indexes complete.
func (p *Partition) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	if p.own && !p.gone.Load() && p.offline.Load() == nil {
		s := p.active()
		errs = append(errs, s.finishIndexes(), p.syncLocked(), s.saveText())
	}
	if !p.own && p.store.opts.CacheDir != "" {
		p.keepTexts()
	}
	for _, s := range p.segments() {
		errs = append(errs, s.log.retire(ErrClosed))
	}
	return errors.Join(errs...)
}
