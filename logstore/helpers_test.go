package logstore

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"klogfs/batch"
	"klogfs/internal/disk"
)

// logBuffer takes a store's log lines.
type logBuffer struct{ bytes.Buffer }

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func openStore(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	s, err := Open([]string{dir}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func newTopic(t testing.TB, s *Store, name string, config map[string]string) *Partition {
	t.Helper()
	if err := s.CreateTopic(name, 1, config); err != nil {
		t.Fatal(err)
	}
	return partition(t, s, name+"-0")
}

func partition(t testing.TB, s *Store, name string) *Partition {
	t.Helper()
	tp, err := ParseTopicPartition(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Partition(tp)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func produce(t testing.TB, p *Partition, lines ...string) {
	t.Helper()
	w := p.NewLineWriter()
	text := strings.Join(lines, "\n") + "\n"
	if n, err := w.Write([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("write: %d of %d bytes, %v", n, len(text), err)
	}
}

// text reads a whole view.
func text(t testing.TB, p *Partition, f Format) string {
	t.Helper()
	r := p.View(f).Open()
	defer r.Close()
	var out strings.Builder
	for {
		b, err := r.Read(int64(out.Len()), 1000)
		if err != nil {
			t.Fatalf("read view at %d: %v", out.Len(), err)
		}
		if len(b.B) == 0 {
			return out.String()
		}
		out.Write(b.B)
		b.Release()
	}
}

func value(t testing.TB, p *Partition, offset int64) string {
	t.Helper()
	loc, err := p.Locate(offset)
	if err != nil {
		t.Fatalf("locate %d: %v", offset, err)
	}
	b, err := loc.ReadValue(nil)
	if err != nil {
		t.Fatalf("read %d: %v", offset, err)
	}
	return string(b)
}

// builtBatch is a batch of values at an offset and a time, with the last
// offset delta given, or that of the values for −1.
func builtBatch(t testing.TB, base, timestamp int64, lastDelta int32, values ...string) []byte {
	t.Helper()
	var b batch.Builder
	b.Begin(nil, batch.BuilderOptions{})
	for i, v := range values {
		b.AppendValue(timestamp+int64(i), []byte(v))
	}
	raw, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	batch.SetBaseOffset(raw, base)
	batch.SetPartitionLeaderEpoch(raw, 0)
	if lastDelta >= 0 {
		batch.SetLastOffsetDelta(raw, lastDelta)
	}
	return raw
}

// writeBroker makes a broker's log directory with one partition p-0 of the
// segments given by base offset.
func writeBroker(t testing.TB, segments map[int64][]byte) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, metaPropertiesFile), []byte("version=1\ncluster.id=x\nnode.id=1\n"))
	part := filepath.Join(dir, "p-0")
	if err := os.Mkdir(part, 0o755); err != nil {
		t.Fatal(err)
	}
	for base, content := range segments {
		writeFile(t, filepath.Join(part, segmentFile(base, suffixLog)), content)
	}
	return dir
}

func writeFile(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// faultDisk is the machine's disk with calls that fail when they are told to.
type faultDisk struct {
	disk.OS
	// fail is asked before each call that changes something, by the name of
	// the call and of the file; atomic since stores work in the background.
	fail atomic.Pointer[func(op, name string) error]
}

func (d *faultDisk) set(fail func(op, name string) error) { d.fail.Store(&fail) }

func (d *faultDisk) ask(op, name string) error {
	if f := d.fail.Load(); f != nil {
		return (*f)(op, name)
	}
	return nil
}

func (d *faultDisk) Create(name string) (disk.File, error) {
	if err := d.ask("create", name); err != nil {
		return nil, err
	}
	f, err := d.OS.Create(name)
	if err != nil {
		return nil, err
	}
	return &faultFile{f, d, name}, nil
}

func (d *faultDisk) Edit(name string) (disk.File, error) {
	if err := d.ask("edit", name); err != nil {
		return nil, err
	}
	f, err := d.OS.Edit(name)
	if err != nil {
		return nil, err
	}
	return &faultFile{f, d, name}, nil
}

func (d *faultDisk) Rename(from, to string) error {
	if err := d.ask("rename", to); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

type faultFile struct {
	disk.File
	d    *faultDisk
	name string
}

// WriteAt writes half of what it was given before it fails.
func (f *faultFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.d.ask("write", f.name); err != nil {
		n, _ := f.File.WriteAt(b[:len(b)/2], off)
		return n, fmt.Errorf("write %s: %w", f.name, err)
	}
	return f.File.WriteAt(b, off)
}

func (f *faultFile) Sync() error {
	if err := f.d.ask("sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultFile) Truncate(size int64) error {
	if err := f.d.ask("truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

var _ io.WriterAt = (*faultFile)(nil)

func mkdirAll(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}
