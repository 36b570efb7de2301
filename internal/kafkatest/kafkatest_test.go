package kafkatest_test

import (
	"os"
	"path/filepath"
	"testing"

	"klogfs/internal/kafkatest"
)

// TestBroker starts a broker, gives it a record, kills it, and stops it.
func TestBroker(t *testing.T) {
	k := kafkatest.Require(t)
	dir := filepath.Join(t.TempDir(), "logs")
	b := k.NewBroker(t, dir, map[string]string{"log.segment.bytes": "1048576"})
	b.Start()
	b.CreateTopic("t", 2, map[string]string{"compression.type": "lz4"})

	lines := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(lines, []byte("a\nb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Kcat("-P", "-t", "t", "-p", "1", "-l", lines)
	consume := func() {
		t.Helper()
		if got := string(b.Kcat("-C", "-t", "t", "-p", "1", "-o", "beginning", "-e", "-q")); got != "a\nb\n" {
			t.Errorf("consumed %q", got)
		}
	}
	consume()
	b.Kill()
	b.Start()
	consume()
	b.Stop()
	if _, err := os.Stat(filepath.Join(dir, ".kafka_cleanshutdown")); err != nil {
		t.Errorf("the stop was not clean: %v", err)
	}
	b.Start()
	consume()
}
