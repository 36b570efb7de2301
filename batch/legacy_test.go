package batch_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"testing"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

// The logs of formats 0 and 1 that Kafka's own builder wrote hold what it says.
func TestLegacyTruth(t *testing.T) {
	logs, truth := fixture.Unpack(t, "logs"), fixture.Unpack(t, "truth")
	names, err := filepath.Glob(filepath.Join(truth, "legacy-*.jsonl"))
	if err != nil || len(names) != 8 {
		t.Fatalf("%d truths of old formats, %v", len(names), err)
	}
	for _, name := range names {
		partition := filepath.Base(name[:len(name)-len(".jsonl")])
		t.Run(partition, func(t *testing.T) {
			got := decodeAll(t, filepath.Join(logs, partition))
			want := fixture.Lines[fixture.Record](t, name)
			if len(got) != len(want) {
				t.Fatalf("%d records, want %d", len(got), len(want))
			}
			for i, w := range want {
				g := got[i]
				if g.Offset != w.Offset || g.Timestamp != w.Timestamp || !equal(g.Key, fixture.Bytes(t, w.Key)) || !equal(g.Value, fixture.Bytes(t, w.Value)) {
					t.Fatalf("record %d is %+v, want %+v", i, g, w)
				}
			}
		})
	}
}

func legacyLog(t *testing.T, logs, partition string) []byte {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(logs, partition, "00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// legacyMessage is a message of format 0 or 1 (timestamp is of format 1 only).
func legacyMessage(magic int8, offset, timestamp int64, attributes byte, key, value []byte) []byte {
	body := []byte{byte(magic), attributes}
	if magic == 1 {
		body = binary.BigEndian.AppendUint64(body, uint64(timestamp))
	}
	for _, field := range [][]byte{key, value} {
		n := uint32(len(field))
		if field == nil {
			n = math.MaxUint32
		}
		body = append(binary.BigEndian.AppendUint32(body, n), field...)
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(offset))
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)+4))
	return append(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(body)), body...)
}

