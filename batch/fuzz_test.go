package batch

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"klogfs/internal/fixture"
)

// seeds are batches that a broker wrote, a few of each partition.
func seeds(f *testing.F) [][]byte {
	f.Helper()
	logs, err := filepath.Glob(filepath.Join(fixture.Unpack(f, "logs"), "*", "*.log"))
	if err != nil || len(logs) == 0 {
		f.Fatalf("%d logs, %v", len(logs), err)
	}
	var all [][]byte
	for _, log := range logs {
		b, err := os.ReadFile(log)
		if err != nil {
			f.Fatal(err)
		}
		s := NewScanner(bytes.NewReader(b), 0, int64(len(b)))
		const few, small = 3, 20000
		for n := 0; n < few && s.Next(); n++ {
			raw, err := s.Batch()
			if err != nil {
				f.Fatal(err)
			}
			if len(raw) < small {
				all = append(all, append([]byte{}, raw...))
			}
		}
	}
	return all
}

// FuzzDecode gives a batch any header and records, with a right checksum, so
// that what lies behind the checksum is reached.
func FuzzDecode(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < HeaderSize {
			return
		}
		b = append([]byte{}, b...)
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		b = seal(b, h.Count)
		d := Decoder{MaxBytes: 1 << 20}
		var rs Records
		if d.Decode(b, &rs) != nil {
			return
		}
		valid := rs.Validate() == nil
		n, text := int32(0), []byte{}
		var r Record
		for rs.Next(&r) {
			n++
			text = append(append(text, r.Value...), '\n')
			if len(r.AppendHeaders(nil)) != int(r.headerCount) {
				t.Fatal("headers are not as many as they are")
			}
			if h.Attributes.Codec() == CodecNone && !bytes.Equal(b[r.ValuePos:r.ValuePos+len(r.Value)], r.Value) {
				t.Fatal("the value is not where it is said to be")
			}
		}
		if valid != (rs.Err() == nil) || valid && n != rs.Header.Count {
			t.Fatalf("%d of %d records, %v", n, rs.Header.Count, rs.Err())
		}
		got, err := rs.AppendValues(nil, 0)
		if (err == nil) != valid || valid && !bytes.Equal(got, text) {
			t.Fatalf("values %q, want %q, %v", got, text, err)
		}
		if size, _, err := rs.ValuesSize(0); (err == nil) != valid || valid && size != int64(len(text)) {
			t.Fatalf("size %d, want %d, %v", size, len(text), err)
		}
	})
}

// FuzzScanner walks any bytes: what it finds lies within them, and is found
// again when the rest is cut off.
func FuzzScanner(f *testing.F) {
	all := seeds(f)
	for i, b := range all {
		f.Add(b)
		f.Add(append(append([]byte{}, b...), all[(i+1)%len(all)]...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, n := scan(b)
		if s.End() > int64(len(b)) {
			t.Fatalf("end %d of %d", s.End(), len(b))
		}
		if again, m := scan(b[:s.End()]); m != n || again.Stop() != EndOfData || again.Err() != nil {
			t.Fatalf("%d batches, then %d: %v", n, m, again.Err())
		}
	})
}

// FuzzHeader takes any header: its offsets and its size can be computed with.
func FuzzHeader(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b[:HeaderSize])
		old := append([]byte{}, b[:HeaderSize]...)
		old[offsetMagic] = 1
		f.Add(old)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		least := HeaderSize
		if h.Magic < Magic {
			least = LogOverhead + legacyLeast(h.Magic)
		}
		if err == nil && (h.Size() < least || h.LastOffset() < h.BaseOffset || h.NextOffset() <= h.LastOffset()) {
			t.Fatalf("%+v", h)
		}
	})
}

// FuzzDecompress decompresses any bytes with each codec, within the limit.
func FuzzDecompress(f *testing.F) {
	for _, b := range seeds(f) {
		h, err := ParseHeader(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(int8(h.Attributes.Codec()), b[HeaderSize:])
	}
	f.Fuzz(func(t *testing.T, codec int8, b []byte) {
		const limit = 1 << 16
		var d decompressors
		got, err := d.decompress(Codec(codec), append(make([]byte, 0, limit+1), 'x'), b)
		if Codec(codec) != CodecNone && err == nil && len(got) > limit+1 {
			t.Fatalf("%d bytes", len(got))
		}
		if len(got) == 0 || got[0] != 'x' {
			t.Fatal("what was there before is gone")
		}
	})
}
