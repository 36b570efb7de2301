package logstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchLines is n lines of about 98 bytes.
func benchLines(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"order_id":%d,"customer":"c%05d","sku":"SKU-%04d","qty":%d,"price":%.2f,"ts":%d}`+"\n",
			i, i*619%100000, i*77%10000, i%8, float64(i%500)+0.25, 1750000000000+int64(i)*37)
	}
	return b.Bytes()
}

func benchTopic(b *testing.B, config map[string]string) *Partition {
	b.Helper()
	s, err := Open([]string{b.TempDir()}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return newTopic(b, s, "t", config)
}

// BenchmarkAppend is one request of many lines, as cat writes them, and of one
// line, as echo does.
func BenchmarkAppend(b *testing.B) {
	for _, lines := range []int{1, 10000} {
		for _, codec := range []string{"producer", "zstd"} {
			b.Run(fmt.Sprintf("lines=%d/compression.type=%s", lines, codec), func(b *testing.B) {
				p := benchTopic(b, map[string]string{"compression.type": codec, "segment.bytes": "67108864"})
				w, request := p.NewLineWriter(), benchLines(lines)
				b.SetBytes(int64(len(request)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := w.Write(request); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkLocate is a record by a random offset; its cost does not follow the
// number of segments.
func BenchmarkLocate(b *testing.B) {
	for _, segments := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("segments=%d", segments), func(b *testing.B) {
			const records = 200000
			request := benchLines(records)
			p := benchTopic(b, map[string]string{"segment.bytes": fmt.Sprint(len(request)*11/10/segments + 4096)})
			if _, err := p.NewLineWriter().Write(request); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Locate(rand.Int64N(records)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOffsetForTime is a record by a time of the log.
func BenchmarkOffsetForTime(b *testing.B) {
	p := benchTopic(b, nil)
	w, request := p.NewLineWriter(), benchLines(10000)
	for range 50 {
		if _, err := w.Write(request); err != nil {
			b.Fatal(err)
		}
	}
	first, err1 := p.Earliest()
	last, err2 := p.Latest()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.OffsetForTime(first.Timestamp + rand.Int64N(last.Timestamp-first.Timestamp+1)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkValues reads a view from its start to its end.
func BenchmarkValues(b *testing.B) {
	for _, codec := range []string{"producer", "lz4", "zstd"} {
		b.Run("compression.type="+codec, func(b *testing.B) {
			p := benchTopic(b, map[string]string{"compression.type": codec})
			w, request := p.NewLineWriter(), benchLines(10000)
			for range 20 {
				if _, err := w.Write(request); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(20 * len(request)))
			b.ReportAllocs()
			for b.Loop() {
				r := p.View(FormatValues).Open()
				for pos := int64(0); ; {
					got, err := r.Read(pos, 1<<20)
					if err != nil {
						b.Fatal(err)
					}
					if len(got.B) == 0 {
						break
					}
					pos += int64(len(got.B))
					got.Release()
				}
				r.Close()
			}
		})
	}
}
