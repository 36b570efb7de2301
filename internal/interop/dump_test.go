package interop

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"klogfs/batch"
	"klogfs/internal/coordinator"
	"klogfs/internal/dump"
	"klogfs/internal/fixture"
	"klogfs/internal/kafkatest"
)

// sameDump runs Kafka's tool and ours on files, and expects the same text. What
// ends Kafka's tool with an exception has to end ours as damage.
func sameDump(t *testing.T, k *kafkatest.Kafka, o dump.Options, files []string, flags ...string) {
	t.Helper()
	want, got := bothDumps(t, k, o, files, flags...)
	same(t, strings.Join(flags, " "), got, want)
}

// bothDumps are what Kafka's tool and ours print.
func bothDumps(t *testing.T, k *kafkatest.Kafka, o dump.Options, files []string, flags ...string) (kafkas, ours []byte) {
	t.Helper()
	flags = append(flags, "--files", strings.Join(files, ","))
	want, kafkaErr := k.Try(t, "org.apache.kafka.tools.DumpLogSegments", flags...)
	o.From, o.To = dump.FirstOffset, dump.NoOffset
	if o.MaxBytes == 0 {
		o.MaxBytes = dump.NoLimit
	}
	o.MaxMessageSize = dump.DefaultMaxMessageSize
	var got, stderr bytes.Buffer
	err := dump.Files(&got, &stderr, files, o)
	if kafkaErr != nil && err == nil {
		t.Errorf("%v: no error, Kafka has %v", flags, kafkaErr)
	}
	return want, got.Bytes()
}

// segmentsAndMore are files of some partitions.
func segmentsAndMore(t *testing.T, suffixes []string, partitions ...string) []string {
	t.Helper()
	var files []string
	for _, partition := range partitions {
		files = append(files, segmentFiles(t, partition, suffixes...)...)
	}
	if len(files) == 0 {
		t.Fatal("no files")
	}
	return files
}

// TestDumpIsKafkas compares dumps with those of Kafka's own tool, byte for
// byte.
func TestDumpIsKafkas(t *testing.T) {
	k := kafkatest.Require(t)
	t.Setenv("LC_ALL", "C.UTF-8") // else Java prints ? for what is not ASCII
	logs, killed := fixture.Unpack(t, "logs"), fixture.Unpack(t, "killed")
	indexes := []string{".index", ".timeindex", ".txnindex", ".snapshot"}
	contents := dump.Options{PrintDataLog: true}

	t.Run("contents", func(t *testing.T) {
		t.Chdir(logs)
		legacy, err := filepath.Glob("legacy-*")
		if err != nil || len(legacy) != 8 {
			t.Fatal(legacy, err)
		}
		partitions := append(legacy, "edge-0", "txn-0", "trimmed-0", "compacted-zstd-0", "codec-lz4-0",
			"kcat-snappy-0", "__transaction_state-0", "__cluster_metadata-0")
		sameDump(t, k, contents, segmentsAndMore(t, []string{".log", ".checkpoint"}, partitions...), "--print-data-log")
		sameDump(t, k, dump.Options{PrintDataLog: true, SkipRecordMetadata: true},
			segmentsAndMore(t, []string{".log"}, "txn-0", "legacy-v1-gzip-0"), "--print-data-log", "--skip-record-metadata")
		sameDump(t, k, dump.Options{DeepIteration: true}, segmentsAndMore(t, []string{".log"}, "txn-0"), "--deep-iteration")
		sameDump(t, k, dump.Options{MaxBytes: 3000}, segmentsAndMore(t, []string{".log"}, "txn-0", "edge-0"), "--max-bytes", "3000")
		sameDump(t, k, dump.Options{}, segmentsAndMore(t, indexes, "txn-0", "trimmed-0", "times-0"))
		offsets := &dump.Messages{Known: coordinator.OffsetsType, Key: coordinator.OffsetsKey, Value: coordinator.OffsetsValue}
		sameDump(t, k, dump.Options{PrintDataLog: true, Messages: offsets},
			segmentsAndMore(t, []string{".log"}, "__consumer_offsets-1", "__consumer_offsets-3"), "--offsets-decoder")
		transactions := &dump.Messages{Known: coordinator.TransactionType, Key: coordinator.TransactionKey, Value: coordinator.TransactionValue}
		sameDump(t, k, dump.Options{PrintDataLog: true, Messages: transactions},
			segmentsAndMore(t, []string{".log"}, "__transaction_state-0", "__transaction_state-1"), "--transaction-log-decoder")
	})
	t.Run("killed", func(t *testing.T) {
		t.Chdir(killed)
		partitions := []string{"codec-none-0", "epochs-0", "killed-0"}
		sameDump(t, k, contents, segmentsAndMore(t, []string{".log"}, partitions...), "--print-data-log")
		sameDump(t, k, dump.Options{}, segmentsAndMore(t, indexes, partitions...))
		sameDump(t, k, dump.Options{VerifyIndexOnly: true}, segmentsAndMore(t, indexes, partitions...), "--verify-index-only")
		for _, index := range segmentsAndMore(t, indexes[:2], "codec-none-0", "epochs-0") {
			sameDump(t, k, dump.Options{IndexSanityCheck: true}, []string{index}, "--index-sanity-check")
		}
	})
}

