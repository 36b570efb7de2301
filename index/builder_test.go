package index_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"klogfs/index"
)

type added struct {
	lastOffset, timestamp, position int64
	size                            int
}

// segment makes batches of a segment with the base offset 1000. Times rise,
// stay and fall, and some batches have none.
func segment(n int) []added {
	rnd := rand.New(rand.NewPCG(3, 4))
	var all []added
	next := added{lastOffset: 999}
	for range n {
		next.position += int64(next.size)
		next.lastOffset += 1 + rnd.Int64N(20)
		next.size = 61 + rnd.IntN(400)
		next.timestamp = next.lastOffset - 30 + rnd.Int64N(60)
		if rnd.IntN(10) == 0 {
			next.timestamp = index.NoTimestamp
		}
		all = append(all, next)
	}
	return all
}

func build(batches []added, interval int) *index.Builder {
	b := index.NewBuilder(1000, interval)
	for _, a := range batches {
		b.Add(a.lastOffset, a.timestamp, a.position, a.size)
	}
	return b
}

// TestBuilderKeepsItsPromises holds the entries against what they mean.
func TestBuilderKeepsItsPromises(t *testing.T) {
	batches := segment(500)
	for _, interval := range []int{0, 100, 512, 4096, 1 << 20} {
		b := build(batches, interval)
		b.Close()
		if !bytes.Equal(index.ParseOffsets(b.Offsets()), b.Offsets()) || !bytes.Equal(index.ParseTimes(b.Times()), b.Times()) {
			t.Fatalf("interval %d: the entries do not rise", interval)
		}
		byPosition := map[int64]added{}
		for _, a := range batches {
			byPosition[a.position] = a
		}
		last := int64(0)
		for i := range b.Offsets().Len() {
			e := b.Offsets().At(i)
			a, ok := byPosition[int64(e.Position)]
			if !ok || a.lastOffset != 1000+int64(e.RelativeOffset) || a.position-last <= int64(interval) {
				t.Fatalf("interval %d: entry %+v for %+v", interval, e, a)
			}
			last = a.position
		}
		for i := range b.Times().Len() {
			e := b.Times().At(i)
			for _, a := range batches {
				upTo := a.lastOffset <= 1000+int64(e.RelativeOffset)
				if upTo && a.timestamp > e.Timestamp || a.lastOffset == 1000+int64(e.RelativeOffset) && a.timestamp != e.Timestamp {
					t.Fatalf("interval %d: entry %+v against %+v", interval, e, a)
				}
			}
		}
		timestamp, offset := b.MaxTimestamp()
		if n := b.Times().Len(); b.Times().At(n-1) != (index.TimeEntry{Timestamp: timestamp, RelativeOffset: int32(offset - 1000)}) {
			t.Errorf("interval %d: the closing entry is not (%d, %d)", interval, timestamp, offset)
		}
		closed := b.Times().Len()
		if b.Close(); b.Times().Len() != closed {
			t.Errorf("interval %d: a second close adds an entry", interval)
		}
	}
}

// TestResume goes on with a segment where it was closed: as a builder that was
// never closed, but that its bytes since the last entry count from zero, and
// that the closing time entry is there.
func TestResume(t *testing.T) {
	const interval = 512
	batches := segment(200)
	for at := range batches {
		b := build(batches[:at], interval)
		b.Close()
		offsets, times := b.Offsets(), b.Times()
		before := append([]byte{}, offsets...)
		timestamp, offset := b.MaxTimestamp()
		r := index.Resume(1000, interval, offsets, times, timestamp, offset)
		since := 0
		want := append([]byte{}, offsets...)
		for _, a := range batches[at:] {
			if since > interval {
				want = index.OffsetEntry{RelativeOffset: int32(a.lastOffset - 1000), Position: int32(a.position)}.Append(want)
				since = 0
			}
			since += a.size
			r.Add(a.lastOffset, a.timestamp, a.position, a.size)
		}
		r.Close()
		if !bytes.Equal(r.Offsets(), want) || !bytes.HasPrefix(r.Times(), times) || !bytes.Equal(index.ParseTimes(r.Times()), r.Times()) {
			t.Fatalf("resumed at batch %d: %d and %d entries", at, r.Offsets().Len(), r.Times().Len())
		}
		if !bytes.Equal(offsets, before) {
			t.Fatal("the entries that it was given have changed")
		}
	}
}

