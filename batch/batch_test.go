package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

var codecs = []Codec{CodecNone, CodecGzip, CodecSnappy, CodecLZ4, CodecZstd}

// seal makes the header's length, count and checksum right.
func seal(b []byte, count int32) []byte {
	be := binary.BigEndian
	be.PutUint32(b[offsetLength:], uint32(len(b)-LogOverhead))
	be.PutUint32(b[offsetCount:], uint32(count))
	be.PutUint32(b[offsetCRC:], crc32.Checksum(b[offsetAttributes:], castagnoli))
	return b
}

// raw is a batch of the codec with records given as bytes.
func raw(codec Codec, count int32, records []byte) []byte {
	b := make([]byte, HeaderSize, HeaderSize+len(records))
	b[offsetMagic] = Magic
	binary.BigEndian.PutUint16(b[offsetAttributes:], uint16(codec))
	binary.BigEndian.PutUint32(b[offsetLastOffsetDelta:], 1000)
	return seal(append(b, records...), count)
}

func record(body ...byte) []byte { return append(appendVarint(nil, int32(len(body))), body...) }

func decodeErr(b []byte) error {
	var d Decoder
	var rs Records
	if err := d.Decode(b, &rs); err != nil {
		return err
	}
	return rs.Validate()
}

// Cases 6 and 16: what a batch may and may not be. Each wrong one has a right
// checksum.
func TestStructure(t *testing.T) {
	good := record(0, 0, 0, 1, 2, 'v', 0) // null key, value "v", no headers
	for _, tc := range []struct {
		name    string
		count   int32
		records []byte
		want    error
	}{
		{"no records", 0, nil, nil},
		{"one record", 1, good, nil},
		{"count −1", -1, good, ErrLength},
		{"count 2³¹−1", math.MaxInt32, good, ErrCount},
		{"count one more", 2, good, ErrCount},
		{"count one less", 0, good, ErrTrailing},
		{"the same offset twice", 2, append(append([]byte{}, good...), good...), ErrOffsetOrder},
		{"offset past the last", 1, record(0, 0, 0xd2, 0x0f, 1, 2, 'v', 0), ErrOffsetOrder},
		{"header count −1", 1, record(0, 0, 0, 1, 2, 'v', 1), ErrLength},
		{"header count one more", 1, record(0, 0, 0, 1, 2, 'v', 2), ErrCount},
		{"header count 2³¹−1", 1, record(0, 0, 0, 1, 2, 'v', 0xfe, 0xff, 0xff, 0xff, 0x0f), ErrCount},
		{"null header key", 1, record(0, 0, 0, 1, 2, 'v', 2, 1, 1, 0), ErrLength},
		{"key length −2", 1, record(0, 0, 0, 3, 2, 'v', 0), ErrLength},
		{"value length −2", 1, record(0, 0, 0, 1, 3, 'v', 0), ErrLength},
		{"value past the record", 1, record(0, 0, 0, 1, 20, 'v', 0), ErrTruncated},
		{"record past the batch", 1, append([]byte{40}, good[1:]...), ErrTruncated},
		{"record length −1", 1, append([]byte{1}, good[1:]...), ErrLength},
		{"bytes behind the headers", 1, record(0, 0, 0, 1, 2, 'v', 0, 0), ErrTrailing},
		{"bytes behind the records", 1, append(append([]byte{}, good...), 0), ErrTrailing},
		{"varint of 6 bytes", 1, record(0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 2, 'v', 0), ErrVarint},
		{"varlong of 11 bytes", 1, record(append(append([]byte{0}, bytes.Repeat([]byte{0x80}, 10)...), 0, 0, 1, 2, 'v', 0)...), ErrVarint},
		{"varint without an end", 1, record(0, 0, 0, 1, 4, 'v', 'v', 0x80), ErrTruncated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, codec := range codecs {
				records := tc.records
				if codec != CodecNone && len(records) > 0 {
					var c compressors
					var err error
					if records, err = c.compress(codec, 0, nil, records); err != nil {
						t.Fatal(err)
					}
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := decodeErr(raw(codec, tc.count, records))
				runtime.ReadMemStats(&after)
				if !errors.Is(err, tc.want) {
					t.Errorf("%s: %v, want %v", codec, err, tc.want)
				}
				var corrupt *CorruptionError
				if tc.want != nil && !errors.As(err, &corrupt) {
					t.Errorf("%s: %T", codec, err)
				}
				if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
					t.Errorf("%s: allocated %d bytes", codec, grown)
				}
			}
		})
	}
}

