package coordinator

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

// printed are records, many of them damaged, and what the parsers of Kafka's
// dump tool print of them: topic, key, value, and the JSON of both or
// "refused". The value "-" is null.
func printed(tb testing.TB) [][]string {
	tb.Helper()
	b, err := os.ReadFile("testdata/printed.tsv")
	if err != nil {
		tb.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(b)) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	if len(all) < 200 {
		tb.Fatalf("%d records", len(all))
	}
	return all
}

type (
	keyFunc   = func(key []byte) (string, bool)
	valueFunc = func(key, value []byte) (string, bool)
)

func printers(topic string) (keyFunc, valueFunc) {
	switch topic {
	case transactions:
		return TransactionKey, TransactionValue
	case shares:
		return ShareKey, ShareValue
	}
	return OffsetsKey, OffsetsValue
}

// line is what the tool prints of a record; "refused" where it prints none.
func line(topic string, key, value []byte) string {
	keyOf, valueOf := printers(topic)
	k, ok := keyOf(key)
	v, text := true, "<DELETE>"
	if value != nil {
		text, v = valueOf(key, value)
	}
	if !ok || !v {
		return "refused"
	}
	return k + "\t" + text
}

func TestTool(t *testing.T) {
	for _, p := range printed(t) {
		key, value := unhex(t, p[1]), []byte(nil)
		if p[2] != "-" {
			value = unhex(t, p[2])
		}
		got, want := line(p[0], key, value), strings.Join(p[3:], "\t")
		if got != want {
			t.Errorf("%s %s %s is\n%s, want\n%s", p[0], p[1], p[2], got, want)
		}
		c, ok := ParseOffsetCommit(key, value)
		commit := p[0] == offsets && want != "refused" && (key[1] == 0 || key[1] == 1)
		if p[0] == offsets && ok != commit {
			t.Errorf("key %s value %s is a commit: %t, %+v", p[1], p[2], ok, c)
		}
	}
}

// records calls f with each record of a partition's logs.
func records(t *testing.T, dir string, f func(batch.Record)) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log in %s: %v", dir, err)
	}
	for _, log := range logs {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		s := batch.NewScanner(bytes.NewReader(b), 0, int64(len(b)))
		var d batch.Decoder
		for s.Next() {
			raw, err := s.Batch()
			if err != nil {
				t.Fatal(err)
			}
			var rs batch.Records
			if err := d.Decode(raw, &rs); err != nil {
				t.Fatal(err)
			}
			var r batch.Record
			for rs.Next(&r) {
				f(r)
			}
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
	}
}

// recordLine takes the offset and the texts out of a line of a dump.
var recordLine = regexp.MustCompile(`(?m)^\| offset: (\d+) .* headerKeys: \[\] (key: .* payload: .*)$`)

// What a broker's coordinators wrote is printed as Kafka's tool printed it.
func TestBroker(t *testing.T) {
	logs, dump := fixture.Unpack(t, "logs"), fixture.Unpack(t, "dump")
	check := func(topic, partition, want string) {
		var got strings.Builder
		records(t, filepath.Join(logs, partition), func(r batch.Record) {
			key, value, _ := strings.Cut(line(topic, r.Key, r.Value), "\t")
			fmt.Fprintf(&got, "%d key: %s payload: %s\n", r.Offset, key, value)
		})
		if got.String() != want {
			t.Errorf("%s is\n%s, want\n%s", partition, got.String(), want)
		}
	}
	dumps, err := filepath.Glob(filepath.Join(dump, "*.offsets-decoder.txt"))
	if err != nil || len(dumps) == 0 {
		t.Fatalf("no dumps: %v", err)
	}
	for _, name := range dumps {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for _, m := range recordLine.FindAllStringSubmatch(string(b), -1) {
			want.WriteString(m[1] + " " + m[2] + "\n")
		}
		check(offsets, strings.TrimSuffix(filepath.Base(name), ".offsets-decoder.txt"), want.String())
	}
	b, err := os.ReadFile("testdata/transaction_state.txt")
	if err != nil {
		t.Fatal(err)
	}
	check(transactions, "__transaction_state-0", string(b))
}

// The latest commits are those that the broker told of.
func TestCommitsTruth(t *testing.T) {
	type committed struct {
		Group, Partition, Metadata string
		Offset                     int64
	}
	dirs, err := filepath.Glob(filepath.Join(fixture.Unpack(t, "logs"), "__consumer_offsets-*"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]committed{}
	for _, dir := range dirs {
		records(t, dir, func(r batch.Record) {
			c, ok := ParseOffsetCommit(r.Key, r.Value)
			partition := fmt.Sprintf("%s-%d", c.Topic, c.Partition)
			switch {
			case !ok:
			case c.Tombstone:
				delete(got, c.Group+" "+partition)
			default:
				got[c.Group+" "+partition] = committed{c.Group, partition, c.Metadata, c.Offset}
			}
		})
	}
	want := fixture.Lines[committed](t, filepath.Join(fixture.Unpack(t, "truth"), "groups.jsonl"))
	for _, w := range want {
		if g := got[w.Group+" "+w.Partition]; g != w {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
	if len(want) == 0 || len(got) != len(want) {
		t.Errorf("%d commits, want %d", len(got), len(want))
	}
}
