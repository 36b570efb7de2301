package logstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

// A partition may begin in an old format and go on in the new one, within one
// segment too: all of it is one log.
func TestMixedFormats(t *testing.T) {
	logs, truth := fixture.Unpack(t, "logs"), fixture.Unpack(t, "truth")
	for _, name := range []string{"legacy-v0-none", "legacy-v0-gzip", "legacy-v1-lz4", "legacy-v1-snappy"} {
		old, err := os.ReadFile(filepath.Join(logs, name+"-0", segmentFile(0, suffixLog)))
		if err != nil {
			t.Fatal(err)
		}
		want, next := "", int64(0)
		for _, r := range fixture.Lines[fixture.Record](t, filepath.Join(truth, name+"-0.jsonl")) {
			want += string(fixture.Bytes(t, r.Value)) + "\n"
			next = r.Offset + 1
		}
		const later = 1400000000000
		mixed := append(bytes.Clone(old), builtBatch(t, next, later, -1, "new a", "new b")...)
		s := openStore(t, writeBroker(t, map[int64][]byte{0: mixed, next + 2: builtBatch(t, next+2, later+5, -1, "new c")}), Options{ReadOnly: true})
		p := partition(t, s, "p-0")
		if got := text(t, p, FormatValues); got != want+"new a\nnew b\nnew c\n" {
			t.Errorf("%s: values have %d bytes, want %d", name, len(got), len(want)+18)
		}
		if got := value(t, p, next+1); got != "new b" || value(t, p, next-1)+"\n" != want[strings.LastIndex(strings.TrimSuffix(want, "\n"), "\n")+1:] {
			t.Errorf("%s: offset %d is %q", name, next+1, got)
		}
		if l, err := p.OffsetForTime(later + 1); err != nil || l.Offset != next+1 {
			t.Errorf("%s: time %d is offset %d, %v", name, later+1, l.Offset, err)
		}
		if _, err := p.OffsetForTime(later + 6); !errors.Is(err, ErrNoRecord) {
			t.Errorf("%s: a time after the last: %v", name, err)
		}
		count := 0
		o := p.Offsets(0)
		for o.Next() {
			count++
		}
		o.Close()
		if count != strings.Count(want, "\n")+3 || o.Err() != nil {
			t.Errorf("%s: %d offsets are listed, %v", name, count, o.Err())
		}
	}
}

// A timestamp that a record does not have is after nothing.
func TestNoTimestamps(t *testing.T) {
	logs := fixture.Unpack(t, "logs")
	p := partition(t, openStore(t, logs, Options{ReadOnly: true}), "legacy-v0-gzip-0")
	if _, err := p.OffsetForTime(0); !errors.Is(err, ErrNoRecord) {
		t.Errorf("time 0 in a log without timestamps: %v", err)
	}
	l, err := p.Locate(0)
	if err != nil || l.Timestamp != -1 {
		t.Fatalf("%+v, %v", l, err)
	}
	r, err := l.ReadRecord()
	if err != nil || r.TimestampType != batch.NoTimestampType {
		t.Errorf("%+v, %v", r, err)
	}
}
