package logstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

// checked returns what is found in a directory.
func checked(t *testing.T, dir string) ([]Finding, CheckSummary) {
	t.Helper()
	var all []Finding
	summary, err := Check(context.Background(), []string{dir}, CheckOptions{Found: func(f Finding) { all = append(all, f) }})
	if err != nil {
		t.Fatal(err)
	}
	return all, summary
}

// What a broker left, after a clean stop or a kill, has no damage.
func TestCheckFindsNoDamageInFixtures(t *testing.T) {
	for archive, records := range map[string]int64{"logs": 14000, "killed": 30000} {
		found, summary := checked(t, fixture.Unpack(t, archive))
		for _, f := range found {
			if f.Damage {
				t.Errorf("%s: %+v", archive, f)
			}
		}
		if summary.Damage != 0 || summary.Records < records || summary.Findings != len(found) {
			t.Errorf("%s: %+v", archive, summary)
		}
	}
}

// Each kind of file is held against what it should be.
func TestCheckFindsDamage(t *testing.T) {
	logs := fixture.Unpack(t, "logs")
	edit := func(name string, change func([]byte) []byte) {
		t.Helper()
		path := filepath.Join(logs, name)
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(b), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			b[at] ^= 0x10
			return b
		}
	}
	first, err := os.ReadFile(filepath.Join(logs, "codec-none-0", segmentFile(0, suffixLog)))
	if err != nil {
		t.Fatal(err)
	}
	h, err := batch.ParseHeader(first)
	if err != nil {
		t.Fatal(err)
	}
	edit("codec-none-0/00000000000000000000.log", flip(h.Size()+70))
	edit("codec-gzip-0/00000000000000000000.index", flip(7))
	edit("codec-gzip-1/00000000000000000000.timeindex", flip(7))
	edit("codec-lz4-0/00000000000000000000.index", func(b []byte) []byte { return append(b, 0xff) })
	edit("txn-0/00000000000000000016.txnindex", flip(25))
	edit("txn-0/00000000000000000198.snapshot", flip(20))
	edit("epochs-0/leader-epoch-checkpoint", func(b []byte) []byte { return []byte(strings.Replace(string(b), "2 100", "2 150", 1)) })
	edit("times-0/partition.metadata", func([]byte) []byte { return []byte("rotten") })
	edit("cleaner-offset-checkpoint", func([]byte) []byte { return []byte("0\n7\n") })
	edit("append-time-0/00000000000000000000.log", func(b []byte) []byte { return b[:len(b)-5] })
	found := map[string]Finding{}
	all, _ := checked(t, logs)
	for _, f := range all {
		if f.Damage {
			found[f.TopicPartition+"/"+f.File] = f
		}
	}
	for name, position := range map[string]int64{
		"codec-none-0/00000000000000000000.log": int64(h.Size()), "codec-gzip-0/00000000000000000000.index": 0,
		"codec-gzip-1/00000000000000000000.timeindex": 0, "codec-lz4-0/00000000000000000000.index": -1,
		"txn-0/00000000000000000016.txnindex": 0, "txn-0/00000000000000000198.snapshot": -1, "epochs-0/leader-epoch-checkpoint": -1,
		"times-0/partition.metadata": -1, "/cleaner-offset-checkpoint": -1, "append-time-0/00000000000000000000.log": -1,
	} {
		f, ok := found[name]
		if !ok || f.Problem == "" || f.Recovery == "" || position >= 0 && f.Position != position {
			t.Errorf("%s: %+v", name, f)
		}
		delete(found, name)
	}
	// The log that lost its end lacks what its indexes and a checkpoint name.
	for name, f := range found {
		if !strings.HasPrefix(name, "append-time-0/") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Every byte of a log counts, and nothing else is reported: what a batch holds
// is damage where it is changed, but for the parts that no checksum covers.
func TestCheckEveryByte(t *testing.T) {
	log := append(records(t, 0, 3, "a"), records(t, 3, 6, "b")...)
	dir := writeBroker(t, map[int64][]byte{0: log, 6: records(t, 6, 7, "c")})
	if found, _ := checked(t, dir); countDamage(found) != 0 {
		t.Fatalf("%+v", found)
	}
	name := filepath.Join(dir, "p-0", segmentFile(0, suffixLog))
	whole := takeSample(t, name, 100, len(log))
	for at := 0; at < len(log); at += matrixStep() {
		changed := append([]byte{}, log...)
		changed[at] ^= 1
		writeFile(t, name, changed)
		found, _ := checked(t, dir)
		within := at - whole.starts[whole.batchOf(at)]
		covered := within >= 8 && (within < 12 || within >= 16)
		if n := countDamage(found); n != 1 && covered {
			t.Fatalf("byte %d, %d of its batch: %d findings: %s", at, within, n, fmt.Sprint(found))
		}
	}
}

func countDamage(found []Finding) int {
	n := 0
	for _, f := range found {
		if f.Damage {
			n++
		}
	}
	return n
}
