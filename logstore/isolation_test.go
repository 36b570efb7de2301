package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

// txnBatch is a batch of a transaction's records, each named by its offset.
func txnBatch(t *testing.T, base, producer int64, count int) []byte {
	t.Helper()
	return finish(t, base, batch.BuilderOptions{Transactional: true, Producer: &batch.Producer{ID: producer}}, func(b *batch.Builder) {
		for i := range count {
			b.AppendValue(1000, fmt.Appendf(nil, "v%d", base+int64(i)))
		}
	})
}

// markerBatch is a control batch.
func markerBatch(t *testing.T, base, producer int64, version, kind int16) []byte {
	t.Helper()
	key := binary.BigEndian.AppendUint16(nil, uint16(version))
	key = binary.BigEndian.AppendUint16(key, uint16(kind))
	return finish(t, base, batch.BuilderOptions{Transactional: true, Control: true, Producer: &batch.Producer{ID: producer}}, func(b *batch.Builder) {
		b.Append(1000, key, make([]byte, 6), nil)
	})
}

func finish(t *testing.T, base int64, opts batch.BuilderOptions, fill func(*batch.Builder)) []byte {
	t.Helper()
	var b batch.Builder
	b.Begin(nil, opts)
	fill(&b)
	raw, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	batch.SetBaseOffset(raw, base)
	return raw
}

func join(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// A reader of committed records gets no record of an aborted transaction, and
// none from the first open one on, over segments and markers that say nothing.
func TestReadCommitted(t *testing.T) {
	const abort, commit, unknown = 0, 1, 9
	first := join(
		txnBatch(t, 0, 1, 2), txnBatch(t, 2, 2, 1), builtBatch(t, 3, 1000, -1, "v3"), markerBatch(t, 4, 2, 0, unknown),
		markerBatch(t, 5, 2, 0, abort), txnBatch(t, 6, 1, 1),
	)
	second := join(
		markerBatch(t, 7, 1, 3, commit), markerBatch(t, 8, 1, -1, abort), txnBatch(t, 9, 2, 2), markerBatch(t, 11, 2, 0, commit),
		txnBatch(t, 12, 1, 1), markerBatch(t, 13, 1, 0, abort), builtBatch(t, 14, 1000, -1, "v14"),
	)
	open := join(txnBatch(t, 15, 7, 1), builtBatch(t, 16, 1000, -1, "v16"))
	b := newBroker(t, first)
	b.write(7, join(second, open))
	s := openStore(t, b.dir, Options{ReadOnly: true, Isolation: ReadCommitted})
	p := partition(t, s, "p-0")
	committed := "v0\nv1\nv3\nv6\nv9\nv10\nv14\n"
	if got := text(t, p, FormatValues); got != committed {
		t.Errorf("values are %q, want %q", got, committed)
	}
	if stable, err := p.LastStableOffset(); stable != 15 || err != nil || p.EndOffset() != 17 {
		t.Errorf("last stable offset %d, end %d, %v", stable, p.EndOffset(), err)
	}
	checkReadable(t, p, 17, "v0 v1 v3 v6 v9 v10 v14")
	if l, err := p.Latest(); err != nil || l.Offset != 14 {
		t.Errorf("the latest is %d, %v", l.Offset, err)
	}

	b.write(7, join(second, open, markerBatch(t, 17, 7, 0, abort), txnBatch(t, 18, 8, 1)))
	p = partition(t, s, "p-0")
	if got := text(t, p, FormatValues); got != committed+"v16\n" {
		t.Errorf("after the abort values are %q", got)
	}
	b.write(7, join(second, open, markerBatch(t, 17, 7, 0, abort), txnBatch(t, 18, 8, 1), markerBatch(t, 19, 8, 0, commit)))
	p = partition(t, s, "p-0")
	if got := text(t, p, FormatValues); got != committed+"v16\nv18\n" {
		t.Errorf("after the commit values are %q", got)
	}
	checkReadable(t, p, 20, "v0 v1 v3 v6 v9 v10 v14 v16 v18")

	all := partition(t, openStore(t, b.dir, Options{ReadOnly: true}), "p-0")
	checkReadable(t, all, 20, "v0 v1 v2 v3 v6 v9 v10 v12 v14 v15 v16 v18")
}

// checkReadable looks up every offset below end, and lists all.
func checkReadable(t *testing.T, p *Partition, end int64, want string) {
	t.Helper()
	var found, listed []string
	for offset := range end {
		l, err := p.Locate(offset)
		if errors.Is(err, ErrNoRecord) {
			continue
		}
		v, err2 := l.ReadValue(nil)
		if err := errors.Join(err, err2); err != nil || string(v) != fmt.Sprintf("v%d", offset) {
			t.Errorf("offset %d is %q, %v", offset, v, err)
		}
		found = append(found, string(v))
	}
	o := p.Offsets(0)
	defer o.Close()
	for o.Next() {
		listed = append(listed, fmt.Sprintf("v%d", o.Offset()))
	}
	if got := strings.Join(found, " "); got != want || o.Err() != nil {
		t.Errorf("readable are %s, want %s, %v", got, want, o.Err())
	}
	if got := strings.Join(listed, " "); got != want {
		t.Errorf("listed are %s, want %s", got, want)
	}
}

// The transaction indexes and snapshots of a broker may be missing: the markers
// tell the same.
func TestReadCommittedWithoutTransactionIndex(t *testing.T) {
	logs, truth := fixture.Unpack(t, "logs"), fixture.Unpack(t, "truth")
	for _, pattern := range []string{"*.txnindex", "*.snapshot", "*.index", "*.timeindex"} {
		names, err := filepath.Glob(filepath.Join(logs, "txn-0", pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for i, name := range names {
			if i%2 == 0 {
				err = os.Remove(name)
			} else {
				err = os.WriteFile(name, []byte("rotten to the core, all of it"), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	p := partition(t, openStore(t, logs, Options{ReadOnly: true, Isolation: ReadCommitted}), "txn-0")
	want := ""
	for _, r := range fixture.Lines[fixture.Record](t, filepath.Join(truth, "txn-0.read_committed.jsonl")) {
		want += string(fixture.Bytes(t, r.Value)) + "\n"
	}
	if got := text(t, p, FormatValues); got != want {
		t.Errorf("values have %d bytes, want %d", len(got), len(want))
	}
}
