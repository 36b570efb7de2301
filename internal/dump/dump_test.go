package dump

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klogfs/batch"
	"klogfs/internal/coordinator"
	"klogfs/internal/fixture"
)

// all prints everything, as the command does by default.
func all() Options {
	return Options{MaxBytes: NoLimit, MaxMessageSize: DefaultMaxMessageSize, From: FirstOffset, To: NoOffset}
}

// printed is what a dump of files writes.
func printed(names []string, o Options) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	err = Files(&out, &errs, names, o)
	return out.String(), errs.String(), err
}

// Kafka's tool printed the same of the same files, standard error behind
// standard output.
func TestGolden(t *testing.T) {
	dumps, err := filepath.Glob(filepath.Join(fixture.Unpack(t, "dump"), "*.txt"))
	if err != nil || len(dumps) < 30 {
		t.Fatalf("%d dumps, %v", len(dumps), err)
	}
	t.Chdir(fixture.Unpack(t, "logs"))
	for _, dump := range dumps {
		name := filepath.Base(dump)
		t.Run(name, func(t *testing.T) {
			o := all()
			o.PrintDataLog = strings.Contains(name, ".print-data-log.")
			o.IndexSanityCheck = strings.Contains(name, ".index-sanity.")
			if strings.Contains(name, ".offsets-decoder.") {
				o.PrintDataLog, o.Messages = true, &Messages{Known: coordinator.OffsetsType, Key: coordinator.OffsetsKey, Value: coordinator.OffsetsValue}
			}
			want, err := os.ReadFile(dump)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for line := range strings.Lines(string(want)) {
				if file, ok := strings.CutPrefix(line, "Dumping "); ok {
					names = append(names, strings.TrimSpace(file))
				}
			}
			stdout, stderr, err := printed(names, o)
			if err != nil {
				t.Error(err)
			}
			if got, want := stdout+sections(t, stderr), split(t, string(want)); got != want {
				t.Errorf("want -, got +\n%s", cmp.Diff(want, got))
			}
		})
	}
}

const gapTitle = "Non-consecutive offsets in "

// split brings the reports of a dump into an order: Kafka's is that of a hash
// table.
func split(t *testing.T, dump string) string {
	t.Helper()
	at := strings.Index(dump, gapTitle)
	if at < 0 {
		return dump
	}
	const there = "/work/kafka/fx1/logs"
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dump[:at] + sections(t, strings.ReplaceAll(dump[at:], there, dir))
}

func sections(t *testing.T, stderr string) string {
	t.Helper()
	parts := strings.SplitAfter(strings.ReplaceAll(stderr, gapTitle, "\x00"+gapTitle), "\x00")
	slices.Sort(parts)
	return strings.ReplaceAll(strings.Join(parts, ""), "\x00", "")
}

// segmentOf writes a segment of batches, and returns its name.
func segmentOf(tb testing.TB, batches ...[]byte) string {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "00000000000000000000.log")
	if err := os.WriteFile(name, bytes.Join(batches, nil), 0o600); err != nil {
		tb.Fatal(err)
	}
	return name
}

// batchAt is a batch of values with a base offset.
func batchAt(tb testing.TB, base int64, o batch.BuilderOptions, values ...string) []byte {
	tb.Helper()
	var b batch.Builder
	b.Begin(nil, o)
	for i, v := range values {
		b.Append(1_750_000_000_000+int64(i), []byte("k"), []byte(v), []batch.RecordHeader{{Key: []byte("h"), Value: []byte{0xff}}})
	}
	out, err := b.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	batch.SetBaseOffset(out, base)
	return out
}

