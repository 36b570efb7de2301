package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// liveReader reads a mount in all ways while the broker is at work.
type liveReader struct {
	*live
	t         *testing.T
	ctx       context.Context
	m         *mount
	isolation string
	copied    string // of raw/
	counts    counts
}

// counts is how much was read, by how.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
}

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.n)
}

func (l *live) reader(ctx context.Context, t *testing.T, isolation string) *liveReader {
	t.Helper()
	return &liveReader{live: l, t: t, ctx: ctx, m: l.mounts[isolation], isolation: isolation, copied: t.TempDir()}
}

// views reads all of each topic.
func (r *liveReader) views() {
	for topic := range liveTopics {
		before := r.snapshot()
		out, err := exec.Command("cat", r.m.path(topic+"-0", "values")).Output()
		if err != nil {
			r.t.Errorf("%s: cat values of %s: %v", r.isolation, topic, err)
			return
		}
		r.judgeValues("cat", topic, out, before)
		before = r.snapshot()
		if out, err = os.ReadFile(r.m.path(topic+"-0", "records.jsonl")); err != nil {
			r.t.Errorf("%s: records.jsonl of %s: %v", r.isolation, topic, err)
			return
		}
		r.judgeRecords(topic, out, before)
		if r.t.Failed() {
			return
		}
		r.counts.add("views of " + topic)
	}
}

// follow reads plain/values in one open file, as it grows.
func (r *liveReader) follow() {
	f, err := os.Open(r.m.path("plain-0", "values"))
	if err != nil {
		r.t.Errorf("%s: %v", r.isolation, err)
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	var got bytes.Buffer
	before := r.snapshot()
	for last := false; !last; {
		if last = r.ctx.Err() != nil; last {
			before = r.snapshot()
		}
		if _, err := io.Copy(&got, f); err != nil {
			r.t.Errorf("%s: read of an open file: %v", r.isolation, err)
			return
		}
		time.Sleep(pollInterval)
	}
	r.judgeValues("an open file", "plain", got.Bytes(), before)
	r.counts.add("follows")
}

// slow reads table/values with small reads and rests between them, so that the
// broker's cleaner replaces what it is about to read.
func (r *liveReader) slow() {
	before := r.snapshot()
	if before.acked[r.streams["table"]] == 0 {
		time.Sleep(pollInterval)
		return
	}
	f, err := os.Open(r.m.path("table-0", "values"))
	if err != nil {
		r.t.Errorf("%s: %v", r.isolation, err)
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	const slowTime = 3 * time.Second // then it comes to an end
	begun := time.Now()
	var got bytes.Buffer
	for b := make([]byte, 4000); ; {
		n, err := f.Read(b)
		got.Write(b[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.t.Errorf("%s: slow read of table: %v", r.isolation, err)
			return
		}
		if r.ctx.Err() == nil && time.Since(begun) < slowTime {
			time.Sleep(4 * time.Millisecond)
		}
	}
	r.judgeValues("a slow reader", "table", got.Bytes(), before)
	r.counts.add("slow reads")
}

// records reads single records by offset and by time.
func (r *liveReader) records() {
	for _, s := range r.streams {
		acked := s.acked.Load()
		if acked == 0 {
			time.Sleep(pollInterval)
			continue
		}
		for _, n := range []int64{rand.Int64N(acked), max(0, acked-1-rand.Int64N(100)), acked - 1} {
			p := r.txnOf(s)
			offset := n
			if p != nil {
				offset = p.offset(n)
			}
			r.record(s, n, offset)
			r.time(s, n, offset)
			if r.t.Failed() {
				return
			}
		}
	}
	r.counts.add("rounds of records")
}

// txnOf is the transactional stream that a stream is of, nil for none.
func (l *live) txnOf(s *stream) *txnStream {
	for _, p := range l.txns {
		if &p.stream == s {
			return p
		}
	}
	return nil
}
