package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAppendAgainstModel(t *testing.T) {
	root, runs := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(root, fmt.Sprint(runs))
		runs++
		config := map[string]string{
			"segment.bytes":        fmt.Sprint(rapid.IntRange(2000, 20000).Draw(rt, "segment.bytes")),
			"index.interval.bytes": fmt.Sprint(rapid.IntRange(0, 5000).Draw(rt, "index.interval.bytes")),
			"compression.type":     rapid.SampledFrom([]string{"producer", "gzip", "snappy", "lz4", "zstd"}).Draw(rt, "compression.type"),
		}
		s, err := Open([]string{dir}, Options{MaxOpenFiles: 3})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = s.Close() }() // closed below; a second time does nothing
		if err := s.CreateTopic("t", 1, config); err != nil {
			rt.Fatal(err)
		}
		var model []string
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			if rapid.IntRange(0, 5).Draw(rt, "reopen") == 0 {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				if s, err = Open([]string{dir}, Options{MaxOpenFiles: 3}); err != nil {
					rt.Fatal(err)
				}
			}
			p := partition(t, s, "t-0")
			lines := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("abcé\x00")), 0, 100, 100), 1, 40).Draw(rt, "lines")
			produce(t, p, lines...)
			model = append(model, lines...)
			checkModel(rt, t, p, model)
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func checkModel(rt *rapid.T, t *testing.T, p *Partition, model []string) {
	if p.EndOffset() != int64(len(model)) {
		rt.Fatalf("end offset %d, want %d", p.EndOffset(), len(model))
	}
	want := strings.Join(model, "\n") + "\n"
	if got := text(t, p, FormatValues); got != want {
		rt.Fatalf("values differ: %d bytes, want %d", len(got), len(want))
	}
	if size, err := p.View(FormatValues).Size(); err != nil || size != int64(len(want)) {
		rt.Fatalf("size %d (%v), want %d", size, err, len(want))
	}
	at := rapid.IntRange(0, len(want)).Draw(rt, "at")
	r := p.View(FormatValues).Open()
	defer r.Close()
	b, err := r.Read(int64(at), 50)
	if err != nil || string(b.B) != want[at:min(at+50, len(want))] {
		rt.Fatalf("read at %d: %q, %v", at, b.B, err)
	}
	b.Release()
	offset := rapid.IntRange(0, len(model)-1).Draw(rt, "offset")
	if got := value(t, p, int64(offset)); got != model[offset] {
		rt.Fatalf("offset %d is %q, want %q", offset, got, model[offset])
	}
	var listed int64
	o := p.Offsets(int64(offset))
	for o.Next() {
		if o.Offset() != int64(offset)+listed {
			rt.Fatalf("listed %d after %d", o.Offset(), listed)
		}
		listed++
	}
	o.Close()
	if listed != int64(len(model)-offset) {
		rt.Fatalf("listed %d offsets", listed)
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	p := newTopic(t, s, "t", map[string]string{"segment.bytes": "20000"})
	const writers, each = 8, 300
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				produce(t, p, fmt.Sprintf("%d-%d", w, i))
			}
		})
	}
	stop := make(chan struct{})
	go func() { // a reader beside them sees whole lines only
		defer close(stop)
		for p.EndOffset() < writers*each {
			size, err := p.View(FormatValues).Size()
			if err != nil {
				t.Error(err)
				return
			}
			r := p.View(FormatValues).Open()
			b, err := r.Read(max(size-20, 0), 1<<20)
			if err != nil || len(b.B) > 0 && b.B[len(b.B)-1] != '\n' {
				t.Errorf("tail %q, %v", b.B, err)
			}
			r.Close()
		}
	}()
	wg.Wait()
	<-stop
	next := map[string]int{}
	lines := strings.Split(strings.TrimSuffix(text(t, p, FormatValues), "\n"), "\n")
	for _, line := range lines {
		w, i, _ := strings.Cut(line, "-")
		if i != fmt.Sprint(next[w]) {
			t.Fatalf("writer %s: %s after %d", w, i, next[w])
		}
		next[w]++
	}
	if len(lines) != writers*each {
		t.Fatalf("%d lines", len(lines))
	}
}

// Case 10: a full disk is the writer's error, uses no offset up, and the next
// write works.
func TestWriteErrorLeavesLogAsItWas(t *testing.T) {
	for _, op := range []string{"write", "create"} {
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
			t.Run(fmt.Sprintf("op=%s/errno=%v", op, errno), func(t *testing.T) {
				d := &faultDisk{}
				s := openStore(t, t.TempDir(), Options{Disk: d})
				p := newTopic(t, s, "t", map[string]string{"segment.bytes": "300"})
				produce(t, p, "one")
				before := text(t, p, FormatValues)
				d.set(func(o, name string) error {
					if o == op && (strings.HasSuffix(name, suffixLog) || op == "create") {
						return errno
					}
					return nil
				})
				w := p.NewLineWriter()
				line := strings.Repeat("x", 200) + "\n" // makes the log roll
				if n, err := w.Write([]byte(line)); !errors.Is(err, errno) || n != 0 {
					t.Fatalf("write: %d, %v", n, err)
				}
				if got := text(t, p, FormatValues); got != before || p.EndOffset() != 1 {
					t.Fatalf("after the error: %q, end %d", got, p.EndOffset())
				}
				d.set(func(string, string) error { return nil })
				if n, err := w.Write([]byte(line)); err != nil || n != len(line) {
					t.Fatalf("write again: %d, %v", n, err)
				}
				if value(t, p, 1)+"\n" != line {
					t.Fatal("the offset was used up")
				}
			})
		}
	}
}

