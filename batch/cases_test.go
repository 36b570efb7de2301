package batch

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// empty is a batch as the cleaner leaves it: offsets 100 to 109, no record.
func empty() []byte {
	b := raw(CodecNone, 0, nil)
	SetBaseOffset(b, 100)
	SetLastOffsetDelta(b, 9)
	return b
}

// Case 6: a batch without records counts for the end offset, wherever it
// stands, and never for content.
func TestBatchWithoutRecords(t *testing.T) {
	b := empty()
	if len(b) != HeaderSize {
		t.Fatalf("%d bytes", len(b))
	}
	var d Decoder
	var rs Records
	var r Record
	if err := d.Decode(b, &rs); err != nil || rs.Next(&r) || rs.Err() != nil {
		t.Errorf("a record in it: %v, %v", err, rs.Err())
	}
	if got, err := rs.AppendValues([]byte("x"), 0); err != nil || string(got) != "x" {
		t.Errorf("values %q, %v", got, err)
	}
	if size, n, err := rs.ValuesSize(0); size != 0 || n != 0 || err != nil {
		t.Errorf("size %d of %d records, %v", size, n, err)
	}
	if rs.Header.LastOffset() != 109 || rs.Header.NextOffset() != 110 {
		t.Errorf("offsets to %d, then %d", rs.Header.LastOffset(), rs.Header.NextOffset())
	}
	before, after := built(t, CodecNone, "before"), built(t, CodecNone, "after")
	SetBaseOffset(before, 99)
	SetBaseOffset(after, 110)
	overlaps := built(t, CodecNone, "overlaps")
	SetBaseOffset(overlaps, 109)
	for _, tc := range []struct {
		name    string
		batches [][]byte
		n       int
		want    error
	}{
		{"alone", [][]byte{b}, 1, nil},
		{"first", [][]byte{b, after}, 2, nil},
		{"in the middle", [][]byte{before, b, after}, 3, nil},
		{"last", [][]byte{before, b}, 2, nil},
		{"its offsets again", [][]byte{b, overlaps}, 1, ErrOffsetOrder},
	} {
		s, n := scan(bytes.Join(tc.batches, nil))
		if n != tc.n || !errors.Is(s.Err(), tc.want) || tc.want == nil && s.Stop() != EndOfData {
			t.Errorf("%s: %d batches, stop %d, %v", tc.name, n, s.Stop(), s.Err())
		}
	}
}

// Case 14: the delta of a timestamp has 64 bits, in both directions.
func TestTimestampDeltas(t *testing.T) {
	const now = 1796108196321
	for _, times := range [][]int64{{0, now}, {now, 0}, {-1, now}, {now, math.MaxInt32 + now + 1}, {0, math.MaxInt64}, {math.MaxInt64, -1}} {
		for _, codec := range codecs {
			var b Builder
			b.Begin(nil, BuilderOptions{Codec: codec})
			for _, ms := range times {
				b.AppendValue(ms, nil)
			}
			out, err := b.Finish()
			if err != nil {
				t.Fatal(err)
			}
			var d Decoder
			var rs Records
			if err := d.Decode(out, &rs); err != nil {
				t.Fatal(err)
			}
			var got []int64
			for r := (Record{}); rs.Next(&r); {
				got = append(got, r.Timestamp)
			}
			if diff := cmp.Diff(times, got); diff != "" || rs.Err() != nil {
				t.Errorf("%s, %v: %v %s", codec, times, rs.Err(), diff)
			}
			if rs.Header.BaseTimestamp != times[0] || rs.Header.MaxTimestamp != max(times[0], times[1]) {
				t.Errorf("%s, %v: base %d, largest %d", codec, times, rs.Header.BaseTimestamp, rs.Header.MaxTimestamp)
			}
		}
	}
}

