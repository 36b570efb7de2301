package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What was found out about a broker's log is kept in the cache directory, and
// believed as long as the log is the same.
func TestCacheDir(t *testing.T) {
	b := newBroker(t, records(t, 0, 1000, "a"))
	b.write(1000, records(t, 1000, 1200, "b"))
	cache := filepath.Join(t.TempDir(), "cache")
	open := func() *Store { return openStore(t, b.dir, Options{ReadOnly: true, CacheDir: cache}) }
	want := expected(0, 1000, "a") + expected(1000, 1200, "b")
	for range 2 {
		s := open()
		if got := b.values(s); got != want {
			t.Fatalf("values have %d bytes, want %d", len(got), len(want))
		}
		closeStore(t, s)
	}
	files, err := filepath.Glob(filepath.Join(cache, "*", "p-0", "*"+suffixText))
	if err != nil || len(files) != 2 {
		t.Fatalf("the cache has %v, %v", files, err)
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, "p-0", "*text")); err != nil || len(left) > 0 {
		t.Fatalf("the log directory has %v, %v", left, err)
	}

	s := open()
	seg := partition(t, s, "p-0").segments()[0]
	var loaded segmentText
	if seg.loadText(FormatValues, &loaded); loaded.index.Covered() != seg.size.Load() {
		t.Errorf("the index on file covers %d bytes of %d", loaded.index.Covered(), seg.size.Load())
	}
	closeStore(t, s)

	b.write(0, records(t, 0, 1000, "other")) // another log, of another time
	s = open()
	if got := b.values(s); got != expected(0, 1000, "other")+expected(1000, 1200, "b") {
		t.Errorf("the old log's index is believed of the new one")
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte("rotten"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	s = open()
	if got := b.values(s); got != expected(0, 1000, "other")+expected(1000, 1200, "b") {
		t.Errorf("a rotten index is believed")
	}
}

// Nothing of ours may be in a log directory.
func TestCacheDirWithinLogDir(t *testing.T) {
	b := newBroker(t, records(t, 0, 10, "a"))
	for _, dir := range []string{b.dir, filepath.Join(b.dir, "cache"), filepath.Join(b.dir, "p-0", "x", "y")} {
		if _, err := Open([]string{b.dir}, Options{CacheDir: dir}); !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