// A request that a roll divides may be stored in part: then the writer hears
// how much, and the error comes with the rest.
func TestPartOfARequestIsCounted(t *testing.T) {
	d := &faultDisk{}
	s := openStore(t, t.TempDir(), Options{Disk: d})
	p := newTopic(t, s, "t", map[string]string{"segment.bytes": "20000"})
	request := strings.Repeat(strings.Repeat("y", 99)+"\n", 500)
	d.set(func(op, name string) error {
		if op == "create" && !strings.HasSuffix(name, "00000000000000000000.log") && strings.HasSuffix(name, suffixLog) {
			return syscall.ENOSPC
		}
		return nil
	})
	w := p.NewLineWriter()
	n, err := w.Write([]byte(request))
	if err != nil || n == 0 || n%100 != 0 || p.EndOffset() != int64(n/100) {
		t.Fatalf("wrote %d, end %d, %v", n, p.EndOffset(), err)
	}
	if n, err := w.Write([]byte(request[n:])); !errors.Is(err, syscall.ENOSPC) || n != 0 {
		t.Fatalf("the rest: %d, %v", n, err)
	}
	d.set(func(string, string) error { return nil })
	if m, err := w.Write([]byte(request[n:])); err != nil || n+m != len(request) {
		t.Fatalf("the rest again: %d, %v", m, err)
	}
	if got := text(t, p, FormatValues); got != request {
		t.Fatalf("%d bytes, want %d", len(got), len(request))
	}
}

// A line whose end failed is not stored by a close.
func TestTornLineIsNotFlushed(t *testing.T) {
	d := &faultDisk{}
	s := openStore(t, t.TempDir(), Options{Disk: d})
	p := newTopic(t, s, "t", nil)
	w := p.NewLineWriter()
	if _, err := w.Write([]byte("one\nhel")); err != nil {
		t.Fatal(err)
	}
	d.set(func(op, _ string) error {
		if op == "write" {
			return syscall.ENOSPC
		}
		return nil
	})
	if _, err := w.Write([]byte("lo\n")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	d.set(func(string, string) error { return nil })
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := text(t, p, FormatValues); got != "one\n" {
		t.Fatalf("stored %q", got)
	}
}

func TestFailedSyncTakesThePartitionOffline(t *testing.T) {
	d := &faultDisk{}
	dir := t.TempDir()
	s, err := Open([]string{dir}, Options{Disk: d})
	if err != nil {
		t.Fatal(err)
	}
	p, q := newTopic(t, s, "t", nil), newTopic(t, s, "q", nil)
	produce(t, p, "one")
	d.set(func(op, name string) error {
		if op == "sync" && strings.Contains(name, "/t-0/") {
			return syscall.EIO
		}
		return nil
	})
	if err := p.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	d.set(func(string, string) error { return nil })
	if _, err := p.NewLineWriter().Write([]byte("two\n")); !errors.Is(err, ErrOffline) {
		t.Fatalf("append after a failed sync: %v", err)
	}
	if p.Status().Offline == "" {
		t.Error("status does not say so")
	}
	produce(t, q, "other")
	if got := value(t, p, 0); got != "one" {
		t.Errorf("read %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, cleanShutdownFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stop was told to be clean: %v", err)
	}
	s = openStore(t, dir, Options{})
	produce(t, partition(t, s, "t-0"), "two")
	if got := text(t, partition(t, s, "t-0"), FormatValues); got != "one\ntwo\n" {
		t.Errorf("after reopening: %q", got)
	}
}

func TestSyncMovesTheRecoveryPoint(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	p := newTopic(t, s, "t", map[string]string{"flush.messages": "3"})
	produce(t, p, "a", "b")
	if got := p.recoveryPoint.Load(); got != 0 {
		t.Errorf("before flush.messages: %d", got)
	}
	produce(t, p, "c")
	if got := p.recoveryPoint.Load(); got != 3 {
		t.Errorf("after flush.messages: %d", got)
	}
	produce(t, p, "d")
	if err := p.Sync(); err != nil || p.recoveryPoint.Load() != 4 {
		t.Errorf("after Sync: %d, %v", p.recoveryPoint.Load(), err)
	}
}

func TestFlushMs(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{Config: ServerConfig{"log.flush.interval.ms": "1"}})
	p := newTopic(t, s, "t", nil)
	for i := range int64(3) {
		produce(t, p, "a")
		for deadline := time.Now().Add(10 * time.Second); p.recoveryPoint.Load() != i+1; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("record %d is not durable", i)
			}
		}
	}
}

