package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"klogfs/batch"
)

// broker plays a broker that writes one partition, p-0.
type broker struct {
	t   *testing.T
	dir string
}

func newBroker(t *testing.T, log []byte) *broker {
	t.Helper()
	return &broker{t, writeBroker(t, map[int64][]byte{0: log})}
}

func (b *broker) path(base int64) string {
	return filepath.Join(b.dir, "p-0", segmentFile(base, suffixLog))
}

func (b *broker) write(base int64, content []byte) { writeFile(b.t, b.path(base), content) }

func (b *broker) values(s *Store) string {
	b.t.Helper()
	return text(b.t, partition(b.t, s, "p-0"), FormatValues)
}

// records is a log of batches of one record each.
func records(t *testing.T, from, to int64, prefix string) []byte {
	t.Helper()
	var log []byte
	for i := from; i < to; i++ {
		log = append(log, builtBatch(t, i, 1000+i, -1, fmt.Sprint(prefix, i))...)
	}
	return log
}

func expected(from, to int64, prefix string) string {
	var s strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&s, "%s%d\n", prefix, i)
	}
	return s.String()
}

func TestFollowABroker(t *testing.T) {
	b := newBroker(t, records(t, 0, 10, "a"))
	s := openStore(t, b.dir, Options{})
	if got := b.values(s); got != expected(0, 10, "a") {
		t.Fatalf("%q", got)
	}
	// It appends; a batch that is half there is not there, nor in a log that
	// is preallocated.
	log, half := records(t, 0, 20, "a"), records(t, 20, 21, "a")
	for cut := range half {
		b.write(0, append(log[:len(log):len(log)], half[:cut]...))
		if got := b.values(s); got != expected(0, 20, "a") {
			t.Fatalf("half a batch of %d bytes: %q", cut, got)
		}
	}
	b.write(0, append(append(log[:len(log):len(log)], half[:len(half)-3]...), make([]byte, 5000)...))
	if got := b.values(s); got != expected(0, 20, "a") {
		t.Fatalf("half a batch before zeros: %q", got)
	}
	// It rolls and goes on.
	b.write(0, append(log[:len(log):len(log)], half...))
	b.write(21, records(t, 21, 30, "a"))
	eventually(t, func() bool { return b.values(s) == expected(0, 30, "a") })
	// It cuts its log and goes on otherwise, past where it was.
	if err := os.Remove(b.path(21)); err != nil {
		t.Fatal(err)
	}
	b.write(0, append(records(t, 0, 5, "a"), records(t, 5, 60, "b")...))
	eventually(t, func() bool { return b.values(s) == expected(0, 5, "a")+expected(5, 60, "b") })
	b.write(0, append(records(t, 0, 5, "a"), records(t, 5, 60, "c")...))
	eventually(t, func() bool { return b.values(s) == expected(0, 5, "a")+expected(5, 60, "c") })
}

// A reader goes on behind a segment that the broker deletes meanwhile.
func TestReadOnThroughADeletion(t *testing.T) {
	b := newBroker(t, records(t, 0, 60, "b"))
	b.write(60, records(t, 60, 70, "b"))
	s := openStore(t, b.dir, Options{MaxOpenFiles: 1})
	r := partition(t, s, "p-0").View(FormatValues).Open()
	defer r.Close()
	first, err := r.Read(0, 10)
	if err != nil || string(first.B) != expected(0, 60, "b")[:10] {
		t.Fatalf("%q, %v", first.B, err)
	}
	if err := os.Remove(b.path(0)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return partition(t, s, "p-0").LogStartOffset() == 60 })
	got := ""
	for pos := int64(10); ; {
		next, err := r.Read(pos, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(next.B) == 0 {
			break
		}
		pos += int64(len(next.B))
		got += string(next.B)
	}
	if !strings.HasSuffix(got, expected(60, 70, "b")) || strings.Count(got, "b65\n") != 1 {
		t.Errorf("%q", got)
	}
}

// A batch that is damaged, with others behind it, is no half-written tail.
func TestDamageInABrokersLog(t *testing.T) {
	log := records(t, 0, 100, "a")
	log[len(records(t, 0, 50, "a"))+70] ^= 1
	b := newBroker(t, log)
	s := openStore(t, b.dir, Options{})
	p := partition(t, s, "p-0")
	for i := range int64(100) {
		_, err := p.Locate(i)
		var corrupt *batch.CorruptionError
		if damaged := errors.As(err, &corrupt); damaged != (i == 50) || err != nil && !damaged {
			t.Errorf("offset %d: %v", i, err)
		}
	}
	if p.EndOffset() != 100 || p.Status().CorruptBatches == 0 {
		t.Errorf("end %d, %+v", p.EndOffset(), p.Status())
	}
	b.write(0, append(log, records(t, 100, 110, "a")...))
	if got := partition(t, s, "p-0").EndOffset(); got != 110 {
		t.Errorf("end %d", got)
	}
}

