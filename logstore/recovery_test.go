package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klogfs/index"
)

// Case 9: whatever is cut off the last batch, the store opens at the last
// whole one, with a shutdown marker and checkpoints that say otherwise.
func TestTornTailAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	s, err := Open([]string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := newTopic(t, s, "t", nil)
	produce(t, p, "first", "second")
	whole := p.active().size.Load()
	produce(t, p, "third, the torn one")
	closeStore(t, s)
	log := filepath.Join(dir, "t-0", segmentFile(0, suffixLog))
	full, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for cut := whole; cut < int64(len(full)); cut++ {
		writeFile(t, log, full[:cut])
		writeFile(t, filepath.Join(dir, cleanShutdownFile), []byte(`{"version":0,"brokerEpoch":-1}`))
		writeFile(t, filepath.Join(dir, recoveryPointFile), []byte("0\n1\nt 0 1003\n"))
		s, err := Open([]string{dir}, Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		p := partition(t, s, "t-0")
		if got := text(t, p, FormatValues); got != "first\nsecond\n" || p.EndOffset() != 2 {
			t.Fatalf("cut at %d: %q, end %d", cut, got, p.EndOffset())
		}
		produce(t, p, "next")
		if got := value(t, p, 2); got != "next" {
			t.Fatalf("cut at %d: offset 2 is %q", cut, got)
		}
		kept, err := os.ReadFile(fmt.Sprintf("%s.cut-%d", log, whole))
		if !zeros(full[whole:cut]) && (err != nil || string(kept) != string(full[whole:cut])) {
			t.Fatalf("cut at %d: kept %d bytes, %v", cut, len(kept), err)
		}
		closeStore(t, s)
		_ = os.Remove(fmt.Sprintf("%s.cut-%d", log, whole)) // not there when nothing was cut
	}
}

// Case 3: zeros behind the data are its end; anything else is a torn tail.
func TestZeroTail(t *testing.T) {
	for _, tc := range []struct {
		name string
		at   int // a byte that is not zero, −1 for none
		told bool
	}{
		{"zeros", -1, false},
		{"a byte 1 KiB in", 1024, true},
		{"the last byte", 64<<10 - 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir, Options{})
			produce(t, newTopic(t, s, "t", nil), "a", "b")
			closeStore(t, s)
			tail := make([]byte, 64<<10)
			if tc.at >= 0 {
				tail[tc.at] = 1
			}
			f, err := os.OpenFile(filepath.Join(dir, "t-0", segmentFile(0, suffixLog)), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(tail); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			var log logBuffer
			s = openStore(t, dir, Options{Log: log.logger()})
			p := partition(t, s, "t-0")
			produce(t, p, "c")
			if got := text(t, p, FormatValues); got != "a\nb\nc\n" {
				t.Errorf("%q", got)
			}
			if got := strings.Contains(log.String(), "torn tail"); got != tc.told {
				t.Errorf("told of a torn tail: %v\n%s", got, log.String())
			}
		})
	}
}

// Case 6: batches without records count for the end offset.
func TestEmptyBatches(t *testing.T) {
	empty := builtBatch(t, 100, 0, 9)
	for _, tc := range []struct {
		name string
		log  []byte
		want string
		end  int64
	}{
		{"only", empty, "", 110},
		{"first", append(empty[:len(empty):len(empty)], builtBatch(t, 110, 5, -1, "a")...), "a\n", 111},
		{"last", append(builtBatch(t, 99, 5, -1, "a"), empty...), "a\n", 110},
		{"middle", append(append(builtBatch(t, 99, 5, -1, "a"), empty...), builtBatch(t, 110, 5, -1, "b")...), "a\nb\n", 111},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := writeBroker(t, map[int64][]byte{99: tc.log})
			s := openStore(t, dir, Options{})
			p := partition(t, s, "p-0")
			if got := text(t, p, FormatValues); got != tc.want || p.EndOffset() != tc.end {
				t.Errorf("%q, end %d", got, p.EndOffset())
			}
			for offset := int64(100); offset < 110; offset++ {
				if _, err := p.Locate(offset); !errors.Is(err, ErrNoRecord) {
					t.Errorf("offset %d: %v", offset, err)
				}
			}
			closeStore(t, s)
			// The same log as one of ours: the next record gets the next offset.
			writeFile(t, filepath.Join(dir, markerFile), []byte(`{"version":1}`))
			s = openStore(t, dir, Options{})
			p = partition(t, s, "p-0")
			produce(t, p, "next")
			if got := value(t, p, tc.end); got != "next" {
				t.Errorf("offset %d is %q", tc.end, got)
			}
		})
	}
}

