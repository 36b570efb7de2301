package interop

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"klogfs/internal/kafkatest"
)

// ourTopics are the topics that klogfs writes, with their compression.
var ourTopics = []struct{ name, compression string }{
	{"t", ""}, {"z", "zstd"}, {"l", "lz4"}, {"g", "gzip"}, {"s", "snappy"},
}

const (
	lineCount = 60_000
	// parts is in how many writes the lines come, so that they have times.
	parts = 12
)

// lines makes numbered lines that compress to about a half.
func lines(from, n int, random *rand.Rand) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "line %06d %016x%016x%016x\n", from+i, random.Uint64(), random.Uint64(), random.Uint64())
	}
	return b.Bytes()
}

// specialLines are values that something may stumble over.
func specialLines() []byte {
	var b bytes.Buffer
	b.WriteString("\n\n")
	b.WriteString("größer, 日本語, \U0001F600, e\u0301\n")
	b.WriteString(" \t leading and trailing \t \n")
	b.WriteString("\x00\x01\xff\xfe\r\n")
	b.WriteString("null\n")
	b.Write(bytes.Repeat([]byte("0123456789"), 90_000))
	b.WriteString("\n\nafter\n")
	return b.Bytes()
}

// probe is a question for a time, and the offset that klogfs answered with,
// empty where it had none.
type probe struct {
	ms     int64
	offset string
}

// written is what klogfs has of a topic.
type written struct {
	dir    string
	values []byte
	count  int
	probes []probe
}

// TestBrokerReadsOurSegments writes topics through a mount, gives the segments
// to a broker, and expects of it every value, and answers for times that are
// those of the mount.
func TestBrokerReadsOurSegments(t *testing.T) {
	requireFUSE(t)
	k := kafkatest.Require(t)
	store := filepath.Join(t.TempDir(), "store")
	topics := writeTopics(t, store)

	t.Run("dump", func(t *testing.T) { dumpSegments(t, k, topics) })

	b := k.NewBroker(t, filepath.Join(t.TempDir(), "logs"), nil)
	b.Start()
	for _, topic := range ourTopics {
		config := map[string]string{"segment.bytes": "1048576"}
		if topic.compression != "" {
			config["compression.type"] = topic.compression
		}
		b.CreateTopic(topic.name, 1, config)
	}
	b.Stop()
	for _, topic := range ourTopics {
		replaceSegments(t, topics[topic.name].dir, filepath.Join(b.LogDir(), topic.name+"-0"))
	}
	b.Start()
	for _, topic := range ourTopics {
		t.Run(topic.name, func(t *testing.T) { consume(t, k, b.In(t), topic.name, topics[topic.name]) })
	}
	t.Run("after a kill", func(t *testing.T) { recoverSegments(t, b.In(t), topics) })
	t.Run("append", func(t *testing.T) { appendToSegments(t, b.In(t), topics) })
}

// writeTopics writes all topics through a mount of a new store.
func writeTopics(t *testing.T, store string) map[string]*written {
	t.Helper()
	m := newMount(t, store, "-c", "log.segment.bytes=1048576")
	random := rand.New(rand.NewPCG(4, 40))
	topics := map[string]*written{}
	for _, topic := range ourTopics {
		if topic.compression == "" {
			if err := os.Mkdir(m.path("topics", topic.name), 0o755); err != nil {
				t.Fatal(err)
			}
		} else {
			klogfs(t, "topic", "create", "--mount", m.point, "--topic", topic.name,
				"--partitions", "1", "--config", "compression.type="+topic.compression)
		}
		partition := topic.name + "-0"
		w := &written{dir: filepath.Join(store, partition)}
		for i := range parts {
			part := lines(i*lineCount/parts, lineCount/parts, random)
			if i == parts/2 {
				part = append(part, specialLines()...)
			}
			m.cat(partition, part)
			w.values = append(w.values, part...)
		}
		w.count = bytes.Count(w.values, []byte("\n"))
		w.probes = probeTimes(t, m, partition, w.count)
		same(t, partition+"/values", m.read(partition, "values"), w.values)
		topics[topic.name] = w
	}
	m.umount()
	return topics
}

