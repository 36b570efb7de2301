package batch_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

// TestBrokerRecords decodes what a broker wrote and compares every field with
// what its consumer got.
func TestBrokerRecords(t *testing.T) {
	truth := fixture.Unpack(t, "truth")
	dirs := map[string]string{"logs": fixture.Unpack(t, "logs"), "killed": fixture.Unpack(t, "killed")}
	files, err := filepath.Glob(filepath.Join(truth, "*.read_uncommitted.jsonl"))
	if err != nil || len(files) < 25 {
		t.Fatalf("%d files of truth, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".read_uncommitted.jsonl")
		t.Run(name, func(t *testing.T) {
			from := dirs["logs"]
			if name == "killed-0" {
				from = dirs["killed"]
			}
			want := fixture.Lines[fixture.Record](t, file)
			got := decodeAll(t, filepath.Join(from, fixture.Directory(name)))
			// Records below the log start are on disk, and not in the truth.
			for len(want) > 0 && len(got) > 0 && got[0].Offset < want[0].Offset {
				got = got[1:]
			}
			if len(got) != len(want) {
				t.Fatalf("%d records, want %d", len(got), len(want))
			}
			for i := range want {
				compare(t, got[i], want[i])
			}
		})
	}
}

type decoded struct {
	batch.Record
	header  batch.Header
	headers []batch.RecordHeader
}

func decodeAll(t *testing.T, dir string) []decoded {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log in %s: %v", dir, err)
	}
	var all []decoded
	for _, log := range logs {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		s := batch.NewScanner(bytes.NewReader(b), 0, int64(len(b)))
		for s.Next() {
			raw, err := s.Batch()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, decodeOne(t, raw)...)
		}
		if s.Err() != nil {
			t.Fatalf("%s: %v", log, s.Err())
		}
	}
	return all
}

func decodeOne(t *testing.T, raw []byte) []decoded {
	t.Helper()
	var d batch.Decoder
	var rs batch.Records
	if err := d.Decode(append([]byte{}, raw...), &rs); err != nil {
		t.Fatal(err)
	}
	if rs.Header.Attributes.Control() {
		return nil
	}
	rs = rs.Clone()
	if err := rs.Validate(); err != nil {
		t.Fatal(err)
	}
	var all []decoded
	var r batch.Record
	for rs.Next(&r) {
		all = append(all, decoded{r, rs.Header, r.AppendHeaders(nil)})
	}
	if rs.Err() != nil {
		t.Fatal(rs.Err())
	}
	return all
}

func compare(t *testing.T, got decoded, want fixture.Record) {
	t.Helper()
	same := got.Offset == want.Offset && got.Timestamp == want.Timestamp &&
		got.header.Attributes.TimestampType().String() == want.TimestampType &&
		got.header.PartitionLeaderEpoch == want.LeaderEpoch && len(got.headers) == len(want.Headers)
	same = same && equal(got.Key, fixture.Bytes(t, want.Key)) && equal(got.Value, fixture.Bytes(t, want.Value))
	for i := 0; same && i < len(got.headers); i++ {
		name := []byte(*want.Headers[i][0])
		same = equal(got.headers[i].Key, name) && equal(got.headers[i].Value, fixture.Bytes(t, want.Headers[i][1]))
	}
	if !same {
		t.Fatalf("offset %d is not what the consumer got: %+v", want.Offset, got)
	}
}

// equal keeps null and empty apart.
func equal(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
