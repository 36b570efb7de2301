package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"klogfs/internal/fixture"
)

// mount mounts directories for the length of a test.
func mount(t *testing.T, args ...string) string {
	t.Helper()
	point := filepath.Join(t.TempDir(), "mnt")
	cmd := exec.Command("klogfs", append(append([]string{"mount"}, args...), point)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("klogfs", "umount", point).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
			_ = cmd.Process.Kill() // it may have ended
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("klogfs mount: %v\n%s", err, log.String())
		}
	})
	for deadline := time.Now().Add(20 * time.Second); !isMounted(point); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not mounted:\n%s", log.String())
		}
	}
	return point
}

// TestBrokerTruth compares a mount of what a broker wrote with that broker's
// own answers, field by field, in both levels of isolation: values, whole
// records, times, sizes, and what must not be there.
func TestBrokerTruth(t *testing.T) {
	require(t, "/dev/fuse")
	truth, logs, killed := fixture.Unpack(t, "truth"), fixture.Unpack(t, "logs"), fixture.Unpack(t, "killed")
	before := fixture.States(t, logs)
	for _, isolation := range []string{"read_uncommitted", "read_committed"} {
		mounts := map[string]string{"logs": mount(t, "--isolation", isolation, logs), "killed": mount(t, "--isolation", isolation, killed)}
		suffix := "." + isolation + ".jsonl"
		files, err := filepath.Glob(filepath.Join(truth, "*"+suffix))
		if err != nil || len(files) < 30 {
			t.Fatalf("%d files of truth, %v", len(files), err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), suffix)
			t.Run(name+"/"+isolation, func(t *testing.T) {
				from := mounts["logs"]
				if name == "killed-0" {
					from = mounts["killed"]
				}
				dir := filepath.Join(from, fixture.Directory(name))
				checkPartition(t, dir, fixture.Lines[fixture.Record](t, file))
				if isolation == "read_uncommitted" {
					checkTimes(t, dir, filepath.Join(truth, name+".times.jsonl"))
				}
			})
		}
	}
	point := mount(t, logs)
	checkLegacy(t, truth, point)
	checkGroups(t, truth, point)
	if diff := cmp.Diff(before, fixture.States(t, logs)); diff != "" {
		t.Errorf("the broker's directory has changed:\n%s", diff)
	}
}

func checkPartition(t *testing.T, dir string, records []fixture.Record) {
	t.Helper()
	checkValues(t, dir, records)
	checkRecords(t, dir, records)
	checkAbsent(t, dir, records)
}

// checkLegacy compares logs of formats 0 and 1 with what was put into them. The
// truth does not say who set the timestamps of format 1.
func checkLegacy(t *testing.T, truth, point string) {
	files, err := filepath.Glob(filepath.Join(truth, "legacy-*.jsonl"))
	if err != nil || len(files) != 8 {
		t.Fatalf("%d files of truth of old formats, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			records := fixture.Lines[fixture.Record](t, file)
			for i := range records {
				records[i].LeaderEpoch = -1
				if strings.HasPrefix(name, "legacy-v0") {
					records[i].TimestampType = "NoTimestampType"
				}
			}
			checkPartition(t, filepath.Join(point, name), records)
		})
	}
}

