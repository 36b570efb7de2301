package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"klogfs/batch"
)

// bombs are batches that are small on disk: of zeros, which every format of
// text shows as many bytes, and of headers.
func bombs(t *testing.T) []byte {
	t.Helper()
	var b batch.Builder
	var log []byte
	add := func(codec batch.Codec, fill func()) {
		start := len(log)
		b.Begin(log, batch.BuilderOptions{Codec: codec})
		fill()
		raw, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		log = raw
		batch.SetBaseOffset(log[start:], int64(offsetsIn(log[:start])))
	}
	add(batch.CodecGzip, func() { b.AppendValue(1000, make([]byte, 500<<20)) })
	add(batch.CodecZstd, func() { b.AppendValue(1000, make([]byte, 100<<20)) })
	add(batch.CodecGzip, func() { b.Append(1000, nil, nil, make([]batch.RecordHeader, 30<<20)) })
	add(batch.CodecNone, func() { b.AppendValue(1000, []byte("after")) })
	return log
}

// offsetsIn is how many batches there are, of one record each.
func offsetsIn(log []byte) int {
	n := 0
	for s := batch.NewScanner(bytes.NewReader(log), 0, int64(len(log))); s.Next(); n++ {
	}
	return n
}

// TestBombs has twenty readers at a time read what is far larger decompressed
// than on disk: each gets the records or an error, and the daemon stays small.
func TestBombs(t *testing.T) {
	require(t, "/dev/fuse")
	if testing.Short() {
		t.Skip("takes gigabytes of zeros through the codecs")
	}
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.MkdirAll(filepath.Join(dir, "p-0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p-0", "00000000000000000000.log"), bombs(t), 0o644); err != nil {
		t.Fatal(err)
	}
	point := mount(t, "--read-only", "--on-corrupt=skip", dir)
	var wg sync.WaitGroup
	for i := range 20 {
		name := []string{"values", "records.jsonl", "offset/0", "offset/1", "offset/2.json"}[i%5]
		wg.Go(func() {
			out, err := exec.Command("sh", "-c", fmt.Sprintf("cat %s | wc -c", filepath.Join(point, "p-0", name))).CombinedOutput()
			if name == "offset/0" && !strings.Contains(string(out), "Input/output error") {
				t.Errorf("%s: %s, %v", name, out, err)
			}
			if name == "offset/1" && strings.TrimSpace(string(out)) != strconv.Itoa(100<<20) {
				t.Errorf("%s: %s, %v", name, out, err)
			}
		})
	}
	wg.Wait()
	if got, err := os.ReadFile(filepath.Join(point, "p-0", "offset", "3")); string(got) != "after" || err != nil {
		t.Errorf("the record behind them is %q, %v", got, err)
	}
	const most = 700 << 10 // KiB; the readers together ask for 5 GiB
	if peak := peakMemory(t, point); peak > most {
		t.Errorf("the daemon took %d KiB", peak)
	} else {
		t.Logf("the daemon took %d KiB", peak)
	}
}

// peakMemory is VmHWM of the daemon of a mount, in KiB.
func peakMemory(t *testing.T, point string) int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		line, err := os.ReadFile(name)
		if err != nil || !bytes.HasPrefix(line, []byte("klogfs\x00mount\x00")) && !strings.Contains(string(line), "mount\x00") || !bytes.Contains(line, []byte(point)) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
		if err != nil {
			continue
		}
		if m := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindSubmatch(status); m != nil {
			n, err := strconv.Atoi(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the daemon was not found")
	return 0
}