// A topic that comes, goes and comes again.
func TestFollowTopics(t *testing.T) {
	b := newBroker(t, records(t, 0, 1, "a"))
	s := openStore(t, b.dir, Options{})
	names := func() string {
		var all []string
		for _, p := range s.Partitions() {
			all = append(all, p.Name())
		}
		return fmt.Sprint(all)
	}
	for range 3 {
		if err := os.Mkdir(filepath.Join(b.dir, "q-0"), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(b.dir, "q-0", segmentFile(0, suffixLog)), records(t, 0, 2, "q"))
		eventually(t, func() bool { return names() == "[p-0 q-0]" })
		eventually(t, func() bool { return text(t, partition(t, s, "q-0"), FormatValues) == "q0\nq1\n" })
		if err := os.RemoveAll(filepath.Join(b.dir, "q-0")); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return names() == "[p-0]" })
	}
}

// eventually waits for what has to show within a second.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within a second")
		}
	}
}

// A reader goes on in the segment that the broker's cleaner put in the place of
// those that were being read, behind what was delivered; and who comes
// meanwhile reads all of it.
func TestReadOnThroughACleaning(t *testing.T) {
	const second, tail, end = 20_000, 25_000, 25_010
	t.Run("but the last segment", func(t *testing.T) { readOnThroughACleaning(t, second, tail, tail, end) })
	t.Run("all that was known", func(t *testing.T) { readOnThroughACleaning(t, second, tail-10, tail, end) })
}

// readOnThroughACleaning has three segments, which end at second, last and ten
// records later. The cleaner has gone over what is below tail before the reader
// goes on.
func readOnThroughACleaning(t *testing.T, second, last, tail, end int64) {
	b := newBroker(t, records(t, 0, second, "b"))
	b.write(second, records(t, second, last, "b"))
	b.write(last, records(t, last, last+10, "b"))
	s := openStore(t, b.dir, Options{})
	r := partition(t, s, "p-0").View(FormatValues).Open()
	defer r.Close()
	first, err := r.Read(0, 10)
	if err != nil {
		t.Fatal(err)
	}
	got := string(first.B)
	// Every third record is left of both segments.
	var cleaned []byte
	var left strings.Builder
	for i := int64(0); i < tail; i += 3 {
		cleaned = append(cleaned, records(t, i, i+1, "b")...)
		left.WriteString(expected(i, i+1, "b"))
	}
	left.WriteString(expected(tail, end, "b"))
	writeFile(t, b.path(0)+suffixSwap, cleaned)
	if last < tail {
		b.write(tail, records(t, tail, end, "b"))
		if err := os.Remove(b.path(last)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Remove(b.path(second)), os.Rename(b.path(0)+suffixSwap, b.path(0))); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return b.values(s) == left.String() })
	for pos := int64(len(got)); ; pos = int64(len(got)) {
		next, err := r.Read(pos, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(next.B) == 0 {
			break
		}
		got += string(next.B)
	}
	all, before := map[string]bool{}, -1
	for line := range strings.Lines(got) {
		var n int
		if _, err := fmt.Sscanf(line, "b%d\n", &n); err != nil || n <= before || line != expected(int64(n), int64(n+1), "b") {
			t.Fatalf("%q after record %d, %v", line, before, err)
		}
		all[line], before = true, n
	}
	for line := range strings.Lines(left.String()) {
		if !all[line] {
			t.Fatalf("%q is lost", line)
		}
	}
	if int64(len(all)) == end {
		t.Error("nothing was cleaned")
	}
}

// A raw file that the broker replaced, after it was opened and before the
// directory was looked at again, is described as what is read of it.
func TestRawFileThatWasReplaced(t *testing.T) {
	log := records(t, 0, 10, "a")
	b := newBroker(t, log)
	b.write(10, records(t, 10, 20, "a"))
	s := openStore(t, b.dir, Options{})
	p := partition(t, s, "p-0")
	b.values(s) // keeps the file open
	writeFile(t, b.path(0)+suffixSwap, records(t, 0, 1, "a"))
	if err := os.Rename(b.path(0)+suffixSwap, b.path(0)); err != nil {
		t.Fatal(err)
	}
	name := segmentFile(0, suffixLog)
	f, err := p.RawFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.OpenRaw(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, 2*len(log))
	n, err := r.ReadAt(got, 0)
	if err != nil || r.Size() != int64(len(log)) || string(got[:n]) != string(log) {
		t.Errorf("size %d, read %d bytes, %v; want %d", r.Size(), n, err, len(log))
	}
	if r.Inode() == f.Inode {
		t.Error("it is said to be the file that took its place")
	}
}
