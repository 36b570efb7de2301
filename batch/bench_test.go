package batch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchValues are values of words, as compressible as text is.
func benchValues(count, size int) [][]byte {
	words := []string{"order ", "customer ", "shipped ", "pending ", "42 ", "north ", "invoice ", "2026-12-01 "}
	rnd := rand.New(rand.NewPCG(1, 2))
	values := make([][]byte, count)
	for i := range values {
		v := fmt.Appendf(nil, "%08d ", i)
		for len(v) < size {
			v = append(v, words[rnd.IntN(len(words))]...)
		}
		values[i] = v[:size]
	}
	return values
}

func benchBatch(b *testing.B, codec Codec, values [][]byte) []byte {
	b.Helper()
	var builder Builder
	builder.Begin(nil, BuilderOptions{Codec: codec})
	for i, v := range values {
		builder.AppendValue(1796108196321+int64(i), v)
	}
	out, err := builder.Finish()
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// eachCodec runs a benchmark for batches of 1,000 values of 100 bytes, and for
// 10 values of 10,000 without compression. Its bytes are those of the values.
func eachCodec(b *testing.B, f func(b *testing.B, codec Codec, values [][]byte)) {
	b.Helper()
	for _, codec := range codecs {
		for _, size := range []int{100, 10000} {
			if size != 100 && codec != CodecNone {
				continue
			}
			values := benchValues(100000/size, size)
			b.Run(fmt.Sprintf("codec=%s/value=%d", codec, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(size * len(values)))
				f(b, codec, values)
			})
		}
	}
}

// BenchmarkNext decodes a batch, checksum and all, and goes over its records.
func BenchmarkNext(b *testing.B) {
	eachCodec(b, func(b *testing.B, codec Codec, values [][]byte) {
		batch := benchBatch(b, codec, values)
		var d Decoder
		var rs Records
		var r Record
		for b.Loop() {
			if err := d.Decode(batch, &rs); err != nil {
				b.Fatal(err)
			}
			n := 0
			for rs.Next(&r) {
				n += len(r.Value)
			}
			if n != len(values)*len(values[0]) {
				b.Fatal(n, rs.Err())
			}
		}
	})
}

// BenchmarkAppendValues decodes a batch and prints its values.
func BenchmarkAppendValues(b *testing.B) {
	eachCodec(b, func(b *testing.B, codec Codec, values [][]byte) {
		batch := benchBatch(b, codec, values)
		var d Decoder
		var rs Records
		var dst []byte
		for b.Loop() {
			err := d.Decode(batch, &rs)
			if err == nil {
				dst, err = rs.AppendValues(dst[:0], 0)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBuild makes a batch of values.
func BenchmarkBuild(b *testing.B) {
	eachCodec(b, func(b *testing.B, codec Codec, values [][]byte) {
		var builder Builder
		var dst []byte
		for b.Loop() {
			builder.Begin(dst[:0], BuilderOptions{Codec: codec})
			for _, v := range values {
				builder.AppendValue(1796108196321, v)
			}
			var err error
			if dst, err = builder.Finish(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkScan goes over the headers of a log of 4 MiB, and over its batches.
// Its bytes are those of the log.
func BenchmarkScan(b *testing.B) {
	for _, size := range []int{200, 16 << 10} {
		for _, whole := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch=%d/whole=%t", size, whole), func(b *testing.B) {
				one := benchBatch(b, CodecNone, benchValues(1, size-72))
				var log []byte
				for i := int64(0); len(log) < 4<<20; i++ {
					SetBaseOffset(one, i)
					log = append(log, one...)
				}
				b.ReportAllocs()
				b.SetBytes(int64(len(log)))
				r := bytes.NewReader(log)
				var s Scanner
				for b.Loop() {
					s.Reset(r, 0, int64(len(log)))
					for s.Next() {
						if !whole {
							continue
						}
						if _, err := s.Batch(); err != nil {
							b.Fatal(err)
						}
					}
					if s.Err() != nil || s.End() != int64(len(log)) {
						b.Fatal(s.End(), s.Err())
					}
				}
			})
		}
	}
}