// probeTimes asks the mount for times in, before, between and after those of
// the records.
func probeTimes(t *testing.T, m *mount, partition string, count int) []probe {
	t.Helper()
	var times []int64
	n := 0
	for line := range bytes.Lines(m.read(partition, "records.jsonl")) {
		var record struct{ Timestamp int64 }
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		times = append(times, record.Timestamp)
		n++
	}
	if n != count {
		t.Fatalf("%s/records.jsonl has %d records, want %d", partition, n, count)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	ask := []int64{1, times[0] - 1, times[len(times)-1] + 1}
	for i := range 8 {
		ms := times[i*(len(times)-1)/7]
		ask = append(ask, ms, ms+1)
	}
	slices.Sort(ask)
	var probes []probe
	for _, ms := range slices.Compact(ask) {
		link, err := os.Readlink(m.path(partition, "time", strconv.FormatInt(ms, 10)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		probes = append(probes, probe{ms, strings.TrimPrefix(link, "../offset/")})
	}
	return probes
}

// segmentFiles are the files of a partition that klogfs gives to a broker.
func segmentFiles(t *testing.T, dir string, suffixes ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(e.Name(), s) }) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// replaceSegments puts our segments in the place of a broker's.
func replaceSegments(t *testing.T, from, to string) {
	t.Helper()
	ours := []string{".log", ".index", ".timeindex", "leader-epoch-checkpoint"}
	for _, name := range segmentFiles(t, to, append(ours, ".snapshot", ".txnindex")...) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range segmentFiles(t, from, ours...) {
		if err := os.WriteFile(filepath.Join(to, filepath.Base(name)), readFile(t, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// consume compares what clients get with what was written.
func consume(t *testing.T, k *kafkatest.Kafka, b *kafkatest.Broker, topic string, w *written) {
	got := b.Kcat("-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-D", `\n`)
	same(t, "kcat", got, w.values)
	got = b.Kcat("-C", "-t", topic, "-p", "0", "-o", "-1", "-e", "-q", "-f", "%o")
	if want := strconv.Itoa(w.count - 1); string(got) != want {
		t.Errorf("the last offset is %s, want %s", got, want)
	}
	got = k.Run(t, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", b.Addr(),
		"--topic", topic, "--partition", "0", "--offset", "earliest",
		"--max-messages", strconv.Itoa(w.count), "--timeout-ms", "60000")
	same(t, "console consumer", got, w.values)
	for _, p := range w.probes {
		got := b.Kcat("-C", "-t", topic, "-p", "0", "-o", fmt.Sprintf("s@%d", p.ms), "-c", "1", "-e", "-q", "-f", "%o")
		if string(got) != p.offset {
			t.Errorf("the broker finds offset %q for time %d, the mount %q", got, p.ms, p.offset)
		}
	}
}

// recoverSegments has the broker rebuild the indexes of our segments, as it
// does after it was killed, and compares them with ours.
func recoverSegments(t *testing.T, b *kafkatest.Broker, topics map[string]*written) {
	b.Kill()
	for name := range topics {
		for _, index := range segmentFiles(t, filepath.Join(b.LogDir(), name+"-0"), ".index", ".timeindex") {
			if err := os.Remove(index); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.Start()
	for name, w := range topics {
		got := b.Kcat("-C", "-t", name, "-p", "0", "-o", "beginning", "-e", "-q", "-D", `\n`)
		same(t, name, got, w.values)
	}
	b.Stop()
	for name, w := range topics {
		for _, ours := range segmentFiles(t, w.dir, ".log", ".index", ".timeindex") {
			theirs := filepath.Join(b.LogDir(), name+"-0", filepath.Base(ours))
			same(t, name+"/"+filepath.Base(ours)+", ours and the broker's", readFile(t, ours), readFile(t, theirs))
		}
	}
}

// appendToSegments has the broker go on where klogfs ended, and mounts what it
// made of it.
func appendToSegments(t *testing.T, b *kafkatest.Broker, topics map[string]*written) {
	b.Start()
	more := lines(lineCount, 20_000, rand.New(rand.NewPCG(5, 50)))
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, more, 0o644); err != nil {
		t.Fatal(err)
	}
	for name := range topics {
		b.Kcat("-P", "-t", name, "-p", "0", "-l", file)
	}
	b.Stop()
	m := newMount(t, b.LogDir(), "--read-only")
	for name, w := range topics {
		same(t, name+"/values", m.read(name+"-0", "values"), append(bytes.Clone(w.values), more...))
	}
	m.umount()
}

// complaint is what Kafka's dump tool says of segments that are not sound.
var complaint = regexp.MustCompile(`(?i)mismatch|isvalid: false|non-?consecutive|out of order|exception|error|fail|corrupt|unsound`)

// complaints are the lines of a dump that say that something is wrong.
func complaints(dump []byte) [][]byte {
	var found [][]byte
	for line := range bytes.Lines(dump) {
		if !bytes.HasPrefix(line, []byte("| offset: ")) && complaint.Match(line) {
			found = append(found, line)
		}
	}
	return found
}

// dumpSegments has Kafka's own tool check all our segments.
func dumpSegments(t *testing.T, k *kafkatest.Kafka, topics map[string]*written) {
	const tool = "org.apache.kafka.tools.DumpLogSegments"
	var logs, indexes []string
	for name, w := range topics {
		segments := segmentFiles(t, w.dir, ".log")
		if len(segments) < 2 {
			t.Errorf("%s has %d segments, want several", name, len(segments))
		}
		logs = append(logs, segments...)
		indexes = append(indexes, segmentFiles(t, w.dir, ".index", ".timeindex")...)
	}
	if len(indexes) != 2*len(logs) {
		t.Errorf("there are %d indexes for %d segments", len(indexes), len(logs))
	}
	check := func(files []string, flags ...string) []byte {
		t.Helper()
		out := k.Run(t, tool, append(flags, "--files", strings.Join(files, ","))...)
		if lines := complaints(out); len(lines) > 0 {
			t.Errorf("%v, %d complaints: %q", flags, len(lines), lines[:min(len(lines), 10)])
		}
		return out
	}
	out := check(logs, "--deep-iteration")
	records, want := bytes.Count(out, []byte("| offset: ")), 0
	for _, w := range topics {
		want += w.count
	}
	if records != want {
		t.Errorf("the dump has %d records, want %d", records, want)
	}
	for _, topic := range ourTopics {
		if codec := "compresscodec: " + cmp.Or(topic.compression, "none"); !bytes.Contains(out, []byte(codec)) {
			t.Errorf("no batch of the dump has %s", codec)
		}
	}
	out = check(indexes, "--index-sanity-check")
	if passed := bytes.Count(out, []byte("passed sanity check")); passed != len(indexes) {
		t.Errorf("%d of %d indexes passed the sanity check:\n%s", passed, len(indexes), out)
	}
	check(indexes, "--verify-index-only")
}
