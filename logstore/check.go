package logstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"klogfs/internal/disk"
)

// Finding is something that Check found.
type Finding struct {
	LogDir string `json:"logDir"`
	// TopicPartition is the partition's directory, "" for the log directory
	// itself.
	TopicPartition string `json:"partition,omitempty"`
	File           string `json:"file"`
	// Segment is the base offset of the segment, −1 for a file of none.
	Segment int64 `json:"segment"`
	// Position is in bytes from the start of the file, −1 for all of it.
	Position int64 `json:"position"`
	// Problem says what is wrong, Recovery what a start for writing, of klogfs
	// or of a broker, would do about it.
	Problem  string `json:"problem"`
	Recovery string `json:"recovery"`
	// Damage is set when something was lost or is wrong; else the file is one
	// that is only made again or ignored.
	Damage bool `json:"damage"`
}

// CheckOptions are how Check works. The zero value is right.
type CheckOptions struct {
	// Disk is the file system; nil for the machine's own.
	Disk disk.FS
	// Found gets each finding, one at a time.
	Found func(Finding)
	// Progress is told of bytes as they are done, and of all there are to do;
	// by several goroutines at once. It may be nil.
	Progress func(done, all int64)
}

// CheckSummary says what Check went over.
type CheckSummary struct {
	Partitions int   `json:"partitions"`
	Segments   int   `json:"segments"`
	Batches    int64 `json:"batches"`
	Records    int64 `json:"records"`
	// Bytes of logs.
	Bytes int64 `json:"bytes"`
	// Findings is how many there are, Damage how many of them are damage.
	Findings int `json:"findings"`
	Damage   int `json:"damage"`
}

// Check verifies log directories, of a store or of a broker: every record
// batch, index, transaction index, producer snapshot, leader epoch and
// checkpoint. It only reads, and takes no lock: a log that grows meanwhile is
// checked as far as it was when it was opened. An error is returned when a
// directory can't be opened or ctx ends.
func Check(ctx context.Context, dirs []string, opts CheckOptions) (CheckSummary, error) {
	s, err := Open(dirs, Options{Disk: opts.Disk, Log: slog.New(slog.DiscardHandler), ReadOnly: true})
	if err != nil {
		return CheckSummary{}, err
	}
	c := &checker{store: s, opts: opts, found: make(chan Finding)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for f := range c.found {
			c.count(f)
		}
	}()
	err = c.run(ctx)
	close(c.found)
	<-ended
	c.summary.Batches, c.summary.Records, c.summary.Bytes = c.batches.Load(), c.records.Load(), c.done.Load()
	return c.summary, errors.Join(err, s.Close())
}

type checker struct {
	store   *Store
	opts    CheckOptions
	summary CheckSummary
	found   chan Finding
	all     int64

	batches, records, done atomic.Int64
}

func (c *checker) count(f Finding) {
	c.summary.Findings++
	if f.Damage {
		c.summary.Damage++
	}
	if c.opts.Found != nil {
		c.opts.Found(f)
	}
}

// run checks the directories, and then all segments, several at a time.
func (c *checker) run(ctx context.Context) error {
	parts := c.store.Partitions()
	c.summary.Partitions = len(parts)
	for _, p := range parts {
		c.summary.Segments += len(p.segments())
		c.all += p.Bytes()
	}
	for _, d := range c.store.dirs {
		if err := c.checkDir(d); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range parts {
		for i := range p.segments() {
			g.Go(func() error { return c.checkSegment(ctx, p, i) })
		}
		g.Go(func() error { return c.checkPartition(ctx, p) })
	}
	return g.Wait()
}

func (c *checker) progress(bytes int64) {
	done := c.done.Add(bytes)
	if c.opts.Progress != nil {
		c.opts.Progress(done, c.all)
	}
}

// report sends a finding about a file of a segment.
func (c *checker) report(s *segment, suffix string, position int64, problem, recovery string) {
	c.found <- Finding{
		LogDir: s.p.logDir.path, TopicPartition: s.p.Name(), File: segmentFile(s.base, suffix) + s.suffix, Segment: s.base,
		Position: position, Problem: problem, Recovery: recovery, Damage: true,
	}
}

// What a start for writing does about things.
const (
	recoverIndex    = "the index is made again from the log"
	recoverBatch    = "nothing: the offsets stay unreadable, what follows is kept"
	recoverTail     = "the log is cut off here"
	recoverHint     = "the file is not believed, and made again"
	recoverNothing  = "it is ignored"
	recoverByReplay = "the state is built from the log's batches"
)

// checkSegment goes over one segment with all that its indexes say.
func (c *checker) checkSegment(ctx context.Context, p *Partition, i int) error {
	segs := p.segments()
	if i >= len(segs) {
		return nil // the log shrank since it was opened
	}
	s := segs[i]
	end := s.size.Load()
	offsets, times := c.checkIndexFiles(s)
	sc := segmentCheck{c: c, s: s, offsets: offsets, times: times}
	if err := sc.run(ctx, end); err != nil {
		return fmt.Errorf("check %s: %w", s.path(suffixLog), err)
	}
	return c.checkTail(s, end)
}

// checkTail looks at what is behind the last batch of a growing segment.
func (c *checker) checkTail(s *segment, end int64) error {
	info, err := s.p.disk.Stat(s.path(suffixLog))
	if err != nil || info.Size <= end {
		return ignoreMissing(err)
	}
	if err := s.p.refresh(); err != nil || s.size.Load() > end {
		return err // it has grown since
	}
	h, err := s.headerBelow(end, info.Size)
	problem := fmt.Sprintf("%d bytes that are no whole record batch", info.Size-end)
	if err == nil && int64(h.Size()) > info.Size-end {
		problem = fmt.Sprintf("a record batch of %d bytes of which %d are there", h.Size(), info.Size-end)
	}
	zero, err := s.zerosFrom(end, info.Size)
	if err != nil || zero {
		return err // space that was preallocated
	}
	c.report(s, suffixLog, end, problem, recoverTail)
	return nil
}

// zerosFrom reports whether the log has only zeros between two positions.
func (s *segment) zerosFrom(from, end int64) (bool, error) {
	b := make([]byte, 256<<10)
	for from < end {
		n := min(int64(len(b)), end-from)
		if err := s.readFull(b[:n], from); err != nil {
			return false, err
		}
		if !zeros(b[:n]) {
			return false, nil
		}
		from += n
	}
	return true, nil
}