// TestResumedMakesNoSecondEntry tells a builder of the batch that its last
// entry points at, as recovery does, and gets what was never interrupted.
func TestResumedMakesNoSecondEntry(t *testing.T) {
	const interval = 512
	batches := segment(200)
	whole := build(batches, interval)
	whole.Close()
	for at := range batches {
		b := build(batches[:at], interval)
		n := b.Offsets().Len()
		if n == 0 {
			continue
		}
		from := 0
		for batches[from].position != int64(b.Offsets().At(n-1).Position) {
			from++
		}
		entry := build(batches[:from], interval) // its maximum before the entry's batch
		timestamp, offset := entry.MaxTimestamp()
		r := index.Resume(1000, interval, b.Offsets(), b.Times(), timestamp, offset)
		for _, a := range batches[from:] {
			r.Resumed(a.lastOffset, a.timestamp, a.position, a.size)
		}
		r.Close()
		if !bytes.Equal(r.Offsets(), whole.Offsets()) || !bytes.Equal(r.Times(), whole.Times()) {
			t.Fatalf("resumed at batch %d from %d: %d and %d entries, want %d and %d", at, from,
				r.Offsets().Len(), r.Times().Len(), whole.Offsets().Len(), whole.Times().Len())
		}
	}
}

// TestFullKeepsRoomForTheClosingEntry fills both indexes.
func TestFullKeepsRoomForTheClosingEntry(t *testing.T) {
	const maxBytes = 10 * index.TimeEntrySize
	b := index.NewBuilder(0, 0)
	for i := int64(0); !b.Full(maxBytes); i++ {
		b.Add(i, i, i*100, 100)
	}
	b.Add(1000, 1000, 100000, 100)
	b.Close()
	if b.Times().Len()*index.TimeEntrySize > maxBytes || b.Offsets().Len()*index.OffsetEntrySize > maxBytes {
		t.Errorf("%d and %d entries in %d bytes", b.Offsets().Len(), b.Times().Len(), maxBytes)
	}
}

// documented fails unless a document of docs/format shows the bytes, as hex in
// groups that only spaces part.
func documented(t *testing.T, document string, b []byte) {
	t.Helper()
	text, err := os.ReadFile("../docs/format/" + document)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("% x", b); !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
		t.Errorf("%s does not show %s", document, want)
	}
}

// TestDocumentedExamples makes the worked examples of the documents.
func TestDocumentedExamples(t *testing.T) {
	b := index.NewBuilder(0, 100)
	for i := range int64(3) {
		b.Add(i*10+9, 1000+i, i*70, 70)
	}
	b.Close()
	if b.Offsets().Len() != 1 || b.Times().Len() != 1 {
		t.Errorf("%d and %d entries", b.Offsets().Len(), b.Times().Len())
	}
	documented(t, "index.md", b.Offsets())
	documented(t, "index.md", b.Times())

	text := index.Text{Interval: 64 << 10}
	text.Add(70000, 69000)
	text.Add(78, 0)
	text.Add(300, 200)
	text.Add(300, 200)
	file := text.Append(nil, 70678, 1796108196321000000)
	for at := 0; at < len(file)-4; at += 8 {
		documented(t, "checkpoints.md", file[at:at+8])
	}
	documented(t, "checkpoints.md", file[len(file)-4:])
	if len(file) != 68 {
		t.Errorf("%d bytes\n% x", len(file), file)
	}
}
