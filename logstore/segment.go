package logstore

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"

	"klogfs/batch"
	"klogfs/index"
	"klogfs/internal/disk"
)

// segment is one file of a log with its indexes: the record batches from base
// up to the next segment's base.
//
// size and next are what is published: they only grow, and next is stored
// first, so that who sees size finds every byte below it and every offset of
// those bytes below next. A sealed segment does not change any more.
type segment struct {
	p    *Partition
	base int64
	log  *handle
	// suffix stands behind the names of the segment's files, while they are not
	// in their place yet.
	suffix string
	// inode tells a file that a broker put in this one's place.
	inode uint64

	size   atomic.Int64
	next   atomic.Int64
	sealed atomic.Bool
	// last is the last batch that was published, of a log that another process
	// writes.
	last lastBatch
	// gone is set once the segment is deleted or replaced.
	gone atomic.Bool

	// builder holds the indexes while the segment grows, nil once it is
	// sealed: then they come from their files through the store's cache. mu
	// guards it, and found.
	mu      sync.RWMutex
	builder *index.Builder
	// How many bytes of entries the index files have, and their handles while
	// the segment is the active one of a log of our own; for who appends.
	offsetsWritten, timesWritten int
	offsetFile, timeFile         *handle

	// found has the right batch behind each damaged one that was met.
	found map[int64]int64

	texts [formatCount]segmentText
}

// lastBatch tells a log that grew from one that was cut and grew again.
type lastBatch struct {
	pos    int64
	header batch.Header
}

// endsAsBefore reports whether the last batch that was read is still there.
func (s *segment) endsAsBefore() bool {
	if s.last.header.Length == 0 {
		return true
	}
	h, err := s.header(s.last.pos)
	return err == nil && h == s.last.header
}

func newSegment(p *Partition, info segmentInfo, write bool) *segment {
	base := info.base
	s := &segment{p: p, base: base, suffix: info.suffix, inode: info.info.Inode}
	s.log = p.store.handles.handle(s.path(suffixLog), write)
	s.next.Store(base)
	for f := range s.texts {
		s.texts[f].index.Interval = textInterval
	}
	return s
}

func (s *segment) path(suffix string) string {
	return filepath.Join(s.p.dir, segmentFile(s.base, suffix)+s.suffix)
}

// corrupt fills in where damage is, as far as it is not known yet.
func (s *segment) corrupt(position int64, cause error) error {
	var c *batch.CorruptionError
	if errors.As(cause, &c) && c.TopicPartition != "" {
		return cause
	}
	if c != nil {
		cause = c.Cause
	}
	return &batch.CorruptionError{
		TopicPartition: s.p.Name(), Segment: s.base, Position: position, Cause: cause,
	}
}

// ReadAt reads published bytes of the log.
func (s *segment) ReadAt(b []byte, off int64) (int, error) {
	f, err := s.log.acquire()
	if err != nil {
		return 0, err
	}
	defer s.log.release()
	return f.ReadAt(b, off)
}

// readFull reads exactly len(b) published bytes at a position.
func (s *segment) readFull(b []byte, off int64) error {
	n, err := s.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %s at %d: %w", s.path(suffixLog), off, err)
}

// header reads the header of the published batch at a position.
func (s *segment) header(pos int64) (batch.Header, error) { return s.headerBelow(pos, s.size.Load()) }

// headerBelow reads the header of the batch at a position of a log that ends
// at end.
func (s *segment) headerBelow(pos, end int64) (batch.Header, error) {
	var b [batch.HeaderSize]byte
	n := min(int64(len(b)), end-pos)
	if pos < 0 || n < batch.LeastSize {
		return batch.Header{}, batch.ErrTruncated
	}
	if err := s.readFull(b[:n], pos); err != nil {
		return batch.Header{}, err
	}
	return batch.ParseHeader(b[:n])
}

// retire makes the segment unreadable for whoever comes from now on.
func (s *segment) retire() error {
	s.gone.Store(true)
	s.p.store.indexes.remove(s)
	return s.log.retire(ErrDeleted)
}

// removeFiles deletes the files of a retired segment.
func (s *segment) removeFiles(d disk.FS) error {
	var errs []error
	for _, suffix := range []string{suffixLog, suffixOffset, suffixTime, suffixTxn, suffixText} {
		errs = append(errs, ignoreMissing(d.Remove(s.path(suffix))))
	}
	return errors.Join(errs...)
}