// Case 15: the next offset is the header's, not that of the last survivor.
func TestCompactedBatches(t *testing.T) {
	// Offsets 10 to 19 of which 10 and 11 survive, then 20.
	log := append(builtBatch(t, 10, 5, 9, "ten", "eleven"), builtBatch(t, 20, 5, -1, "twenty")...)
	s := openStore(t, writeBroker(t, map[int64][]byte{10: log}), Options{})
	p := partition(t, s, "p-0")
	o := p.Offsets(12)
	defer o.Close()
	var got []int64
	for o.Next() {
		got = append(got, o.Offset())
	}
	if fmt.Sprint(got) != "[20]" {
		t.Errorf("from 12 comes %v", got)
	}
	if _, err := p.Locate(16); !errors.Is(err, ErrNoRecord) {
		t.Errorf("offset 16: %v", err)
	}
	if latest, err := p.Latest(); err != nil || latest.Offset != 20 {
		t.Errorf("latest %d, %v", latest.Offset, err)
	}
	if from, err := p.NewestOffsets(2); err != nil || from != 11 {
		t.Errorf("the newest 2 from %d, %v", from, err)
	}
}

// Case 4: a log whose offsets span more than 31 bits is read by scanning, and
// ours rolls before.
func TestOffsetSpan(t *testing.T) {
	const far = 1 << 31
	log := append(builtBatch(t, 0, 5, -1, "near"), builtBatch(t, far, 6, -1, "far")...)
	dir := writeBroker(t, map[int64][]byte{0: log})
	writeFile(t, filepath.Join(dir, "p-0", segmentFile(0, suffixOffset)), []byte{0x80, 0, 0, 0, 0, 0, 0, 73})
	s := openStore(t, dir, Options{})
	p := partition(t, s, "p-0")
	if got := value(t, p, far); got != "far" {
		t.Errorf("%q", got)
	}
	closeStore(t, s)
	writeFile(t, filepath.Join(dir, "p-0", segmentFile(0, suffixLog)), builtBatch(t, 0, 5, far-3, "near"))
	writeFile(t, filepath.Join(dir, markerFile), []byte(`{"version":1}`))
	s = openStore(t, dir, Options{})
	p = partition(t, s, "p-0")
	produce(t, p, "a", "b", "c")
	if segs := p.segments(); len(segs) != 2 || segs[1].base != far-2 {
		t.Errorf("%d segments, the last at %d", len(segs), segs[len(segs)-1].base)
	}
	if got := value(t, p, far); got != "c" {
		t.Errorf("%q", got)
	}
}