func TestHeaderBounds(t *testing.T) {
	whole := raw(CodecNone, 0, nil)
	change := func(f func(b []byte)) []byte {
		b := append([]byte{}, whole...)
		f(b)
		return b
	}
	be := binary.BigEndian
	for _, tc := range []struct {
		name string
		b    []byte
		want error
	}{
		{"short", whole[:60], ErrTruncated},
		{"magic 3", change(func(b []byte) { b[offsetMagic] = 3 }), ErrMagic},
		{"magic −1", change(func(b []byte) { b[offsetMagic] = 255 }), ErrMagic},
		{"length below the header", change(func(b []byte) { be.PutUint32(b[offsetLength:], 48) }), ErrLength},
		{"length past the end", change(func(b []byte) { be.PutUint32(b[offsetLength:], 50) }), ErrTruncated},
		{"length 2³¹−1", change(func(b []byte) { be.PutUint32(b[offsetLength:], math.MaxInt32) }), ErrTruncated},
		{"last offset delta −1", change(func(b []byte) { be.PutUint32(b[offsetLastOffsetDelta:], math.MaxUint32) }), ErrLength},
		{"base offset −1", change(func(b []byte) { be.PutUint64(b, math.MaxUint64) }), ErrOffsetOrder},
		{"last offset past 2⁶³", change(func(b []byte) { be.PutUint64(b, math.MaxInt64-5) }), ErrOffsetOrder},
		{"a bit", change(func(b []byte) { b[offsetMaxTimestamp] ^= 1 }), ErrCRC},
		{"codec 7", raw(7, 1, record(0, 0, 0, 1, 1, 0)), ErrCodec},
	} {
		if err := decodeErr(tc.b); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
}

// Case 17: what is decompressed has a limit, whatever the codec.
func TestDecompressionLimit(t *testing.T) {
	zeros := make([]byte, 1<<20)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range 500 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := Decoder{MaxBytes: 1 << 20}
	var rs Records
	if err := d.Decode(raw(CodecGzip, 1, packed.Bytes()), &rs); !errors.Is(err, ErrTooLarge) {
		t.Errorf("gzip of 500 MiB: %v", err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("allocated %d bytes", grown)
	}
	for _, codec := range codecs[1:] {
		var c compressors
		b, err := c.compress(codec, 0, nil, make([]byte, 3<<20))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(raw(codec, 1, b), &rs); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s of 3 MiB: %v", codec, err)
		}
	}
	// A zstd frame that asks for a window of 1 GiB.
	window := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 0x01, 0x00, 0x00}
	if err := d.Decode(raw(CodecZstd, 1, window), &rs); err == nil {
		t.Error("a window of 1 GiB was taken")
	}
	// Snappy that declares 4 GiB.
	if err := d.Decode(raw(CodecSnappy, 1, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}), &rs); err == nil {
		t.Error("4 GiB of snappy were taken")
	}
}

// Others write snappy bare and zstd in several frames.
func TestForeignCompression(t *testing.T) {
	one, two := record(0, 0, 0, 1, 2, 'v', 0), record(0, 0, 2, 1, 2, 'w', 0)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	frames := z.EncodeAll(two, z.EncodeAll(one, nil))
	both := append(append([]byte{}, one...), two...)
	streams := appendXerial(appendXerial(nil, one), two)
	for name, b := range map[string][]byte{
		"raw snappy":    raw(CodecSnappy, 2, snappy.Encode(nil, both)),
		"xerial":        raw(CodecSnappy, 2, appendXerial(nil, both)),
		"xerial, twice": raw(CodecSnappy, 2, streams),
		"zstd frames":   raw(CodecZstd, 2, frames),
	} {
		var d Decoder
		var rs Records
		if err := d.Decode(b, &rs); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := rs.AppendValues(nil, 0); err != nil || string(got) != "v\nw\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

type plain struct {
	Timestamp  int64
	Key, Value []byte
	Headers    []RecordHeader
}

func nullable(t *rapid.T, label string) []byte {
	if rapid.Bool().Draw(t, label+" null") {
		return nil
	}
	return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, label)...)
}