func wrap(t *testing.T, magic int8, offset, timestamp int64, attributes byte, inner ...[]byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for _, m := range inner {
		if _, err := z.Write(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return legacyMessage(magic, offset, timestamp, attributes|1, nil, packed.Bytes())
}

// A wrapper gives its messages their offsets, and, with LogAppendTime, their
// time. One left by compaction has gaps.
func TestLegacyWrappers(t *testing.T) {
	const logAppendTime = 8
	inner := [][]byte{
		legacyMessage(1, 0, 1000, 0, []byte("k"), nil),
		legacyMessage(1, 3, -1, 0, nil, []byte{}),
		legacyMessage(1, 4, 3000, 0, []byte{}, []byte("v")),
	}
	for _, tc := range []struct {
		name  string
		b     []byte
		times []int64
		kind  batch.TimestampType
	}{
		{"CreateTime", wrap(t, 1, 104, 3000, 0, inner...), []int64{1000, -1, 3000}, batch.CreateTime},
		{"LogAppendTime", wrap(t, 1, 104, 5000, logAppendTime, inner...), []int64{5000, 5000, 5000}, batch.LogAppendTime},
		{
			"format 0", wrap(t, 0, 104, 0, 0, legacyMessage(0, 100, 0, 0, []byte("k"), nil),
				legacyMessage(0, 103, 0, 0, nil, []byte{}), legacyMessage(0, 104, 0, 0, []byte{}, []byte("v"))),
			[]int64{-1, -1, -1},
			batch.NoTimestampType,
		},
	} {
		got := decodeOne(t, tc.b)
		want := []batch.Record{{Offset: 100, Key: []byte("k")}, {Offset: 103, Value: []byte{}}, {Offset: 104, Key: []byte{}, Value: []byte("v")}}
		if len(got) != len(want) {
			t.Fatalf("%s: %d records", tc.name, len(got))
		}
		for i, w := range want {
			g := got[i]
			if g.Offset != w.Offset || g.Timestamp != tc.times[i] || !equal(g.Key, w.Key) || !equal(g.Value, w.Value) || g.header.TimestampType() != tc.kind {
				t.Errorf("%s: record %d is %+v", tc.name, i, g)
			}
		}
		if h := got[0].header; h.LastOffset() != 104 || h.LeastOffset() != 100 {
			t.Errorf("%s: offsets %d to %d", tc.name, h.LeastOffset(), h.LastOffset())
		}
	}
}

// What no broker wrote is damage, with a cause.
func TestLegacyDamage(t *testing.T) {
	good := legacyMessage(1, 0, 1000, 0, nil, []byte("v"))
	wrongCRC := append([]byte{}, good...)
	wrongCRC[len(wrongCRC)-1]++
	for _, tc := range []struct {
		name string
		b    []byte
		want error
	}{
		{"a wrapper in a wrapper", wrap(t, 1, 9, 0, 0, wrap(t, 1, 0, 0, 0, good)), batch.ErrCodec},
		{"another format within", wrap(t, 1, 9, 0, 0, legacyMessage(0, 0, 0, 0, nil, nil)), batch.ErrMagic},
		{"nothing within", wrap(t, 1, 9, 0, 0), batch.ErrCount},
		{"half a message within", wrap(t, 1, 9, 0, 0, good, good[:20]), batch.ErrTruncated},
		{"offsets that fall", wrap(t, 1, 9, 0, 0, good, good), batch.ErrOffsetOrder},
		{"offsets below 0", wrap(t, 1, 2, 0, 0, good, legacyMessage(1, 7, 0, 0, nil, nil)), batch.ErrOffsetOrder},
		{"a wrong checksum within", wrap(t, 1, 9, 0, 0, wrongCRC), batch.ErrCRC},
		{"a wrapper of null", legacyMessage(1, 9, 0, 1, nil, nil), batch.ErrLength},
		{"zstd", legacyMessage(1, 9, 0, 4, nil, []byte("no frame")), batch.ErrCodec},
		{"codec 6", legacyMessage(1, 9, 0, 6, nil, []byte("?")), batch.ErrCodec},
	} {
		var d batch.Decoder
		var rs batch.Records
		if err := d.Decode(tc.b, &rs); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
}

// Every byte of a message counts: changed, it is an error, and never a panic or
// another record.
func TestLegacyEveryByte(t *testing.T) {
	logs := fixture.Unpack(t, "logs")
	for _, partition := range []string{"legacy-v0-none-0", "legacy-v0-lz4-0", "legacy-v0-gzip-0", "legacy-v1-snappy-0", "legacy-v1-none-0"} {
		log := legacyLog(t, logs, partition)
		h, err := batch.ParseHeader(log)
		if err != nil {
			t.Fatal(err)
		}
		var d batch.Decoder
		var rs batch.Records
		for i := 8; i < h.Size(); i++ { // no checksum is of the offset
			for bit := range 8 {
				b := append([]byte{}, log[:h.Size()]...)
				b[i] ^= 1 << bit
				var corrupt *batch.CorruptionError
				if err := d.Decode(b, &rs); !errors.As(err, &corrupt) {
					t.Fatalf("%s: byte %d bit %d: %v", partition, i, bit, err)
				}
			}
		}
	}
}

// A right batch is found behind noise, zeros, and headers that lie.
func TestFind(t *testing.T) {
	logs := fixture.Unpack(t, "logs")
	for _, partition := range []string{"codec-none-0", "codec-zstd-1", "legacy-v0-none-0", "legacy-v1-gzip-0"} {
		log := legacyLog(t, logs, partition)
		h, err := batch.ParseHeader(log)
		if err != nil {
			t.Fatal(err)
		}
		second := int64(h.Size())
		for cut := range 100 {
			got, err := batch.Find(bytes.NewReader(log), int64(1+cut), int64(len(log)), h.NextOffset(), 1<<40)
			if want := second; int64(1+cut) > second {
				continue
			} else if err != nil || got != want {
				t.Fatalf("%s from %d: found at %d, want %d, %v", partition, 1+cut, got, want, err)
			}
		}
		far := append(bytes.Repeat([]byte{0, 1, 2, 255}, 100_003), log[second:]...)
		got, err := batch.Find(bytes.NewReader(far), 0, int64(len(far)), 0, 1<<40)
		if want := int64(len(far)) - (int64(len(log)) - second); err != nil || got != want {
			t.Errorf("%s behind noise: found at %d, want %d, %v", partition, got, want, err)
		}
	}
}

// The worked example of docs/format/messages.md is what its bytes say.
func TestLegacyDocument(t *testing.T) {
	want := fmt.Sprintf("% x", legacyMessage(1, 5, 1300000000326, 0, []byte("k"), []byte("v")))
	text, err := os.ReadFile("../docs/format/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := fixture.Hex(string(text)); got != want {
		t.Errorf("the document has %s, want %s", got, want)
	}
}
