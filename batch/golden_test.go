package batch

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenBatch is the worked example of docs/format/batch.md.
func goldenBatch(t *testing.T) []byte {
	t.Helper()
	var b Builder
	b.Begin(nil, BuilderOptions{})
	b.Append(1750000000000, []byte("k"), []byte("hello"), []RecordHeader{{Key: []byte("h"), Value: []byte("v")}})
	b.Append(1750000000005, nil, []byte{}, nil)
	out, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	SetBaseOffset(out, 42)
	SetPartitionLeaderEpoch(out, 7)
	return out
}

// annotate prints a batch field by field.
func annotate(t *testing.T, b []byte) string {
	t.Helper()
	var out strings.Builder
	at := 0
	line := func(n int, format string, a ...any) {
		fmt.Fprintf(&out, "%3d  %-24s %s\n", at, fmt.Sprintf("% x", b[at:at+n]), fmt.Sprintf(format, a...))
		at += n
	}
	h, err := ParseHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	line(8, "baseOffset %d", h.BaseOffset)
	line(4, "length %d", h.Length)
	line(4, "partitionLeaderEpoch %d", h.PartitionLeaderEpoch)
	line(1, "magic 2")
	line(4, "crc")
	line(2, "attributes %d", h.Attributes)
	line(4, "lastOffsetDelta %d", h.LastOffsetDelta)
	line(8, "baseTimestamp %d", h.BaseTimestamp)
	line(8, "maxTimestamp %d", h.MaxTimestamp)
	line(8, "producerId %d", h.ProducerID)
	line(2, "producerEpoch %d", h.ProducerEpoch)
	line(4, "baseSequence %d", h.BaseSequence)
	line(4, "count %d", h.Count)
	rs := Records{Header: h, b: b[HeaderSize:], base: HeaderSize}
	rs.Reset()
	var f fields
	for start := 0; rs.next(&f); start = f.end {
		_, body := uvarint32(rs.b, start)
		line(body-start, "record, length %d", f.end-body)
		line(1, "attributes")
		_, next := uvarint64(rs.b, body+1)
		line(next-body-1, "timestampDelta %d", f.timestampDelta)
		_, key := uvarint32(rs.b, next)
		line(key-next, "offsetDelta %d", f.offsetDelta)
		line(f.key-key, "key length %d", f.keyLen)
		line(max(f.keyLen, 0), "key")
		line(f.value-max(f.keyLen, 0)-f.key, "value length %d", f.valueLen)
		line(max(f.valueLen, 0), "value")
		line(f.headers-f.value-max(f.valueLen, 0), "headers %d", f.headerCount)
		if f.headerCount > 0 {
			line(f.end-f.headers, "each: key length, key, value length, value")
		}
	}
	if rs.Err() != nil || at != len(b) {
		t.Fatalf("annotated %d of %d bytes, %v", at, len(b), rs.Err())
	}
	return out.String()
}

// TestGoldenBatch holds the bytes against the golden file, and the document
// against both.
func TestGoldenBatch(t *testing.T) {
	const golden, document = "testdata/batch.golden", "../docs/format/batch.md"
	got := annotate(t, goldenBatch(t))
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("%v\n%s", err, got)
	}
	text, err := os.ReadFile(document)
	if err != nil || !bytes.Contains(text, want) {
		t.Errorf("%s does not show the golden batch: %v", document, err)
	}
}
