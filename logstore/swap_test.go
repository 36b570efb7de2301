package logstore

import (
	"os"
	"path/filepath"
	"testing"
)

// Case 8: what an interrupted cleaning left. A whole swap file stands for the
// segments that it covers, in a broker's log as in one of ours; any other does
// not, nor do files that are being made or deleted.
func TestInterruptedCleaning(t *testing.T) {
	old := records(t, 0, 100, "old")
	second := records(t, 100, 151, "old")
	third := records(t, 151, 160, "v")
	swap := builtBatch(t, 40, 1000, 110, "kept-a", "kept-b") // offsets 40 to 150
	torn := swap[:len(swap)-3]
	all := expected(0, 100, "old") + expected(100, 151, "old") + expected(151, 160, "v")
	for _, tc := range []struct {
		name  string
		files map[string][]byte
		want  string
		names []string // in the raw directory
	}{
		{"a whole one", map[string][]byte{"0.log.swap": swap}, "kept-a\nkept-b\n" + expected(151, 160, "v"), []string{"0.log", "151.log"}},
		{"an empty one", map[string][]byte{"0.log.swap": nil}, all, nil},
		{"a torn one", map[string][]byte{"0.log.swap": torn}, all, nil},
		{"one being made", map[string][]byte{"0.log.cleaned": swap}, all, nil},
		{"a split that did not end", map[string][]byte{"0.log.cleaned": nil, "100.log.swap": swap}, all, nil},
		{"deleted ones", map[string][]byte{"0.log.deleted": swap, "500.log.deleted": swap}, all, nil},
	} {
		b := newBroker(t, old)
		b.write(100, second)
		b.write(151, third)
		for name, content := range tc.files {
			base, suffix, _ := cutName(name)
			writeFile(t, filepath.Join(b.dir, "p-0", segmentFile(base, suffix)), content)
		}
		s := openStore(t, b.dir, Options{ReadOnly: true})
		if got := b.values(s); got != tc.want {
			t.Errorf("%s: values have %d bytes, want %d", tc.name, len(got), len(tc.want))
		}
		if tc.names != nil {
			checkRawLogs(t, partition(t, s, "p-0"), tc.names)
		}
		checkAdopted(t, b.dir, tc.name, tc.want)
	}
}

func cutName(name string) (int64, string, bool) {
	dot := 0
	for name[dot] != '.' {
		dot++
	}
	var base int64
	for _, c := range name[:dot] {
		base = base*10 + int64(c-'0')
	}
	return base, name[dot:], true
}

func checkRawLogs(t *testing.T, p *Partition, want []string) {
	t.Helper()
	files, err := p.RawFiles()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		if base, suffix, ok := parseSegmentFile(f.Name); ok && suffix == suffixLog {
			got = append(got, f.Name)
			r, err := p.OpenRaw(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			if r.Size() != f.Size || base < 0 {
				t.Errorf("%s has %d bytes open, %d listed", f.Name, r.Size(), f.Size)
			}
			r.Close()
		}
	}
	if len(got) != len(want) {
		t.Fatalf("raw has %v, want %v", got, want)
	}
	for i, name := range want {
		base, suffix, _ := cutName(name)
		if got[i] != segmentFile(base, suffix) {
			t.Errorf("raw has %v, want %v", got, want)
		}
	}
}

// checkAdopted makes the directory one of ours and opens it for writing.
func checkAdopted(t *testing.T, dir, name, want string) {
	t.Helper()
	own := t.TempDir()
	s := openStore(t, own, Options{})
	newTopic(t, s, "p", nil)
	closeStore(t, s)
	if err := os.RemoveAll(filepath.Join(own, "p-0")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "p-0"), filepath.Join(own, "p-0")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := openStore(t, own, Options{})
		if got := text(t, partition(t, s, "p-0"), FormatValues); got != want {
			t.Errorf("%s, in a store of ours: values have %d bytes, want %d", name, len(got), len(want))
		}
		closeStore(t, s)
	}
}
