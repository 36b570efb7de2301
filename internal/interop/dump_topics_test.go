package interop

import (
	"bytes"
	bin "encoding/binary"
	"encoding/hex"
	"os"
	"regexp"
	"testing"

	"klogfs/batch"
	"klogfs/internal/coordinator"
	"klogfs/internal/dump"
	"klogfs/internal/kafkatest"
)

// TestDumpInternalTopics has a record of each type and version that the
// internal topics have, some of them cut off, and members of groups of
// consumers.
func TestDumpInternalTopics(t *testing.T) {
	k := kafkatest.Require(t)
	t.Setenv("LC_ALL", "C.UTF-8")
	keys, values := map[string][][]byte{}, map[string][][]byte{}
	add := func(topic string, key, value []byte) {
		keys[topic], values[topic] = append(keys[topic], key), append(values[topic], value)
	}
	for line := range bytes.Lines(readFile(t, "../coordinator/testdata/golden.tsv")) {
		f := bytes.Split(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
		key, value := unhex(t, f[1]), unhex(t, f[4])
		topic := string(f[0])
		add(topic, key, value)
		add(topic, key, value[:len(value)-1])
		add(topic, key, value[:1])
		add(topic, key, nil)
		add(topic, key[:len(key)-1], value)
	}
	for version := range uint16(4) {
		subscription, assignment := memberBytes(version)
		add("offsets", groupKey, groupValue("consumer", subscription, assignment))
		add("offsets", groupKey, groupValue("connect", subscription, assignment))
		add("offsets", groupKey, groupValue("consumer", subscription[:7], assignment[:1]))
	}
	add("offsets", []byte{0, 99, 0}, []byte{0, 0})
	add("offsets", []byte{0}, []byte{0, 0})
	for state := range byte(10) {
		add("transactions", []byte("\x00\x00\x00\x01a"), transactionValue(state))
	}
	offsets := &dump.Messages{Known: coordinator.OffsetsType, Key: coordinator.OffsetsKey, Value: coordinator.OffsetsValue}
	transactions := &dump.Messages{Known: coordinator.TransactionType, Key: coordinator.TransactionKey, Value: coordinator.TransactionValue}
	t.Chdir(t.TempDir())
	for topic, messages := range map[string]*dump.Messages{"offsets": offsets, "transactions": transactions} {
		flag := map[string]string{"offsets": "--offsets-decoder", "transactions": "--transaction-log-decoder"}[topic]
		name := writeSegment(t, keys[topic], values[topic])
		kafkas, ours := bothDumps(t, k, dump.Options{PrintDataLog: true, Messages: messages}, []string{name}, flag)
		same(t, flag, reason.ReplaceAll(ours, nil), reason.ReplaceAll(kafkas, nil))
	}
}

// reason is why Kafka could not decode a record, in the words of a library.
var reason = regexp.MustCompile(`(?m)(due to: .*|skipping\. [^C].*)$`)

func unhex(t *testing.T, s []byte) []byte {
	t.Helper()
	b, err := hex.DecodeString(string(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// writeSegment writes a segment of one batch.
func writeSegment(t *testing.T, keys, values [][]byte) string {
	t.Helper()
	const name = "00000000000000000000.log"
	var b batch.Builder
	b.Begin(nil, batch.BuilderOptions{})
	for i := range keys {
		b.Append(1_750_000_000_000, keys[i], values[i], nil)
	}
	out, err := b.Finish()
	if err == nil {
		err = os.WriteFile(name, out, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

var be = bin.BigEndian

var groupKey = []byte("\x00\x02\x00\x01g")

func appendText(b []byte, s string) []byte {
	return append(be.AppendUint16(b, uint16(len(s))), s...)
}

func appendBytes(b, s []byte) []byte {
	return append(be.AppendUint32(b, uint32(len(s))), s...)
}

// appendPartitions are the partitions 0 and 7 of one topic.
func appendPartitions(b []byte, topic string) []byte {
	b = appendText(be.AppendUint32(b, 1), topic)
	return append(b, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7)
}

// memberBytes are the subscription and the assignment of a member.
func memberBytes(version uint16) (subscription, assignment []byte) {
	b := appendText(be.AppendUint32(be.AppendUint16(nil, version), 1), `orders "x"`)
	b = appendBytes(b, []byte{1, 2, 0xff})
	if version >= 1 {
		b = appendPartitions(b, "orders")
	}
	if version >= 2 {
		b = be.AppendUint32(b, 5)
	}
	if version >= 3 {
		b = appendText(b, "rack")
	}
	assignment = appendPartitions(be.AppendUint16(nil, version), "orders")
	return b, be.AppendUint32(assignment, 1<<32-1)
}

// groupValue is the metadata, of version 3, of a group with one member.
func groupValue(protocolType string, subscription, assignment []byte) []byte {
	b := appendText([]byte{0, 3}, protocolType)
	b = appendText(be.AppendUint32(b, 4), "range")
	b = be.AppendUint64(appendText(b, `"subscription":"`), 1_750_000_000_000)
	b = appendText(be.AppendUint32(b, 1), `"assignment":"`)
	b = appendText(append(b, 0xff, 0xff), "client")
	b = appendText(b, "/127.0.0.1")
	b = be.AppendUint32(be.AppendUint32(b, 300_000), 45_000)
	return appendBytes(appendBytes(b, subscription), assignment)
}

// transactionValue is the value, of version 0, of a transaction in a state.
func transactionValue(state byte) []byte {
	b := be.AppendUint64([]byte{0, 0}, 8)
	b = append(be.AppendUint32(append(b, 0, 1), 60_000), state)
	b = appendPartitions(b, "orders")
	return be.AppendUint64(be.AppendUint64(b, 5), 6)
}