// Case 18: null, empty and the text "null" are three things, in keys, values
// and headers.
func TestNullAndEmpty(t *testing.T) {
	three := [][]byte{nil, {}, []byte("null")}
	for _, codec := range codecs {
		var b Builder
		b.Begin(nil, BuilderOptions{Codec: codec})
		for _, key := range three {
			for _, value := range three {
				for _, header := range three {
					b.Append(5, key, value, []RecordHeader{{Key: []byte{}, Value: header}, {Key: []byte("again"), Value: header}})
				}
			}
		}
		out, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		var d Decoder
		var rs Records
		if err := d.Decode(out, &rs); err != nil {
			t.Fatal(err)
		}
		i := 0
		for r := (Record{}); rs.Next(&r); i++ {
			key, value, header := three[i/9], three[i/3%3], three[i%3]
			want := []RecordHeader{{Key: []byte{}, Value: header}, {Key: []byte("again"), Value: header}}
			if diff := cmp.Diff(plain{5, key, value, want}, plain{r.Timestamp, r.Key, r.Value, r.AppendHeaders(nil)}); diff != "" {
				t.Errorf("%s, record %d: %s", codec, i, diff)
			}
		}
		if i != 27 || rs.Err() != nil {
			t.Errorf("%s: %d records, %v", codec, i, rs.Err())
		}
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Case 16: a count is never a reason to allocate.
func TestCountsDoNotAllocate(t *testing.T) {
	good := record(0, 0, 0, 1, 2, 'v', 0)
	for name, b := range map[string][]byte{
		"records 2³¹−1":        raw(CodecNone, math.MaxInt32, good),
		"headers 2³¹−1":        raw(CodecNone, 1, record(0, 0, 0, 1, 2, 'v', 0xfe, 0xff, 0xff, 0xff, 0x0f)),
		"key length 2³¹−1":     raw(CodecNone, 1, record(0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f)),
		"value length 2³¹−1":   raw(CodecNone, 1, record(0, 0, 0, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f)),
		"record length 2³¹−1":  raw(CodecNone, 1, []byte{0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 1, 1, 0}),
		"length of −2³¹":       raw(CodecNone, 1, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 1, 1, 0}),
		"bare snappy of 4 GiB": raw(CodecSnappy, 1, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0}),
		"xerial block of 4 GiB": raw(CodecSnappy, 1,
			append(append([]byte(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1), 0xff, 0xff, 0xff, 0xff, 0)),
	} {
		var err error
		if n := allocated(func() { err = decodeErr(b) }); n > 80<<10 {
			t.Errorf("%s: %d bytes", name, n)
		}
		var corrupt *CorruptionError
		if !errors.As(err, &corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Case 17: a zstd frame may ask for a window as large as Kafka's library
// takes, and no memory is set aside for what it only asks for.
func TestZstdWindow(t *testing.T) {
	// A frame without a content size: descriptor 0, the window's exponent less
	// 10 in the upper five bits, and a last block of 11 raw bytes.
	frame := func(exponent byte) []byte {
		f := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (exponent - 10) << 3, 11<<3 | 1, 0, 0}
		return append(f, record(0, 0, 0, 1, 8, 'z', 's', 't', 'd', 0)...)
	}
	for _, tc := range []struct {
		exponent byte
		taken    bool
	}{{17, true}, {23, true}, {27, true}, {28, false}, {30, false}, {41, false}} {
		var err error
		n := allocated(func() { err = decodeErr(raw(CodecZstd, 1, frame(tc.exponent))) })
		if tc.taken != (err == nil) || !tc.taken && !errors.Is(err, ErrCodec) {
			t.Errorf("window of 2^%d: %v", tc.exponent, err)
		}
		if n > 16<<20 {
			t.Errorf("window of 2^%d: allocated %d bytes", tc.exponent, n)
		}
	}
}

// The limit is exact, counts all frames and blocks, and hitting it leaves the
// decoder fit for the next batch.
func TestLimitIsExact(t *testing.T) {
	for _, size := range []int{100, 5000, 200000, 9 << 20} {
		// Two records in two frames of half the size each, and a few bytes.
		body := func(delta byte) []byte {
			value := make([]byte, size/2)
			b := append([]byte{0, 0, delta, 1}, appendVarint(nil, int32(len(value)))...)
			return record(append(append(b, value...), 0)...)
		}
		one, two := body(0), body(2)
		whole := len(one) + len(two)
		for _, codec := range codecs[1:] {
			var c compressors
			packed, err := c.compress(codec, 0, nil, append(append([]byte{}, one...), two...))
			if codec == CodecZstd || codec == CodecGzip || codec == CodecSnappy {
				first, err1 := c.compress(codec, 0, nil, one)
				packed, err = c.compress(codec, 0, first, two)
				err = errors.Join(err, err1)
			}
			if err != nil {
				t.Fatal(err)
			}
			b := raw(codec, 2, packed)
			var rs Records
			d := Decoder{MaxBytes: whole - 1}
			if err := d.Decode(b, &rs); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s of %d bytes, one over the limit: %v", codec, whole, err)
			}
			for range 2 {
				d.MaxBytes = whole
				if err := d.Decode(b, &rs); err != nil || rs.Validate() != nil || rs.Size() != whole {
					t.Errorf("%s of %d bytes, the limit: %v", codec, whole, err)
				}
			}
		}
	}
}

// A builder that made other batches before makes the same bytes as a new one.
func TestBuilderIsReusable(t *testing.T) {
	var b Builder
	for round := range 3 {
		for _, codec := range codecs {
			for _, level := range []int{0, 1, 9} {
				b.Begin(nil, BuilderOptions{Codec: codec, Level: level})
				var fresh Builder
				fresh.Begin(nil, BuilderOptions{Codec: codec, Level: level})
				for i := range 2000 {
					value := bytes.Repeat([]byte{byte(i), byte(i * i)}, 20)
					b.AppendValue(int64(i), value)
					fresh.AppendValue(int64(i), value)
				}
				got, err1 := b.Finish()
				want, err2 := fresh.Finish()
				if err := errors.Join(err1, err2); err != nil || !bytes.Equal(got, want) {
					t.Errorf("round %d, %s at level %d: %d bytes, want %d, %v", round, codec, level, len(got), len(want), err)
				}
				if err := decodeErr(got); err != nil {
					t.Errorf("round %d, %s at level %d: %v", round, codec, level, err)
				}
			}
		}
	}
}

// A file may be shorter than it was said to be, where its end was cut since.
func TestScannerOfAShortFile(t *testing.T) {
	log, ends := threeBatches(t)
	for cut := range log {
		s := NewScanner(bytes.NewReader(log[:cut]), 0, int64(len(log)))
		n := 0
		var err error
		for s.Next() && err == nil {
			if _, err = s.Batch(); err == nil {
				n++
			}
		}
		whole := 0
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		if n != whole || s.Err() != nil {
			t.Fatalf("cut at %d: %d whole batches, want %d, %v", cut, n, whole, s.Err())
		}
	}
}
