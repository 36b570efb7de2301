package dump

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

// Damaged segments: what is printed of them, and that it is told.
func TestDamagedSegments(t *testing.T) {
	sound := func() []byte { return batchAt(t, 0, batch.BuilderOptions{}, "one", "two") }
	packed := func() []byte { return batchAt(t, 0, batch.BuilderOptions{Codec: batch.CodecGzip}, "one", "two") }
	change := func(b []byte, at int, v byte) []byte { b[at] = v; return b }
	for _, tc := range []struct {
		name   string
		b      []byte
		output string // in what is printed
		lines  int
		want   string // in the error
	}{
		{"sound", sound(), "isvalid: true", 5, ""},
		{"empty", nil, "Log starting offset: 0", 2, ""},
		{"a bit of a value", change(sound(), 68, 'X'), "isvalid: false", 5, "checksum"},
		{"half a batch", sound()[:90], "Found 90 invalid bytes at the end of 00000000000000000000.log", 3, "no whole batch"},
		{"half a header", append(sound(), sound()[:17]...), "Found 17 invalid bytes", 6, "no whole batch"},
		{"zeros", append(sound(), make([]byte, 100)...), "payload: two", 5, "length 0 is below 14"},
		{"magic −1", change(sound(), 16, 0xff), "offset: 0", 2, "magic -1"},
		{"codec 5", change(sound(), 22, 5), "deleteHorizonMs: OptionalLong.empty", 2, "codec 5"},
		{"one record more", change(sound(), 60, 3), "payload: two", 5, "record 2"},
		{"one record less", change(sound(), 60, 1), "isvalid: false", 3, "behind the last record"},
		{"count below 0", change(sound(), 57, 0xff), "count: -16777214", 3, "count"},
		{"a record's length", change(sound(), 61, 200), "isvalid: false", 3, "record 0"},
		{"gzip that is not", change(packed(), 61, 0), "isvalid: false", 3, "can't be decompressed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := all()
			o.PrintDataLog = true
			name := segmentOf(t, tc.b)
			stdout, _, err := printed([]string{name}, o)
			if !strings.Contains(stdout, tc.output) || strings.Count(stdout, "\n") != tc.lines {
				t.Errorf("printed:\n%s", stdout)
			}
			if (err == nil) != (tc.want == "") || err != nil && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			o.JSON = true
			if _, _, jerr := printed([]string{name}, o); (jerr == nil) != (err == nil) {
				t.Errorf("as JSON: %v", jerr)
			}
		})
	}
}

// Damaged indexes and snapshots of a partition that a broker wrote.
func TestDamagedIndexes(t *testing.T) {
	const base = "00000000000000000016"
	dir := filepath.Join(fixture.Unpack(t, "logs"), "txn-0")
	set := func(at int, v byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= v; return b }
	}
	sanity := func(o *Options) { o.IndexSanityCheck = true }
	verify := func(o *Options) { o.VerifyIndexOnly = true }
	for _, tc := range []struct {
		name, suffix string
		change       func([]byte) []byte
		options      func(*Options)
		stderr, want string
	}{
		{"sound", ".index", set(0, 0), verify, "", ""},
		{"wrong offset", ".index", set(3, 1), verify, "  Index offset: 23, log offset: 22\n", "entry 0"},
		{"past the end", ".index", set(5, 0x70), verify, "", "the segment has"},
		{"no batch there", ".index", set(7, 1), verify, "", "no"},
		{"half an entry", ".index", func(b []byte) []byte { return b[:12] }, sanity, "", "multiple of 8"},
		{"last offset below", ".index", func(b []byte) []byte { b[len(b)-8] = 0x80; return b }, sanity, "", "below the base"},
		{"wrong time", ".timeindex", set(7, 1), verify, "Found timestamp mismatch in :", "1 of its entries"},
		{"time of nothing", ".timeindex", set(10, 4), verify, "Indexed offset: 1041, found log offset: -1\n", "1 of its entries"},
		{"time falls", ".timeindex", set(3, 0x40), sanity, "", "below the first"},
		{"aborted of version 9", ".txnindex", set(1, 9), nil, "", "version 9"},
		{"half an aborted one", ".txnindex", func(b []byte) []byte { return b[:50] }, nil, "", "half an entry"},
		{"snapshot of version 3", ".snapshot", set(1, 2), nil, "unknown file version 3", "version 3"},
		{"snapshot with a bit", ".snapshot", set(20, 1), nil, "CRC is no longer valid", "CRC"},
		{"half a snapshot", ".snapshot", func(b []byte) []byte { return b[:60] }, nil, "schema validation", "2 entries in 50 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			to := t.TempDir()
			if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(to, base+tc.suffix)
			file, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, tc.change(file), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			o := all()
			if tc.options != nil {
				tc.options(&o)
			}
			_, stderr, err := printed([]string{name}, o)
			if !strings.Contains(stderr, tc.stderr) || tc.stderr == "" && stderr != "" {
				t.Errorf("reported:\n%s", stderr)
			}
			if (err == nil) != (tc.want == "") || err != nil && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// Files that are not there, or not what their names say.
func TestWrongFiles(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]error{
		"00000000000000000000.log":       os.ErrNotExist,
		"00000000000000000000.index":     os.ErrNotExist,
		"00000000000000000000.timeindex": os.ErrNotExist,
		"00000000000000000000.txnindex":  os.ErrNotExist,
		"00000000000000000000.snapshot":  os.ErrNotExist,
		"notes.txt":                      ErrUnknownFile,
		"notes":                          ErrUnknownFile,
		"x.checkpoint":                   ErrUnknownFile,
	} {
		if _, _, err := printed([]string{filepath.Join(dir, name)}, all()); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := printed([]string{filepath.Join(dir, "orders.log")}, all()); err == nil || !strings.Contains(err.Error(), "base offset") {
		t.Errorf("no offset: %v", err)
	}
	// An index without its segment says which file is missing.
	index := filepath.Join(dir, "00000000000000000000.index")
	if err := os.WriteFile(index, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := printed([]string{index}, all()); err == nil || !strings.Contains(err.Error(), "segment it belongs to") {
		t.Errorf("no segment: %v", err)
	}
}
