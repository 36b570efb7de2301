package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sort"
	"sync"

	"klogfs/batch"
)

// Isolation says which records of transactions are readable
// (org.apache.kafka.common.IsolationLevel).
type Isolation int8

// The levels of isolation.
const (
	// ReadUncommitted: all records, whatever became of their transaction.
	ReadUncommitted Isolation = iota
	// ReadCommitted: no record of an aborted transaction, and none at or after
	// the last stable offset, where the first open transaction began.
	ReadCommitted
)

var isolationNames = [...]string{"read_uncommitted", "read_committed"}

// String is the level's name in Kafka's configuration.
func (i Isolation) String() string { return isolationNames[i] }

// ParseIsolation is the level of a name. ErrInvalidConfig is returned for
// another name.
func ParseIsolation(name string) (Isolation, error) {
	for i, n := range isolationNames {
		if n == name {
			return Isolation(i), nil
		}
	}
	return 0, fmt.Errorf("isolation %q is not one of read_uncommitted, read_committed: %w", name, ErrInvalidConfig)
}

// transactions is what became of the transactions of a partition, as its
// markers tell. The transaction index beside a segment says the same and is a
// hint: it may be lost or rotten, and a log without aborted transactions has
// none either; so the batches' headers are gone over, each once.
type transactions struct {
	p *Partition

	mu      sync.RWMutex
	seg     *segment // read up to pos
	pos     int64
	next    int64                  // the offset after what was read
	open    map[int64]int64        // first offset by producer
	aborted map[int64][]abortedTxn // by producer, in the log's order
}

// abortedTxn is an aborted transaction, from its first record to its marker.
type abortedTxn struct{ first, last int64 }

// refresh reads on to the published end of the log. Where a segment went away
// meanwhile it begins anew.
func (t *transactions) refresh() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	const enough = 3
	for i := 1; ; i++ {
		err := t.readOn()
		gone := errors.Is(err, ErrDeleted) || errors.Is(err, fs.ErrNotExist)
		if !gone || i == enough || t.p.gone.Load() {
			return err
		}
		t.seg = nil
	}
}

// readOn is one try of refresh. The caller holds mu.
func (t *transactions) readOn() error {
	segs := t.p.segments()
	i := t.resume(segs)
	for ; i < len(segs); i++ {
		s := segs[i]
		if s != t.seg {
			t.seg, t.pos = s, 0
		}
		if err := t.read(s); err != nil {
			return err
		}
	}
	return nil
}

// resume is the number of the segment to go on with: the first one, when that
// where we stood is not a part of the log any more.
func (t *transactions) resume(segs []*segment) int {
	i := sort.Search(len(segs), func(i int) bool { return t.seg != nil && segs[i].base >= t.seg.base })
	if i < len(segs) && segs[i] == t.seg {
		return i
	}
	t.seg, t.next = nil, t.p.LogStartOffset()
	t.open, t.aborted = map[int64]int64{}, map[int64][]abortedTxn{}
	return 0
}

func (t *transactions) read(s *segment) error {
	end := s.size.Load()
	if t.pos >= end {
		return nil
	}
	w := s.walkTo(t.pos, end, math.MaxInt64)
	defer w.close()
	d := decodings.Get().(*decoding)
	defer d.release()
	for w.next() {
		t.pos = w.stop
		if w.err != nil {
			continue // damage is told of where it is read
		}
		t.next = max(t.next, w.header.NextOffset())
		if w.header.Attributes.Transactional() {
			t.add(w, d)
		}
	}
	return w.ioErr
}

// add takes a transactional batch into account.
func (t *transactions) add(w *walker, d *decoding) {
	h := &w.header
	if !h.Attributes.Control() {
		if _, ok := t.open[h.ProducerID]; !ok {
			t.open[h.ProducerID] = h.BaseOffset
		}
		return
	}
	var r batch.Record
	if err := d.read(w.s, w.pos, h.Size()); err != nil || !d.recs.Next(&r) {
		return // a damaged or empty marker ends nothing
	}
	kind, err := batch.ParseControl(r.Key)
	if err != nil || !kind.EndTxn() {
		return
	}
	first, ok := t.open[h.ProducerID]
	delete(t.open, h.ProducerID)
	if ok && kind == batch.ControlAbort {
		t.aborted[h.ProducerID] = append(t.aborted[h.ProducerID], abortedTxn{first, h.LastOffset()})
	}
}

// lastStable is the offset at which the first open transaction began, or that
// up to which the log was read.
func (t *transactions) lastStable() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	stable := t.next
	for _, first := range t.open {
		stable = min(stable, first)
	}
	return stable
}

// hides reports whether a batch is part of an aborted transaction.
func (t *transactions) hides(h *batch.Header) bool {
	if !h.Attributes.Transactional() || h.Attributes.Control() {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := t.aborted[h.ProducerID]
	i := sort.Search(len(all), func(i int) bool { return all[i].last >= h.BaseOffset })
	return i < len(all) && all[i].first <= h.BaseOffset
}

// committed reports whether only what is committed may be read.
func (p *Partition) committed() bool { return p.store.opts.Isolation == ReadCommitted }

// LastStableOffset is the offset below which every transaction has ended: the
// first one that a reader of committed records does not get.
func (p *Partition) LastStableOffset() (int64, error) {
	if err := p.txns.refresh(); err != nil {
		return 0, err
	}
	return min(p.txns.lastStable(), p.EndOffset()), nil
}

// readable is the end of what may be read: the last stable offset, where only
// what is committed may be, else the end of the log.
func (p *Partition) readable() (int64, error) {
	if !p.committed() {
		return p.EndOffset(), nil
	}
	return p.LastStableOffset()
}

// hidden reports whether a batch below the readable end holds no records for
// readers: markers, or those of an aborted transaction.
func (p *Partition) hidden(h *batch.Header) bool {
	return h.Attributes.Control() || p.committed() && p.txns.hides(h)
}

// readableSize is how many bytes of the segment may be read: up to the batch
// with the readable end.
func (s *segment) readableSize() (int64, error) {
	if !s.p.committed() {
		return s.size.Load(), nil
	}
	end, err := s.p.readable()
	if err != nil {
		return 0, err
	}
	size := s.size.Load()
	switch {
	case end >= s.next.Load():
		return size, nil
	case end <= s.base:
		return 0, nil
	}
	pos, err := s.floor(end)
	if err != nil {
		return 0, err
	}
	w := s.walkTo(pos, size, math.MaxInt64)
	defer w.close()
	for w.next() {
		if w.err == nil && w.header.BaseOffset >= end {
			return w.pos, nil
		}
	}
	return size, w.ioErr
}