func TestRange(t *testing.T) {
	none := batch.BuilderOptions{}
	name := segmentOf(t, batchAt(t, 0, none, "a", "b"), batchAt(t, 2, none, "c", "d"), batchAt(t, 4, none, "e"))
	for _, tc := range []struct {
		from, to      int64
		batches, want string
	}{
		{FirstOffset, NoOffset, "0,2,4,", "abcde"},
		{1, 3, "0,2,", "bc"},
		{2, 4, "2,", "cd"},
		{4, NoOffset, "4,", "e"},
		{5, NoOffset, "", ""},
		{3, 3, "2,", ""},
		{-5, 1, "0,", "a"},
	} {
		o := all()
		o.PrintDataLog, o.From, o.To = true, tc.from, tc.to
		stdout, stderr, err := printed([]string{name}, o)
		if err != nil || stderr != "" {
			t.Errorf("%d to %d: %v, %s", tc.from, tc.to, err, stderr)
		}
		var batches, values string
		for line := range strings.Lines(stdout) {
			if rest, ok := strings.CutPrefix(line, "baseOffset: "); ok {
				base, _, _ := strings.Cut(rest, " ")
				batches += base + ","
			}
			if _, value, ok := strings.Cut(line, "payload: "); ok {
				values += strings.TrimSpace(value)
			}
		}
		if batches != tc.batches || values != tc.want {
			t.Errorf("%d to %d: batches %q of %q", tc.from, tc.to, batches, values)
		}
	}
}

func TestJSON(t *testing.T) {
	producer := &batch.Producer{ID: 7, Epoch: 1, BaseSequence: 3}
	b := batchAt(t, 10, batch.BuilderOptions{Codec: batch.CodecZstd, Producer: producer, Transactional: true}, "q\"\n")
	name := segmentOf(t, b)
	o := all()
	o.JSON, o.Key = true, Hex
	stdout, stderr, err := printed([]string{name}, o)
	if err != nil || stderr != "" {
		t.Fatal(err, stderr)
	}
	for _, want := range []string{
		`{"file":"` + name + `","position":0,`, `,"codec":"zstd",`, `"valid":true,"baseOffset":10,"lastOffset":10,`,
		`"producerId":7,"producerEpoch":1,"transactional":true,"control":false,"deleteHorizonMs":null,"offset":10,`,
		`"sequence":3,"key":"6b","value":"q\"\n","headers":[["h",{"base64":"/w=="}]]}` + "\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%s lacks %s", stdout, want)
		}
	}
}

// What a reader of Java makes of bytes that are not UTF-8; the whole table was
// compared with Java once (TestDumpBinary of internal/interop goes on with it).
func TestJavaString(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                "plain",
		"gr\u00f6\u00dfe":      "gr\u00f6\u00dfe",
		"\xff\xfe":             "\uFFFD\uFFFD",
		"\xe2\x82":             "\uFFFD",
		"\xe2\x82a":            "\uFFFDa",
		"\xed\xa0\x80":         "\uFFFD",
		"\xe0\x80\x80":         "\uFFFD\uFFFD\uFFFD",
		"\xf0\x9f\x98":         "\uFFFD",
		"\xf4\x90\x80\x80":     "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xf5\x80":             "\uFFFD\uFFFD",
		"a\x80b\xc2c\xc0\xafd": "a\uFFFDb\uFFFDc\uFFFD\uFFFDd",
	} {
		if got := string(appendJavaString(nil, []byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

type brokenPipe struct{ after int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.after--; p.after < 0 {
		return 0, os.NewSyscallError("write", syscall.EPIPE)
	}
	return len(b), nil
}

// A reader that goes away ends it and is no failure; a full disk is one.
func TestOutputFails(t *testing.T) {
	values := slices.Repeat([]string{strings.Repeat("v", 1000)}, 5000)
	name := segmentOf(t, batchAt(t, 0, batch.BuilderOptions{}, values...))
	o := all()
	o.PrintDataLog = true
	var errs bytes.Buffer
	for after := range 3 {
		if err := Files(&brokenPipe{after}, &errs, []string{name, name}, o); err != nil || errs.Len() > 0 {
			t.Errorf("%v, %s", err, errs.String())
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	if err := Files(full, &errs, []string{name}, o); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full: %v", err)
	}
}

func BenchmarkPrintDataLog(b *testing.B) {
	values := slices.Repeat([]string{strings.Repeat("0123456789", 9) + "01234567"}, 160)
	var batches [][]byte
	for i := range int64(1000) {
		batches = append(batches, batchAt(b, i*160, batch.BuilderOptions{}, values...))
	}
	name := segmentOf(b, batches...)
	info, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	o := all()
	o.PrintDataLog = true
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		if err := Files(discard{}, discard{}, []string{name}, o); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
