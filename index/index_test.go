package index_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klogfs/batch"
	"klogfs/index"
	"klogfs/internal/fixture"
)

// interval is index.interval.bytes of a fixture's topic.
func interval(partition string) int {
	for _, p := range []string{"times", "append-time", "txn", "compacted", "trimmed", "epochs"} {
		if strings.HasPrefix(partition, p) {
			return 512
		}
	}
	if strings.HasPrefix(partition, "codec-") {
		return 1024
	}
	return 4096
}

// TestRebuiltIndexesAreTheBrokers makes the indexes of every segment of format
// 2 from its log (case 2): the broker's, byte for byte. The broker of epochs-0
// was restarted in it, and counted its bytes from zero each time; that is the
// one that differs.
func TestRebuiltIndexesAreTheBrokers(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(fixture.Unpack(t, "logs"), "*", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	same, differ := 0, []string{}
	for _, log := range logs {
		partition := filepath.Base(filepath.Dir(log))
		if strings.HasPrefix(partition, "legacy-") || partition == "__cluster_metadata-0" {
			continue // older formats; an index that its broker left open
		}
		offsets, times := rebuild(t, log, interval(partition))
		stem := strings.TrimSuffix(log, ".log")
		wantOffsets, err1 := os.ReadFile(stem + ".index")
		wantTimes, err2 := os.ReadFile(stem + ".timeindex")
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(offsets, wantOffsets) && bytes.Equal(times, wantTimes) {
			same++
		} else {
			differ = append(differ, partition)
		}
	}
	if same < 41 || fmt.Sprint(differ) != "[epochs-0]" {
		t.Errorf("%d are the broker's, %v differ", same, differ)
	}
}

func rebuild(t *testing.T, log string, interval int) (index.Offsets, index.Times) {
	t.Helper()
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var base int64
	if _, err := fmt.Sscanf(filepath.Base(log), "%d.log", &base); err != nil {
		t.Fatal(err)
	}
	b := index.NewBuilder(base, interval)
	s := batch.NewScanner(bytes.NewReader(content), 0, int64(len(content)))
	for s.Next() {
		b.Add(s.Header().LastOffset(), s.Header().MaxTimestamp, s.Pos(), s.Header().Size())
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	b.Close()
	return b.Offsets(), b.Times()
}

// TestPreallocatedIndexes reads the entries of indexes that a broker left open:
// files of 10 MiB with zeros behind the entries.
func TestPreallocatedIndexes(t *testing.T) {
	for _, stem := range []string{
		filepath.Join(fixture.Unpack(t, "killed"), "codec-none-0", "00000000000000000741"),
		filepath.Join(fixture.Unpack(t, "logs"), "__cluster_metadata-0", "00000000000000000000"),
	} {
		offsetFile, err1 := os.ReadFile(stem + ".index")
		timeFile, err2 := os.ReadFile(stem + ".timeindex")
		if err := errors.Join(err1, err2); err != nil || len(offsetFile) != 10485760 || len(timeFile) != 10485756 {
			t.Fatalf("%s: %d and %d bytes, %v", stem, len(offsetFile), len(timeFile), err)
		}
		offsets, times := rebuild(t, stem+".log", interval(filepath.Base(filepath.Dir(stem))))
		gotOffsets, gotTimes := index.ParseOffsets(offsetFile), index.ParseTimes(timeFile)
		// The controller appends several batches at once, and its entries
		// lie a little otherwise: as many as the log makes, they are.
		if gotOffsets.Len() > offsets.Len() || gotTimes.Len() > times.Len() ||
			strings.Contains(stem, "codec-none") && (!bytes.HasPrefix(offsets, gotOffsets) || !bytes.HasPrefix(times, gotTimes)) {
			t.Errorf("%s has %d and %d entries, the log %d and %d", stem, gotOffsets.Len(), gotTimes.Len(), offsets.Len(), times.Len())
		}
		if zeros := bytes.TrimLeft(offsetFile[len(gotOffsets):], "\x00"); len(zeros) > 0 {
			t.Errorf("%s: not all entries were read", stem)
		}
	}
}

func offsets(entries ...index.OffsetEntry) []byte {
	var b []byte
	for _, e := range entries {
		b = e.Append(b)
	}
	return b
}

func times(entries ...index.TimeEntry) []byte {
	var b []byte
	for _, e := range entries {
		b = e.Append(b)
	}
	return b
}

// Case 1: entries are the prefix that rises; zeros and torn entries are none.
func TestParse(t *testing.T) {
	three := offsets(index.OffsetEntry{RelativeOffset: 9, Position: 100}, index.OffsetEntry{RelativeOffset: 19, Position: 200}, index.OffsetEntry{RelativeOffset: 29, Position: 300})
	for _, tc := range []struct {
		name string
		file []byte
		want int
	}{
		{"empty", nil, 0},
		{"three", three, 3},
		{"zeros behind", append(append([]byte{}, three...), make([]byte, 10485760-24)...), 3},
		{"all zeros", make([]byte, 10485760), 0},
		{"torn", three[:23], 2},
		{"less than one", three[:7], 0},
		{"an offset that falls", offsets(index.OffsetEntry{RelativeOffset: 9, Position: 100}, index.OffsetEntry{RelativeOffset: 8, Position: 200}), 1},
		{"a position that stays", offsets(index.OffsetEntry{RelativeOffset: 9, Position: 100}, index.OffsetEntry{RelativeOffset: 19, Position: 100}), 1},
		{"a negative offset", offsets(index.OffsetEntry{RelativeOffset: -9, Position: 100}), 0},
	} {
		if got := index.ParseOffsets(tc.file).Len(); got != tc.want {
			t.Errorf("offsets, %s: %d entries, want %d", tc.name, got, tc.want)
		}
	}
	two := times(index.TimeEntry{Timestamp: 1000, RelativeOffset: 9}, index.TimeEntry{Timestamp: 1001, RelativeOffset: 9})
	for _, tc := range []struct {
		name string
		file []byte
		want int
	}{
		{"empty", nil, 0},
		{"two", two, 2},
		{"zeros behind", append(append([]byte{}, two...), make([]byte, 1200)...), 2},
		{"all zeros", make([]byte, 10485756), 0},
		{"1970 alone", times(index.TimeEntry{}), 1},
		{"torn", two[:23], 1},
		{"a time that stays", times(index.TimeEntry{Timestamp: 5, RelativeOffset: 1}, index.TimeEntry{Timestamp: 5, RelativeOffset: 2}), 1},
		{"an offset that falls", times(index.TimeEntry{Timestamp: 5, RelativeOffset: 2}, index.TimeEntry{Timestamp: 6, RelativeOffset: 1}), 1},
		{"no timestamp", times(index.TimeEntry{Timestamp: -1, RelativeOffset: 2}), 0},
	} {
		if got := index.ParseTimes(tc.file).Len(); got != tc.want {
			t.Errorf("times, %s: %d entries, want %d", tc.name, got, tc.want)
		}
	}
}

func TestSearch(t *testing.T) {
	o := index.ParseOffsets(offsets(index.OffsetEntry{RelativeOffset: 9, Position: 100}, index.OffsetEntry{RelativeOffset: 19, Position: 200}))
	for target, want := range map[int64]int{-1: -1, 8: -1, 9: 0, 18: 0, 19: 1, 1 << 40: 1} {
		if got := o.Search(target); got != want {
			t.Errorf("offset %d: %d, want %d", target, got, want)
		}
	}
	for target, want := range map[int64]int{99: -1, 100: 0, 199: 0, 200: 1} {
		if got := o.SearchPosition(target); got != want {
			t.Errorf("position %d: %d, want %d", target, got, want)
		}
	}
	ts := index.ParseTimes(times(index.TimeEntry{Timestamp: 10, RelativeOffset: 9}, index.TimeEntry{Timestamp: 20, RelativeOffset: 19}))
	for target, want := range map[int64]int{10: -1, 11: 0, 20: 0, 21: 1} {
		if got := ts.Search(target); got != want {
			t.Errorf("time %d: %d, want %d", target, got, want)
		}
	}
}

func TestBuilderLimits(t *testing.T) {
	b := index.NewBuilder(0, 0)
	for i := range int64(10) {
		b.Add(i, i, i*100, 100)
	}
	if b.Offsets().Len() != 9 || !b.Full(9*index.OffsetEntrySize) || b.Full(20*index.TimeEntrySize) {
		t.Errorf("%d entries, full %v", b.Offsets().Len(), b.Full(9*index.OffsetEntrySize))
	}
	// What 32 bits can't say has no entry (case 4).
	b = index.NewBuilder(0, 0)
	b.Add(1, 1, 0, 10)
	b.Add(1<<31, 2, 10, 10)
	b.Add(1<<31+1, 3, 1<<31, 10)
	b.Close()
	if b.Offsets().Len() != 0 || b.Times().Len() > 1 {
		t.Errorf("%d and %d entries", b.Offsets().Len(), b.Times().Len())
	}
}

func TestTextRoundTrip(t *testing.T) {
	var text index.Text
	text.Interval = 1000
	for range 100 {
		text.Add(150, 100)
	}
	text.Add(61, 0)
	file := text.Append(nil, 15061, 99)
	got, err := index.ParseText(file, 1000, 15061, 99)
	if err != nil || got.Size() != 10000 || got.Covered() != 15061 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, at := range []int64{0, 999, 1000, 5555, 9999} {
		e := got.Search(at)
		if e.Text > at || at-e.Text > 1000 || e.Position*100 != e.Text*150 || got.SearchPosition(e.Position) != e {
			t.Errorf("text %d is at %+v", at, e)
		}
	}
	for i := range file {
		broken := append([]byte{}, file...)
		broken[i] ^= 1
		if _, err := index.ParseText(broken, 1000, 15061, 99); !errors.Is(err, index.ErrText) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := index.ParseText(file[:i], 1000, 15061, 99); !errors.Is(err, index.ErrText) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	for _, other := range [][2]int64{{15062, 99}, {15061, 98}} {
		if _, err := index.ParseText(file, 1000, other[0], other[1]); !errors.Is(err, index.ErrText) {
			t.Errorf("another log: %v", err)
		}
	}
}