// Cases 14 and 18: null and empty, and times from 0 to now in one batch.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []plain
		for range rapid.IntRange(1, 20).Draw(t, "records") {
			r := plain{
				Timestamp: rapid.SampledFrom([]int64{-1, 0, 1, 1796108196321, 253402300799999}).Draw(t, "time"),
				Key:       nullable(t, "key"), Value: nullable(t, "value"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "headers") {
				r.Headers = append(r.Headers, RecordHeader{Key: append([]byte{}, nullable(t, "name")...), Value: nullable(t, "header")})
			}
			want = append(want, r)
		}
		producer := &Producer{ID: 77, Epoch: 3, BaseSequence: 9}
		opts := BuilderOptions{Codec: rapid.SampledFrom(codecs).Draw(t, "codec"), Producer: producer, Transactional: true}
		var b Builder
		b.Begin([]byte("before"), opts)
		size := HeaderSize
		for i, r := range want {
			size += RecordSize(r.Timestamp-want[0].Timestamp, int32(i), r.Key, r.Value, r.Headers)
			b.Append(r.Timestamp, r.Key, r.Value, r.Headers)
		}
		if b.Len() != size || b.Count() != len(want) {
			t.Fatalf("length %d, count %d, want %d, %d", b.Len(), b.Count(), size, len(want))
		}
		out, err := b.Finish()
		if err != nil || string(out[:6]) != "before" {
			t.Fatalf("%q, %v", out[:6], err)
		}
		SetBaseOffset(out[6:], 1000)
		SetPartitionLeaderEpoch(out[6:], 5)
		var d Decoder
		var rs Records
		if err := d.Decode(out[6:], &rs); err != nil {
			t.Fatal(err)
		}
		h := rs.Header
		if h.ProducerID != 77 || h.ProducerEpoch != 3 || h.BaseSequence != 9 || !h.Attributes.Transactional() || h.PartitionLeaderEpoch != 5 {
			t.Fatalf("%+v", h)
		}
		var got []plain
		var r Record
		for rs.Next(&r) {
			if r.Offset != 1000+int64(len(got)) {
				t.Fatalf("offset %d", r.Offset)
			}
			got = append(got, plain{r.Timestamp, r.Key, r.Value, r.AppendHeaders(nil)})
		}
		if diff := cmp.Diff(want, got); diff != "" || rs.Err() != nil {
			t.Fatalf("%v\n%s", rs.Err(), diff)
		}
	})
}

func TestLogAppendTimeAndDeleteHorizon(t *testing.T) {
	b := built(t, CodecNone, "a", "b")
	SetLogAppendTime(b, 1234)
	var d Decoder
	var rs Records
	var r Record
	if err := d.Decode(b, &rs); err != nil {
		t.Fatal(err)
	}
	for rs.Next(&r) {
		if r.Timestamp != 1234 {
			t.Errorf("time %d", r.Timestamp)
		}
	}
	if got := rs.Header.Attributes.TimestampType(); got != LogAppendTime {
		t.Errorf("type %s", got)
	}
	b = built(t, CodecNone, "a")
	binary.BigEndian.PutUint16(b[offsetAttributes:], uint16(deleteHorizonBit|controlBit))
	if err := d.Decode(seal(b, 1), &rs); err != nil || !rs.Header.Attributes.HasDeleteHorizon() || !rs.Header.Attributes.Control() {
		t.Errorf("%+v, %v", rs.Header, err)
	}
}

func built(t testing.TB, codec Codec, values ...string) []byte {
	t.Helper()
	var b Builder
	b.Begin(nil, BuilderOptions{Codec: codec})
	for i, v := range values {
		b.AppendValue(int64(1000+i), []byte(v))
	}
	out, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCorruptionErrorSaysWhere(t *testing.T) {
	e := &CorruptionError{TopicPartition: "t-0", Segment: 42, Position: 7, Cause: ErrCRC}
	for _, part := range []string{"t-0", "00000000000000000042", "position 7", ErrCRC.Error()} {
		if !strings.Contains(e.Error(), part) {
			t.Errorf("%q lacks %q", e, part)
		}
	}
	if !errors.Is(e, ErrCRC) {
		t.Error("the cause is hidden")
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	values := strings.Split(strings.Repeat("a value of some length,", 100), ",")
	b := built(t, CodecNone, values...)
	var d Decoder
	var rs Records
	var r Record
	dst := make([]byte, 0, 1<<16)
	var builder Builder
	s := NewScanner(bytes.NewReader(b), 0, int64(len(b)))
	reader := bytes.NewReader(b)
	if n := testing.AllocsPerRun(100, func() {
		if err := d.Decode(b, &rs); err != nil {
			t.Fatal(err)
		}
		for rs.Next(&r) {
		}
		if _, err := rs.AppendValues(dst, 0); err != nil {
			t.Fatal(err)
		}
		builder.Begin(dst, BuilderOptions{})
		for range 100 {
			builder.AppendValue(5, b[:50])
		}
		if _, err := builder.Finish(); err != nil {
			t.Fatal(err)
		}
		s.Reset(reader, 0, int64(len(b)))
		for s.Next() {
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
