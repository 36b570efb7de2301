package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

// sample is the first few batches of a log that a broker wrote.
type sample struct {
	log    []byte
	starts []int // of the batches, and the end
	lasts  []int64
	base   int64
	first  int64 // offset
}

func takeSample(t *testing.T, file string, batches, most int) sample {
	t.Helper()
	log, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	base, _, _ := parseSegmentFile(filepath.Base(file))
	s := sample{starts: []int{0}, base: base}
	sc := batch.NewScanner(bytes.NewReader(log), 0, int64(len(log)))
	for len(s.lasts) < batches && sc.Next() && sc.End() <= int64(most) {
		s.starts = append(s.starts, int(sc.End()))
		if len(s.lasts) == 0 {
			s.first = max(base, sc.Header().LeastOffset())
		}
		s.lasts = append(s.lasts, sc.Header().LastOffset())
	}
	if len(s.lasts) < 3 {
		t.Fatalf("%s has %d batches within %d bytes", file, len(s.lasts), most)
	}
	s.log = log[:s.starts[len(s.starts)-1]]
	return s
}

// batchOf is the number of the batch that has a byte.
func (s *sample) batchOf(at int) int { return sort.SearchInts(s.starts, at+1) - 1 }

func (s *sample) last() int64 { return s.lasts[len(s.lasts)-1] }

// batchWith is the number of the batch that has an offset.
func (s *sample) batchWith(offset int64) int {
	return sort.Search(len(s.lasts), func(i int) bool { return s.lasts[i] >= offset })
}

// contents reads all records of a log by offset: what each is, or its error;
// and the view that passes over damage.
func (s *sample) contents(t *testing.T, dir string) (map[int64]string, string) {
	t.Helper()
	store := openStore(t, dir, Options{ReadOnly: true, SkipCorrupt: true})
	defer closeStore(t, store)
	p := partition(t, store, "p-0")
	all := map[int64]string{}
	for offset := s.first; offset <= s.last(); offset++ {
		l, err := p.Locate(offset)
		if errors.Is(err, ErrNoRecord) {
			continue
		}
		var text []byte
		if err == nil {
			text, err = l.AppendJSON(nil)
		}
		if err != nil {
			all[offset] = "error: " + err.Error()
			if !isDamage(err) {
				t.Fatalf("offset %d: %v", offset, err)
			}
			continue
		}
		all[offset] = string(text)
	}
	return all, text(t, p, FormatJSONL)
}

// samples are a segment of every codec and format.
func samples(t *testing.T) map[string]sample {
	logs := fixture.Unpack(t, "logs")
	all := map[string]sample{}
	for _, name := range []string{
		"codec-none-0", "codec-gzip-0", "codec-snappy-0", "codec-lz4-0", "codec-zstd-0", "txn-0", "append-time-0", "compacted-0",
		"legacy-v0-none-0", "legacy-v0-gzip-0", "legacy-v0-snappy-0", "legacy-v0-lz4-0",
		"legacy-v1-none-0", "legacy-v1-gzip-0", "legacy-v1-snappy-0", "legacy-v1-lz4-0",
	} {
		files, err := filepath.Glob(filepath.Join(logs, name, "*.log"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d segments, %v", name, len(files), err)
		}
		all[name] = takeSample(t, files[0], 4, 2200)
	}
	return all
}

// matrixStep leaves most bytes out where time is short.
func matrixStep() int {
	if testing.Short() {
		return 11
	}
	return 1
}

// A byte of any batch may change to anything: every record of the others reads
// as before. So does every record of the batch itself, or it is an error, but
// where the byte is part of its base offset or epoch, which no checksum covers.
func TestCorruptionMatrix(t *testing.T) {
	for name, s := range samples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := matrixStep()
			for _, sealed := range []bool{false, true} {
				dir := damagedDir(t, &s, s.log, sealed)
				whole, _ := s.contents(t, dir)
				if len(whole) == 0 {
					t.Fatal("no record reads in the whole log")
				}
				for at := 0; at < len(s.log); at += step {
					header := at-s.starts[s.batchOf(at)] < batch.HeaderSize
					if header || !sealed {
						s.checkChange(t, dir, at, 1<<(at%8), sealed, whole)
					}
					if header {
						s.checkChange(t, dir, at, 0xff, sealed, whole)
					}
				}
			}
		})
	}
}

// A log may end at any byte: every whole batch before reads as it did.
func TestCutMatrix(t *testing.T) {
	for name, s := range samples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := damagedDir(t, &s, s.log, false)
			whole, _ := s.contents(t, dir)
			for cut := 0; cut < len(s.log); cut += matrixStep() {
				writeFile(t, filepath.Join(dir, "p-0", segmentFile(s.base, suffixLog)), s.log[:cut])
				got, view := s.contents(t, dir)
				kept := ""
				for offset := s.first; offset <= s.last(); offset++ {
					want := whole[offset]
					if s.starts[s.batchWith(offset)+1] > cut {
						want = ""
					}
					kept += want
					if got[offset] != want {
						t.Fatalf("cut at %d: offset %d is %q, want %q", cut, offset, got[offset], want)
					}
				}
				if view != kept {
					t.Fatalf("cut at %d: the view has %d bytes, want %d", cut, len(view), len(kept))
				}
			}
		})
	}
}

// damagedDir is a log directory of a broker with the log as its only segment,
// or as one before the last.
func damagedDir(t *testing.T, s *sample, log []byte, sealed bool) string {
	t.Helper()
	segments := map[int64][]byte{s.base: log}
	if next := s.last() + 1; sealed {
		segments[next] = builtBatch(t, next, 1, 0, "after")
	}
	return writeBroker(t, segments)
}

func (s *sample) checkChange(t *testing.T, dir string, at int, change byte, sealed bool, whole map[int64]string) {
	t.Helper()
	log := append([]byte{}, s.log...)
	log[at] ^= change
	writeFile(t, filepath.Join(dir, "p-0", segmentFile(s.base, suffixLog)), log)
	got, view := s.contents(t, dir)
	b := s.batchOf(at)
	within := at - s.starts[b]
	covered := within >= 8 && (within < 12 || within >= 16)
	where := fmt.Sprintf("byte %d (%d of batch %d), changed by %#x, sealed %t", at, within, b, change, sealed)
	before, after := "", ""
	for offset := s.first; offset <= s.last(); offset++ {
		want, is := whole[offset], got[offset]
		switch of := s.batchWith(offset); {
		case !covered && want == "":
			continue // a hole, where records with a wrong offset may appear
		case of < b:
			before += want
		case of > b:
			after += want
		case !covered, is == "" && want == "":
			continue
		case is == "" && b == len(s.lasts)-1 && !sealed:
			continue // it may be a batch that is being written
		case !strings.HasPrefix(is, "error: "):
			t.Fatalf("%s: offset %d of it is %q", where, offset, is)
		default:
			continue
		}
		if is != want {
			t.Fatalf("%s: offset %d is %q, want %q", where, offset, is, want)
		}
	}
	if !strings.HasPrefix(view, before) || !strings.HasSuffix(strings.TrimSuffix(view, afterLine(sealed, s)), after) {
		t.Fatalf("%s: the view lacks records outside of it:\n%s", where, view)
	}
}

// afterLine is the record of the segment behind a sealed one, in the view.
func afterLine(sealed bool, s *sample) string {
	if !sealed {
		return ""
	}
	return fmt.Sprintf(`{"topic":"p","partition":0,"offset":%d,"timestamp":1,"timestampType":"CreateTime","leaderEpoch":0,"key":null,"value":"after","headers":[]}`+"\n", s.last()+1)
}