// checkGroups compares groups/ with what the broker said of its groups.
func checkGroups(t *testing.T, truth, point string) {
	type committed struct {
		Group, Partition string
		Offset           int64
	}
	want := map[string]string{}
	for _, c := range fixture.Lines[committed](t, filepath.Join(truth, "groups.jsonl")) {
		dir := filepath.Join(strings.ReplaceAll(c.Group, "/", "%2F"), c.Partition)
		want[dir] = fmt.Sprintln(c.Offset)
		lag, err := os.ReadFile(filepath.Join(point, "groups", dir, "lag"))
		left, err2 := strconv.ParseInt(strings.TrimSpace(string(lag)), 10, 64)
		var status struct{ HighWatermark int64 }
		b, err3 := os.ReadFile(filepath.Join(point, c.Partition, "status.json"))
		if err := errors.Join(err, err2, err3, json.Unmarshal(b, &status)); err != nil || left != status.HighWatermark-c.Offset {
			t.Errorf("lag of %s is %q, the log ends at %d, %v", dir, lag, status.HighWatermark, err)
		}
	}
	got := map[string]string{}
	files, err := filepath.Glob(filepath.Join(point, "groups", "*", "*", "offset"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(filepath.Join(point, "groups"), filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		got[dir] = string(b)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups:\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(point, "groups", "nobody")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a group that is not there: %v", err)
	}
}

func checkValues(t *testing.T, dir string, records []fixture.Record) {
	t.Helper()
	var want bytes.Buffer
	for _, r := range records {
		want.Write(fixture.Bytes(t, r.Value))
		want.WriteByte('\n')
	}
	got, err := os.ReadFile(filepath.Join(dir, "values"))
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("values: %d bytes, want %d, %v", len(got), want.Len(), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "values")); err != nil || info.Size() != int64(want.Len()) {
		t.Errorf("size of values: %v, %v", info, err)
	}
}

// record is a line of records.jsonl.
type record struct {
	Topic         string
	Partition     int
	Offset        int64
	Timestamp     int64
	TimestampType string
	LeaderEpoch   int32
	Key, Value    any
	Headers       [][2]any
}

// field is what JSON has for bytes that may be null.
func field(t *testing.T, v any) []byte {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []byte(v)
	case map[string]any:
		b, err := base64.StdEncoding.DecodeString(fmt.Sprint(v["base64"]))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	t.Fatalf("field %v", v)
	return nil
}

func checkRecord(t *testing.T, got record, want fixture.Record) {
	t.Helper()
	same := got.Offset == want.Offset && got.Timestamp == want.Timestamp &&
		(want.TimestampType == "" || got.TimestampType == want.TimestampType) &&
		got.LeaderEpoch == want.LeaderEpoch && len(got.Headers) == len(want.Headers) &&
		equal(field(t, got.Key), fixture.Bytes(t, want.Key)) && equal(field(t, got.Value), fixture.Bytes(t, want.Value))
	for i := 0; same && i < len(want.Headers); i++ {
		same = equal(field(t, got.Headers[i][0]), []byte(*want.Headers[i][0])) &&
			equal(field(t, got.Headers[i][1]), fixture.Bytes(t, want.Headers[i][1]))
	}
	if !same {
		t.Fatalf("offset %d is not what the consumer got: %+v", want.Offset, got)
	}
}

// equal keeps null and empty apart.
func equal(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// checkRecords compares every line of records.jsonl, and a sample of the files
// by offset.
func checkRecords(t *testing.T, dir string, records []fixture.Record) {
	t.Helper()
	lines := fixture.Lines[record](t, filepath.Join(dir, "records.jsonl"))
	if len(lines) != len(records) {
		t.Fatalf("records.jsonl has %d lines, want %d", len(lines), len(records))
	}
	step := max(1, len(records)/50)
	for i, want := range records {
		checkRecord(t, lines[i], want)
		if i%step != 0 && i != len(records)-1 {
			continue
		}
		path := filepath.Join(dir, "offset", strconv.FormatInt(want.Offset, 10))
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, fixture.Bytes(t, want.Value)) {
			t.Fatalf("%s: %d bytes, %v", path, len(got), err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(len(got)) || want.Timestamp >= 0 && info.ModTime().UnixMilli() != want.Timestamp {
			t.Fatalf("%s: %v, %v", path, info, err)
		}
		var one record
		b, err := os.ReadFile(path + ".json")
		if err := errors.Join(err, json.Unmarshal(b, &one)); err != nil {
			t.Fatal(err)
		}
		checkRecord(t, one, want)
		if key, err := os.ReadFile(path + ".key"); err != nil || !bytes.Equal(key, fixture.Bytes(t, want.Key)) {
			t.Fatalf("%s.key: %q, %v", path, key, err)
		}
	}
}

// checkAbsent looks for offsets that no record has.
func checkAbsent(t *testing.T, dir string, records []fixture.Record) {
	t.Helper()
	there := map[int64]bool{}
	end := int64(0)
	for _, r := range records {
		there[r.Offset] = true
		end = r.Offset + 1
	}
	gone := []int64{end, end + 1, end + 1<<32}
	for offset := range end {
		if !there[offset] {
			gone = append(gone, offset)
		}
	}
	for i := 0; i < len(gone); i += max(1, len(gone)/50) {
		_, err := os.Stat(filepath.Join(dir, "offset", strconv.FormatInt(gone[i], 10)))
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("offset %d: %v", gone[i], err)
		}
	}
}

// checkTimes asks what the broker's offsetsForTimes was asked.
func checkTimes(t *testing.T, dir, file string) {
	t.Helper()
	type answer struct{ Time, Offset int64 }
	for _, want := range fixture.Lines[answer](t, file)[1:] { // the first has the log's ends
		target, err := os.Readlink(filepath.Join(dir, "time", strconv.FormatInt(want.Time, 10)))
		if want.Offset < 0 {
			if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("time %d: %q, %v, want none", want.Time, target, err)
			}
			continue
		}
		if err != nil || target != fmt.Sprintf("../offset/%d", want.Offset) {
			t.Errorf("time %d: %q, %v, want %d", want.Time, target, err, want.Offset)
		}
	}
}