// TestDumpBinary has bytes in keys, values and header names that are no text.
func TestDumpBinary(t *testing.T) {
	k := kafkatest.Require(t)
	t.Setenv("LC_ALL", "C.UTF-8")
	random := rand.New(rand.NewPCG(7, 70))
	starts := []byte("a\x00\n\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xed\xef\xf0\xf1\xf4\xf5\xf8\xff")
	someBytes := func() []byte {
		b := make([]byte, random.IntN(12))
		for i := range b {
			b[i] = starts[random.IntN(len(starts))]
		}
		return b
	}
	var segment []byte
	var b batch.Builder
	for i := range 100 {
		b.Begin(nil, batch.BuilderOptions{Codec: batch.Codec(i % 5)})
		for range 200 {
			b.Append(1_750_000_000_000, someBytes(), someBytes(), []batch.RecordHeader{{Key: someBytes()}, {Key: someBytes()}})
		}
		out, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		batch.SetBaseOffset(out, int64(i*200))
		segment = append(segment, out...)
	}
	t.Chdir(t.TempDir())
	const name = "00000000000000000000.log"
	if err := os.WriteFile(name, segment, 0o600); err != nil {
		t.Fatal(err)
	}
	sameDump(t, k, dump.Options{PrintDataLog: true}, []string{name}, "--print-data-log")
}

// TestDumpDamaged compares dumps of damaged files.
func TestDumpDamaged(t *testing.T) {
	k := kafkatest.Require(t)
	t.Setenv("LC_ALL", "C.UTF-8")
	logs := fixture.Unpack(t, "logs")
	for i, tc := range []struct {
		file   string
		change func([]byte) []byte
	}{
		{"txn-0/00000000000000000000.log", set(75, 'X')},
		{"txn-0/00000000000000000000.log", set(22, 5)},
		{"txn-0/00000000000000000000.log", set(60, 9)},
		{"txn-0/00000000000000000000.log", set(16, 0xff)},
		{"txn-0/00000000000000000000.log", func(b []byte) []byte { return b[:len(b)-5] }},
		{"txn-0/00000000000000000000.log", func(b []byte) []byte { return append(b, make([]byte, 4096)...) }},
		{"txn-0/00000000000000000000.log", func(b []byte) []byte { return append(b, b...) }},
		{"codec-gzip-0/00000000000000000000.log", set(100, 'X')},
		{"legacy-v1-gzip-0/00000000000000000000.log", set(60, 'X')},
		{"legacy-v0-none-0/00000000000000000000.log", set(40, 'X')},
		{"txn-0/00000000000000000016.index", set(3, 7)},
		{"txn-0/00000000000000000016.index", set(7, 7)},
		{"txn-0/00000000000000000016.timeindex", set(11, 7)},
		{"txn-0/00000000000000000016.timeindex", set(7, 7)},
		{"txn-0/00000000000000000016.txnindex", func(b []byte) []byte { return b[:50] }},
		{"txn-0/00000000000000000016.snapshot", set(30, 7)},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(logs, filepath.Dir(tc.file)))); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			name := filepath.Base(tc.file)
			if err := os.WriteFile(name, tc.change(readFile(t, name)), 0o600); err != nil {
				t.Fatal(err)
			}
			sameDump(t, k, dump.Options{PrintDataLog: true}, []string{name}, "--print-data-log")
		})
	}
}

// set changes one byte.
func set(at int, v byte) func([]byte) []byte {
	return func(b []byte) []byte {
		b[at] = v
		return b
	}
}
