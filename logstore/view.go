package logstore

import (
	"runtime"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"
)

// View is the records of a partition as one text that grows at its end.
//
// Its positions never move while a Reader is open: where records went away,
// by retention or because the log start moved, a gap stays that a reader
// steps over. When the last Reader closes, the gaps close too. All methods
// may be called by several goroutines at once.
type View struct {
	p      *Partition
	format Format

	mu      sync.Mutex
	extents []extent
	readers int
	start   int64 // the log start that the extents are for
	// floor is where the text has ended while readers are open: new extents
	// behind all others start no earlier.
	floor int64
}

// extent is the text of one segment within a view.
type extent struct {
	seg *segment
	// pos is where it starts in the view, skip how much of the segment's text
	// is hidden before it, size its length; all in bytes.
	pos, skip, size int64
	// final is set once the segment is sealed and size can't change.
	final bool
}

func (e *extent) end() int64 { return e.pos + e.size }

// Size is the length of the text in bytes, as of now.
func (v *View) Size() (int64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.refresh(); err != nil {
		return 0, err
	}
	if n := len(v.extents); n > 0 {
		return v.extents[n-1].end(), nil
	}
	return 0, nil
}

// refresh makes the extents those of the present segments. The caller holds
// v.mu.
func (v *View) refresh() error {
	segments, start := v.p.segments(), v.p.LogStartOffset()
	if start != v.start || !v.covers(segments) {
		v.merge(segments)
	}
	if err := v.measure(); err != nil {
		return err
	}
	if start != v.start {
		if err := v.hide(start); err != nil {
			return err
		}
		v.start = start
	}
	return nil
}

// covers reports whether the extents are of these very segments, in order.
func (v *View) covers(segments []*segment) bool {
	if len(v.extents) != len(segments) {
		return false
	}
	for i := range segments {
		if v.extents[i].seg != segments[i] {
			return false
		}
	}
	return true
}

// merge drops the extents of segments that are gone and adds those of new
// ones. With a reader open, what stays keeps its position.
func (v *View) merge(segments []*segment) {
	if n := len(v.extents); v.readers == 0 {
		v.floor = 0
	} else if n > 0 {
		v.floor = max(v.floor, v.extents[n-1].end())
	}
	known := make(map[*segment]extent, len(v.extents))
	for _, e := range v.extents {
		known[e.seg] = e
	}
	merged := make([]extent, 0, len(segments))
	for _, s := range segments {
		e, ok := known[s]
		if !ok || v.readers == 0 {
			e = extent{seg: s, pos: -1}
		}
		e.final = false // what is new may lie before it, and is to be measured
		merged = append(merged, e)
	}
	v.extents = merged
	v.start = 0 // what is below the log start is to be hidden anew
}

// place gives new extents that lie before old ones the end of the room there:
// a cleaned segment is no longer than those that it replaces, and of what comes
// after any record of theirs it has no more. Where there is no room they are
// left out; they appear when the last reader closes.
func (v *View) place() {
	next := int64(-1)
	for i := len(v.extents) - 1; i >= 0; i-- {
		e := &v.extents[i]
		if e.pos < 0 && next >= 0 {
			e.pos = max(next-e.size, -1)
		}
		if e.pos >= 0 {
			next = e.pos
		}
	}
	last := len(v.extents) - 1
	for last >= 0 && v.extents[last].pos < 0 {
		last--
	}
	kept, end := v.extents[:0], int64(0)
	for i, e := range v.extents {
		if i > last {
			e.pos = max(end, v.floor)
		}
		if e.pos >= end {
			kept = append(kept, e)
			end = e.end()
		}
	}
	v.extents = kept
}

// measure asks each segment that may have grown for the length of its text.
func (v *View) measure() error {
	first := sort.Search(len(v.extents), func(i int) bool { return !v.extents[i].final })
	pending := v.extents[first:]
	sealed := make([]bool, len(pending))
	sizes := make([]int64, len(pending))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range pending {
		measure := func() error {
			var err error
			sealed[i], sizes[i], err = pending[i].seg.finalText(v.format)
			return err
		}
		if len(pending) > 1 {
			g.Go(measure)
		} else if err := measure(); err != nil {
			return err
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range pending {
		pending[i].size, pending[i].final = sizes[i]-pending[i].skip, sealed[i]
	}
	v.place()
	return nil
}

// position is where the text of the records from an offset on starts.
func (v *View) position(offset int64) (int64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.refresh(); err != nil {
		return 0, err
	}
	i := sort.Search(len(v.extents), func(i int) bool { return v.extents[i].seg.base > offset }) - 1
	if i < 0 {
		return 0, nil
	}
	e := &v.extents[i]
	text, err := e.seg.textBefore(v.format, offset)
	return e.pos + min(max(text-e.skip, 0), e.size), err
}

// hide takes the text of records below the log start out of the view, as a
// gap when a reader is open.
func (v *View) hide(start int64) error {
	for i := range v.extents {
		e := &v.extents[i]
		if e.seg.base >= start {
			break
		}
		skip, err := e.seg.textBefore(v.format, start)
		if err != nil {
			return err
		}
		more := max(skip-e.skip, 0)
		e.skip += more
		e.size -= more
		if v.readers > 0 {
			e.pos += more
		}
	}
	if v.readers == 0 {
		v.renumber()
	}
	return nil
}

// renumber closes the gaps.
func (v *View) renumber() {
	pos := int64(0)
	for i := range v.extents {
		v.extents[i].pos = pos
		pos = v.extents[i].end()
	}
}

// at returns the extent that holds a position, or the next one after it; ok
// is false at the end.
func (v *View) at(pos int64) (e extent, ok bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.refresh(); err != nil {
		return extent{}, false, err
	}
	i := sort.Search(len(v.extents), func(i int) bool { return v.extents[i].end() > pos })
	if i == len(v.extents) {
		return extent{}, false, nil
	}
	return v.extents[i], true, nil
}

func (v *View) opened(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.readers += n
	if v.readers == 0 {
		v.renumber()
	}
}