// Case 11: the leader epoch checkpoint is a hint.
func TestLeaderEpochCheckpoint(t *testing.T) {
	for _, content := range []string{"", "0\n5\n0 0\n", "0\n2\n5 100\n4 50\n", "9\n1\n0 0\n", "0\r\n1\r\n0 0\r\n", "0\n1\n0 99\n"} {
		t.Run(fmt.Sprintf("%q", content), func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir, Options{})
			produce(t, newTopic(t, s, "t", nil), "a")
			closeStore(t, s)
			writeFile(t, filepath.Join(dir, "t-0", epochFile), []byte(content))
			s = openStore(t, dir, Options{})
			produce(t, partition(t, s, "t-0"), "b")
			closeStore(t, s)
			got, err := os.ReadFile(filepath.Join(dir, "t-0", epochFile))
			if err != nil || string(got) != "0\n1\n0 0\n" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// Case 12: what is no partition is skipped with one notice each.
func TestForeignEntries(t *testing.T) {
	dir := writeBroker(t, map[int64][]byte{0: builtBatch(t, 0, 5, -1, "a")})
	skipped := []string{
		"lost+found", "a-1-x", "-1", "t-00", "x." + strings.Repeat("0a", 16) + "-delete",
		"y-0." + strings.Repeat("0a", 16) + "-delete", "y-0." + strings.Repeat("0a", 16) + "-future", "y-0." + strings.Repeat("0a", 16) + "-stray",
	}
	for _, name := range append(skipped, "a-b-10", "a-1-0", "t--1") {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("p-0", filepath.Join(dir, "link-0")); err != nil {
		t.Fatal(err)
	}
	var log logBuffer
	s := openStore(t, dir, Options{Log: log.logger()})
	var got []string
	for range 2 {
		got = nil
		for _, p := range s.Partitions() {
			got = append(got, p.Name())
		}
	}
	if fmt.Sprint(got) != "[a-1-0 a-b-10 p-0 t--1]" {
		t.Errorf("partitions %v", got)
	}
	for _, name := range append(skipped, "link-0") {
		if n := strings.Count(log.String(), "name="+name+"\n"); n != 1 {
			t.Errorf("%s told of %d times", name, n)
		}
	}
}

// After an unclean stop the indexes are made anew, and are those that appends
// made.
func TestRecoveredIndexes(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	p := newTopic(t, s, "t", map[string]string{"segment.bytes": "10000", "index.interval.bytes": "100"})
	for i := range 400 {
		produce(t, p, fmt.Sprintf("line %d", i))
	}
	closeStore(t, s)
	read := func() map[string]string {
		files := map[string]string{}
		names, _ := filepath.Glob(filepath.Join(dir, "t-0", "*index"))
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(name)] = string(b)
		}
		return files
	}
	want := read()
	if len(want) < 4 {
		t.Fatalf("%d index files", len(want))
	}
	for name := range want {
		writeFile(t, filepath.Join(dir, "t-0", name), []byte("rotten"))
	}
	for _, name := range []string{cleanShutdownFile, recoveryPointFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s = openStore(t, dir, Options{})
	if got := partition(t, s, "t-0").EndOffset(); got != 400 {
		t.Fatalf("end offset %d", got)
	}
	closeStore(t, s)
	if cuts, _ := filepath.Glob(filepath.Join(dir, "t-0", "*.cut-*")); len(cuts) > 0 {
		t.Errorf("cut off: %v", cuts)
	}
	for name, b := range read() {
		if b != want[name] {
			t.Errorf("%s differs: %d bytes, want %d", name, len(b), len(want[name]))
		}
	}
}

// Case 1: entries of an index are the prefix that the log confirms, and a file
// that is not whole is no reason for a wrong answer.
func TestRottenIndexes(t *testing.T) {
	var log []byte
	b := index.NewBuilder(0, 100)
	for i := range int64(200) {
		raw := builtBatch(t, i*10, 1000+i, 9, fmt.Sprint("value ", i))
		b.Add(i*10+9, 1000+i, int64(len(log)), len(raw))
		log = append(log, raw...)
	}
	b.Close()
	zeros := make([]byte, 4096)
	for name, tc := range map[string]struct {
		offsets, times []byte
		rebuilt        bool
	}{
		"missing":      {nil, nil, true},
		"right":        {b.Offsets(), b.Times(), false},
		"preallocated": {append(append([]byte{}, b.Offsets()...), zeros...), append(append([]byte{}, b.Times()...), zeros...), false},
		"zeros":        {zeros, zeros, true},
		"torn":         {b.Offsets()[:21], b.Times()[:31], true},
		"a byte short": {b.Offsets(), b.Times()[:len(b.Times())-1], true},
		"another log":  {index.OffsetEntry{RelativeOffset: 19, Position: 10}.Append(nil), index.TimeEntry{Timestamp: 5000, RelativeOffset: 19}.Append(nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeBroker(t, map[int64][]byte{0: log, 2000: builtBatch(t, 2000, 2000, -1, "last")})
			if tc.offsets != nil {
				writeFile(t, filepath.Join(dir, "p-0", segmentFile(0, suffixOffset)), tc.offsets)
				writeFile(t, filepath.Join(dir, "p-0", segmentFile(0, suffixTime)), tc.times)
			}
			var told logBuffer
			s := openStore(t, dir, Options{Log: told.logger()})
			p := partition(t, s, "p-0")
			for i := range int64(200) {
				if got := value(t, p, i*10); got != fmt.Sprint("value ", i) {
					t.Fatalf("offset %d is %q", i*10, got)
				}
				if loc, err := p.OffsetForTime(1000 + i); err != nil || loc.Offset != i*10 {
					t.Fatalf("time %d is %d, %v", 1000+i, loc.Offset, err)
				}
			}
			if loc, err := p.OffsetForTime(1500); err != nil || loc.Offset != 2000 {
				t.Errorf("time 1500 is %d, %v", loc.Offset, err)
			}
			if got := strings.Contains(told.String(), "index made again"); got != tc.rebuilt {
				t.Errorf("rebuilt: %v, want %v", got, tc.rebuilt)
			}
		})
	}
}

// Below the recovery point a damaged batch is a failing disk's: it is EIO for
// its offsets, and drops nothing that follows, whatever part of it is damaged.
func TestDamageBelowTheRecoveryPoint(t *testing.T) {
	const length, magic, lastDelta, body = 10, 16, 26, 65
	for _, at := range []int{length, magic, lastDelta, body} {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprintf("byte=%d,clean=%v", at, clean), func(t *testing.T) { damageBelow(t, at, clean) })
		}
	}
}

