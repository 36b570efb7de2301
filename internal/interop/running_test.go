package interop

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"klogfs/internal/kafkatest"
)

// sealed is what must not change of a file that the broker is done with.
type sealed struct {
	size  int64
	mtime time.Time
	mode  os.FileMode
	sum   [sha256.Size]byte
}

// TestMountOfRunningBroker mounts the log directory of a broker that runs and
// takes records meanwhile: the mount shows what a consumer gets, new topics
// come up, and the directory is left as it is.
func TestMountOfRunningBroker(t *testing.T) {
	requireFUSE(t)
	k := kafkatest.Require(t)
	b := k.NewBroker(t, filepath.Join(t.TempDir(), "logs"), nil)
	b.Start()
	b.CreateTopic("r", 1, map[string]string{"segment.bytes": "1048576"})
	random := rand.New(rand.NewPCG(9, 90))
	want := lines(0, 30_000, random)
	if err := produce(b, "none", want); err != nil {
		t.Fatal(err)
	}

	before := sealedFiles(t, b.LogDir(), "r-0")
	if len(before) < 3 {
		t.Fatalf("there are %d sealed files, want those of a segment", len(before))
	}
	m := newMount(t, b.LogDir())
	same(t, "values", m.read("r-0", "values"), want)
	t.Run("read-only", func(t *testing.T) { refusesWrites(t, m.in(t)) })
	t.Run("produce", func(t *testing.T) { readWhileProducing(t, b.In(t), m.in(t), want, random) })
	t.Run("sealed", func(t *testing.T) { compareRaw(t, m.in(t), before) })
	t.Run("new topic", func(t *testing.T) { newTopic(t, b.In(t), m.in(t)) })
	m.umount()
	unchanged(t, b.LogDir(), before)
	leftNothing(t, b.LogDir())
}

// produce gives lines to topic r, partition 0, in batches of a codec. It is
// for any goroutine.
func produce(b *kafkatest.Broker, codec string, text []byte) error {
	cmd := exec.Command("kcat", "-b", b.Addr(), "-P", "-t", "r", "-p", "0", "-z", codec, "-X", "batch.size=20000")
	cmd.Stdin = bytes.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kcat -P: %w\n%s", err, out)
	}
	return nil
}

// refusesWrites expects that nothing can be written.
func refusesWrites(t *testing.T, m *mount) {
	var status struct{ Writable bool }
	if err := json.Unmarshal(m.read("status.json"), &status); err != nil || status.Writable {
		t.Errorf("status.json: writable %v, %v", status.Writable, err)
	}
	if f, err := os.OpenFile(m.path("r-0", "write"), os.O_WRONLY, 0); err == nil {
		f.Close()
		t.Error("write can be opened for writing")
	} else if !errors.Is(err, syscall.EROFS) {
		t.Errorf("open of write: %v, want %v", err, syscall.EROFS)
	}
	if err := os.Mkdir(m.path("topics", "x"), 0o755); !errors.Is(err, syscall.EROFS) {
		t.Errorf("mkdir: %v, want %v", err, syscall.EROFS)
	}
	if err := os.Remove(m.path("raw", "r-0")); err == nil {
		t.Error("a partition can be removed")
	}
}

// readWhileProducing reads all values again and again while a producer gives
// the broker more, each time in another codec, and one time to the end in a
// file that stays open.
func readWhileProducing(t *testing.T, b *kafkatest.Broker, m *mount, want []byte, random *rand.Rand) {
	follow, err := os.Open(m.path("r-0", "values"))
	if err != nil {
		t.Fatal(err)
	}
	defer follow.Close()
	var followed bytes.Buffer
	partial := 0
	for i, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		text := lines(100_000*(i+1), 40_000, random)
		all := append(bytes.Clone(want), text...)
		produced := make(chan error, 1)
		go func() { produced <- produce(b, codec, text) }()
		for running := true; running; {
			select {
			case err := <-produced:
				if err != nil {
					t.Fatal(err)
				}
				running = false
			default:
			}
			got := m.read("r-0", "values")
			if len(got) < len(want) || len(got) > len(all) {
				t.Fatalf("values has %d bytes, want %d to %d", len(got), len(want), len(all))
			}
			same(t, "values while "+codec+" is produced", got, all[:len(got)])
			if len(got) > len(want) && len(got) < len(all) {
				partial++
			}
			if _, err := io.Copy(&followed, follow); err != nil {
				t.Fatal(err)
			}
		}
		want = all
		same(t, "values after "+codec, m.read("r-0", "values"), want)
	}
	t.Logf("%d reads were in the middle of a produce", partial)
	same(t, "values in one open file", followed.Bytes(), want)
	consumed := b.Kcat("-C", "-t", "r", "-p", "0", "-o", "beginning", "-e", "-q", "-D", `\n`)
	same(t, "kcat and the mount", consumed, m.read("r-0", "values"))
	sameRecords(t, b, m)
}

