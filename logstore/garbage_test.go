package logstore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"klogfs/batch"
)

// garbageDir is a log directory in which everything is wrong that can be.
func garbageDir(t testing.TB, random *rand.Rand) string {
	t.Helper()
	dir := t.TempDir()
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	files := map[string][]byte{
		"meta.properties": noise(100), recoveryPointFile: noise(3000), logStartFile: []byte("0\n1\np 0 -7\n"), "cleaner-offset-checkpoint": nil,
		"noise-0/00000000000000000000.log":       noise(5000),
		"noise-0/00000000000000000000.index":     noise(5000),
		"noise-0/00000000000000000000.timeindex": noise(5000),
		"noise-0/00000000000000000000.txnindex":  noise(5000),
		"noise-0/00000000000000000000.snapshot":  noise(5000),
		"noise-0/leader-epoch-checkpoint":        noise(500),
		"noise-0/partition.metadata":             noise(500),
		"noise-0/00000000000000000100.log":       noise(5000),
		"noise-0/99999999999999999999.log":       noise(100),
		"noise-0/00000000000000000050.log.swap":  noise(1000),
		"empty-0/00000000000000000000.log":       nil,
		"empty-0/00000000000000000009.log":       nil,
		"zeros-0/00000000000000000000.log":       make([]byte, 100_000),
		"zeros-0/00000000000000000000.index":     make([]byte, 10_000),
		"good-0/00000000000000000000.log":        builtBatch(t, 0, 1000, -1, "a", "b"),
		"nolog-0/00000000000000000000.index":     noise(8),
		"a file":                                 noise(10),
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), content)
	}
	for _, name := range []string{
		"lost+found", "a-b-10", "x.0123456789abcdef0123456789abcdef-delete", "y.0123456789abcdef0123456789abcdef-stray",
		"z.0123456789abcdef0123456789abcdef-future", "t--1", "t-00", "good-1", "dirs-0/00000000000000000000.log",
		"dirs-0/00000000000000000000.index", "dirs-0/leader-epoch-checkpoint", "fifo-0", "link-0",
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, "fifo-0", segmentFile(0, suffixLog)), builtBatch(t, 0, 1000, -1, "f"))
	for _, name := range []string{"fifo-0/00000000000000000000.index", "fifo-0/00000000000000000007.log", "pipe-0"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link-0/00000000000000000000.log", "link-0/leader-epoch-checkpoint", "linked-0"} {
		if err := os.Symlink("/etc/passwd", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A directory of garbage opens; what is right in it reads right, nothing hangs,
// and nothing is changed.
func TestGarbage(t *testing.T) {
	for seed := range uint64(20) {
		dir := garbageDir(t, rand.New(rand.NewPCG(seed, 1)))
		var log logBuffer
		s := openStore(t, dir, Options{ReadOnly: true, Log: log.logger()})
		done := make(chan string)
		go func() { done <- readEverything(s) }()
		select {
		case problem := <-done:
			if problem != "" {
				t.Fatal(problem)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("a read hangs")
		}
		if got := text(t, partition(t, s, "good-0"), FormatValues); got != "a\nb\n" {
			t.Errorf("the good partition has %q", got)
		}
		if got := text(t, partition(t, s, "fifo-0"), FormatValues); got != "f\n" {
			t.Errorf("the partition with a pipe for an index has %q", got)
		}
		for _, name := range []string{"linked-0", "pipe-0", "t-00"} {
			if !strings.Contains(log.String(), name) {
				t.Errorf("nothing is said of %s", name)
			}
		}
		closeStore(t, s)
	}
}

// readEverything reads all that there is in every way; an error is an answer
// too, as long as it is one of a kind.
func readEverything(s *Store) string {
	for _, p := range s.Partitions() {
		for f := range formatCount {
			r := p.View(f).Open()
			for pos := int64(0); ; {
				b, err := r.Read(pos, 4096)
				if err != nil && !isDamage(err) {
					return fmt.Sprintf("%s: %v", p.Name(), err)
				}
				if err != nil || len(b.B) == 0 {
					break
				}
				pos += int64(len(b.B))
				b.Release()
			}
			r.Close()
		}
		for offset := range int64(200) {
			if l, err := p.Locate(offset); err == nil {
				if _, err := l.AppendJSON(nil); err != nil {
					return fmt.Sprintf("%s: offset %d is found and can't be read: %v", p.Name(), offset, err)
				}
			}
		}
		if p.EndOffset() < p.LogStartOffset() {
			return fmt.Sprintf("%s ends at %d and starts at %d", p.Name(), p.EndOffset(), p.LogStartOffset())
		}
		_, _ = p.OffsetForTime(0) // whatever the answer, it comes
		_, _ = p.RawFiles()
		p.Status()
	}
	return ""
}

// FuzzPartition opens a partition of which every file is any bytes, and reads
// all of it.
func FuzzPartition(f *testing.F) {
	log := builtBatch(f, 0, 1000, -1, "a", "b", "c")
	f.Add(log, []byte{0, 0, 0, 2, 0, 0, 0, 9}, make([]byte, 12), []byte("0\n1\n0 0\n"), []byte("0\n1\np 0 1\n"), true)
	f.Add(append(log, builtBatch(f, 3, 1000, 9)...), []byte{}, []byte{}, []byte("0\n2\n5 100\n4 50\n"), []byte(""), false)
	f.Fuzz(func(t *testing.T, log, offsets, times, epochs, starts []byte, committed bool) {
		dir := writeBroker(t, map[int64][]byte{0: log, 10: log})
		writeFile(t, filepath.Join(dir, "p-0", segmentFile(0, suffixOffset)), offsets)
		writeFile(t, filepath.Join(dir, "p-0", segmentFile(0, suffixTime)), times)
		writeFile(t, filepath.Join(dir, "p-0", segmentFile(10, suffixOffset)), offsets)
		writeFile(t, filepath.Join(dir, "p-0", segmentFile(10, suffixTime)), times)
		writeFile(t, filepath.Join(dir, "p-0", epochFile), epochs)
		writeFile(t, filepath.Join(dir, logStartFile), starts)
		opts := Options{ReadOnly: true, DecodeBudget: 1 << 20}
		if committed {
			opts.Isolation = ReadCommitted
		}
		s := openStore(t, dir, opts)
		if problem := readEverything(s); problem != "" {
			t.Error(problem)
		}
	})
}

// Many readers of a bomb share the budget, and get an error that says where.
func TestBombs(t *testing.T) {
	var b batch.Builder
	b.Begin(nil, batch.BuilderOptions{Codec: batch.CodecGzip})
	b.AppendValue(1000, make([]byte, 40<<20))
	bomb, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	log := append(bomb, builtBatch(t, 1, 1000, -1, "after")...)
	s := openStore(t, writeBroker(t, map[int64][]byte{0: log}), Options{ReadOnly: true, DecodeBudget: 16 << 20})
	p := partition(t, s, "p-0")
	done := make(chan error, 20)
	for range cap(done) {
		go func() {
			_, err := p.Locate(0)
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; !isDamage(err) || !strings.Contains(err.Error(), batch.ErrTooLarge.Error()) {
			t.Errorf("a bomb is %v", err)
		}
	}
	if got := value(t, p, 1); got != "after" {
		t.Errorf("the record behind it is %q", got)
	}
}