func damageBelow(t *testing.T, at int, clean bool) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	p := newTopic(t, s, "t", nil)
	for i := range 100 {
		produce(t, p, fmt.Sprint("record ", i))
	}
	closeStore(t, s)
	log := filepath.Join(dir, "t-0", segmentFile(0, suffixLog))
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	whole := takeSample(t, log, 100, len(b))
	b[whole.starts[50]+at] ^= 1
	writeFile(t, log, b)
	if !clean {
		if err := os.Remove(filepath.Join(dir, cleanShutdownFile)); err != nil {
			t.Fatal(err)
		}
	}
	s = openStore(t, dir, Options{})
	p = partition(t, s, "t-0")
	for i := range int64(100) {
		loc, err := p.Locate(i)
		if i == 50 && !isDamage(err) || i != 50 && (err != nil || loc.Offset != i) {
			t.Errorf("offset %d: %v", i, err)
		}
	}
	if p.EndOffset() != 100 {
		t.Errorf("the end is %d", p.EndOffset())
	}
	if info, err := os.Stat(log); err != nil || info.Size() != int64(len(b)) {
		t.Errorf("the log has changed: %v, %v", info, err)
	}
	produce(t, p, "next")
	if got := value(t, p, 100); got != "next" {
		t.Errorf("offset 100 is %q", got)
	}
}

// Checkpoints say nothing of a topic that was deleted.
func TestCheckpointsForgetDeletedTopics(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	produce(t, newTopic(t, s, "t", nil), "a", "b", "c")
	closeStore(t, s)
	writeFile(t, filepath.Join(dir, logStartFile), []byte("0\n1\nt 0 2\n"))
	s = openStore(t, dir, Options{})
	if got := partition(t, s, "t-0").LogStartOffset(); got != 2 {
		t.Fatalf("log start %d", got)
	}
	if err := s.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	produce(t, newTopic(t, s, "t", nil), "x", "y", "z")
	closeStore(t, s)
	if err := os.Remove(filepath.Join(dir, cleanShutdownFile)); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir, Options{})
	if got := text(t, partition(t, s, "t-0"), FormatValues); got != "x\ny\nz\n" {
		t.Errorf("%q", got)
	}
}