// sameRecords compares offsets and timestamps with those that kcat gets.
func sameRecords(t *testing.T, b *kafkatest.Broker, m *mount) {
	t.Helper()
	var got bytes.Buffer
	for line := range bytes.Lines(m.read("r-0", "records.jsonl")) {
		var record struct{ Offset, Timestamp int64 }
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%d %d\n", record.Offset, record.Timestamp)
	}
	want := b.Kcat("-C", "-t", "r", "-p", "0", "-o", "beginning", "-e", "-q", "-f", `%o %T\n`)
	same(t, "offsets and timestamps", got.Bytes(), want)
}

// newTopic expects that a topic comes up within a second of its creation, and
// that its records do.
func newTopic(t *testing.T, b *kafkatest.Broker, m *mount) {
	if _, err := os.Stat(m.path("fresh-1")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("before it is created: %v", err)
	}
	b.CreateTopic("fresh", 2, nil)
	poll(t, time.Second, "the new topic", func() error {
		entries, err := os.ReadDir(m.point)
		if err != nil {
			return err
		}
		listed := 0
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "fresh-") {
				listed++
			}
		}
		if listed != 2 {
			return fmt.Errorf("%d of 2 partitions are listed", listed)
		}
		_, err = os.Stat(m.path("fresh-1", "values"))
		return err
	})
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte("first\nsecond\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Kcat("-P", "-t", "fresh", "-p", "1", "-l", file)
	same(t, "fresh-1/values", m.read("fresh-1", "values"), []byte("first\nsecond\n"))
	same(t, "fresh-1/offset/1", m.read("fresh-1", "offset", "1"), []byte("second"))
}

// sealedFiles are the files of all segments of a partition but the last.
func sealedFiles(t *testing.T, logDir, partition string) map[string]sealed {
	t.Helper()
	dir := filepath.Join(logDir, partition)
	segments := segmentFiles(t, dir, ".log")
	last := strings.TrimSuffix(segments[len(segments)-1], ".log")
	files := map[string]sealed{}
	for _, name := range segmentFiles(t, dir, ".log", ".index", ".timeindex") {
		if strings.HasPrefix(name, last) {
			continue
		}
		rel, err := filepath.Rel(logDir, name)
		if err != nil {
			t.Fatal(err)
		}
		files[rel] = stateOf(t, name)
	}
	return files
}

func stateOf(t *testing.T, name string) sealed {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return sealed{info.Size(), info.ModTime(), info.Mode(), sha256.Sum256(readFile(t, name))}
}

// compareRaw compares sealed files with those that raw/ shows.
func compareRaw(t *testing.T, m *mount, files map[string]sealed) {
	for name, want := range files {
		info, err := os.Stat(m.path("raw", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Size() != want.size || !info.ModTime().Equal(want.mtime) {
			t.Errorf("raw/%s: %d bytes, %v; want %d, %v", name, info.Size(), info.ModTime(), want.size, want.mtime)
		}
		if sha256.Sum256(m.read("raw", name)) != want.sum {
			t.Errorf("raw/%s is another content", name)
		}
	}
}

// unchanged expects sealed files as they were.
func unchanged(t *testing.T, logDir string, before map[string]sealed) {
	t.Helper()
	for name, want := range before {
		if got := stateOf(t, filepath.Join(logDir, name)); got != want {
			t.Errorf("%s has changed: %+v, was %+v", name, got, want)
		}
	}
}

// leftNothing expects no file in a broker's directory that only klogfs makes.
func leftNothing(t *testing.T, logDir string) {
	t.Helper()
	brokers := []string{
		".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint", "-checkpoint", ".lock",
		".deleted", ".cleaned", ".swap",
		"meta.properties", "partition.metadata", "bootstrap.checkpoint", "quorum-state", ".kafka_cleanshutdown",
	}
	err := filepath.WalkDir(logDir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				err = nil // the broker has removed it meanwhile
			}
			return err
		}
		if d.IsDir() {
			return nil
		}
		for _, suffix := range brokers {
			if strings.HasSuffix(path, suffix) {
				return nil
			}
		}
		t.Errorf("%s is no file of a broker", path)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