func TestConfig(t *testing.T) {
	c := newConfig(ServerConfig{"log.retention.hours": "2", "log.roll.ms": "5", "log.roll.hours": "9", "message.max.bytes": "77"}.inMilliseconds(),
		map[string]string{"max.message.bytes": "99"})
	for key, want := range map[string]string{
		"retention.ms": "7200000", "segment.ms": "5", "max.message.bytes": "99", "segment.bytes": "1073741824",
		"index.interval.bytes": "4096", "segment.index.bytes": "10485760", "cleanup.policy": "delete", "nope": "",
	} {
		if got := c.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for key, value := range map[string]string{
		"segment.bytes": "x", "segment.bytess": "1", "cleanup.policy": "delete,compost", "min.cleanable.dirty.ratio": "1.1",
		"preallocate": "yes", "compression.type": "lzma", "retention.ms": "-2", "message.timestamp.type": "createtime",
	} {
		if err := ValidateTopicConfig(map[string]string{key: value}); !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
	for key, value := range map[string]string{"log.retention.hours": "x", "segment.bytes": "100", "num.partitions": "0"} {
		if err := ValidateServerConfig(ServerConfig{key: value}); !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
}

func TestLogAppendTime(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	p := newTopic(t, s, "t", map[string]string{"message.timestamp.type": "LogAppendTime"})
	produce(t, p, "a", "b")
	loc, err := p.Locate(1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := loc.ReadRecord()
	if err != nil || r.TimestampType.String() != "LogAppendTime" || r.Timestamp <= 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestAppendsToAClosedOrDeletedStore(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	p := newTopic(t, s, "t", nil)
	if err := s.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.NewLineWriter().Write([]byte("x\n")); !errors.Is(err, ErrDeleted) {
		t.Errorf("deleted: %v", err)
	}
	q := newTopic(t, s, "q", nil)
	closeStore(t, s)
	if _, err := q.NewLineWriter().Write([]byte("x\n")); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if matches, _ := filepath.Glob(filepath.Join(s.dirs[0].path, "t-0*")); len(matches) > 0 {
		t.Errorf("left behind: %v", matches)
	}
}

// A sync that flush.messages asks for and that fails is the writer's error.
func TestFailedFlushMessagesIsTold(t *testing.T) {
	d := &faultDisk{}
	s := openStore(t, t.TempDir(), Options{Disk: d})
	p := newTopic(t, s, "t", map[string]string{"flush.messages": "1"})
	d.set(func(op, _ string) error {
		if op == "sync" {
			return syscall.EIO
		}
		return nil
	})
	if n, err := p.NewLineWriter().Write([]byte("a\nb\n")); !errors.Is(err, syscall.EIO) || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	d.set(func(string, string) error { return nil })
	if err := p.Sync(); !errors.Is(err, ErrOffline) || p.recoveryPoint.Load() != 0 {
		t.Errorf("a second sync: %v, recovery point %d", err, p.recoveryPoint.Load())
	}
}

// A line that grew too long is dropped with its end, and the next is a record
// again, whatever fails meanwhile.
func TestLinesAfterATooLongOne(t *testing.T) {
	d := &faultDisk{}
	s := openStore(t, t.TempDir(), Options{Disk: d})
	p := newTopic(t, s, "t", map[string]string{"max.message.bytes": "200"})
	w := p.NewLineWriter()
	write := func(text string, want error) {
		t.Helper()
		if _, err := w.Write([]byte(text)); !errors.Is(err, want) {
			t.Fatalf("%q: %v, want %v", text, err, want)
		}
	}
	write(strings.Repeat("x", 150), nil)
	write("\n", ErrTooLarge) // 150 bytes and 61 of a header
	write("one\n", nil)
	write(strings.Repeat("y", 500), ErrTooLarge)
	d.set(func(op, _ string) error {
		if op == "write" {
			return syscall.ENOSPC
		}
		return nil
	})
	write("tail of y\ntwo\n", syscall.ENOSPC)
	d.set(func(string, string) error { return nil })
	write("tail of y\ntwo\n", nil)
	if got := text(t, p, FormatValues); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
}

func TestCloseWithWritersInFlight(t *testing.T) {
	for range 20 {
		s := openStore(t, t.TempDir(), Options{})
		p := newTopic(t, s, "t", map[string]string{"segment.bytes": "200"})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				w := p.NewLineWriter()
				for {
					if _, err := w.Write([]byte("a line that makes the log roll, again and again\n")); err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		for p.EndOffset() < 20 {
			time.Sleep(time.Millisecond)
		}
		closeStore(t, s)
		wg.Wait()
	}
}
