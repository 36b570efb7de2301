package index_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"klogfs/index"
)

// TestTextOfNothing is that of a segment without text.
func TestTextOfNothing(t *testing.T) {
	text := index.Text{Interval: 1000}
	text.Add(78, 0)
	file := text.Append([]byte("before"), 78, 5)
	got, err := index.ParseText(file[6:], 1000, 78, 5)
	if err != nil || got.Size() != 0 || got.Covered() != 78 || got.Search(0) != (index.TextEntry{}) || got.SearchPosition(78) != (index.TextEntry{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestTextGoesOn adds to an index that was read from its file, and gets what
// was never written down.
func TestTextGoesOn(t *testing.T) {
	whole, first := index.Text{Interval: 300}, index.Text{Interval: 300}
	const n = 50
	for i := range int64(n) {
		whole.Add(100+i, i*7%90)
	}
	for at := range int64(n) {
		got, err := index.ParseText(first.Append(nil, first.Covered(), 1), 300, first.Covered(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := at; i < n; i++ {
			got.Add(100+i, i*7%90)
		}
		if !bytes.Equal(got.Append(nil, 1, 1), whole.Append(nil, 1, 1)) || got.Covered() != whole.Covered() {
			t.Fatalf("read after batch %d: %d bytes of text, want %d", at, got.Size(), whole.Size())
		}
		first.Add(100+at, at*7%90)
	}
}

// FuzzParseText takes any bytes as a text index with a right checksum, so that
// what lies behind the checksum is reached: what it takes, it writes again.
func FuzzParseText(f *testing.F) {
	text := index.Text{Interval: 100}
	for range 20 {
		text.Add(150, 80)
	}
	f.Add(text.Append(nil, 3000, 99), int64(500))
	f.Add((&index.Text{}).Append(nil, 0, 0), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, at int64) {
		const magic, checksum = 8, 4
		if len(b) < magic+3*8+checksum {
			return
		}
		b = append([]byte{}, b...)
		body := len(b) - checksum
		binary.BigEndian.PutUint32(b[body:], crc32.Checksum(b[:body], crc32.MakeTable(crc32.Castagnoli)))
		size, mtime := int64(binary.BigEndian.Uint64(b[magic:])), int64(binary.BigEndian.Uint64(b[magic+8:]))
		got, err := index.ParseText(b, 100, size, mtime)
		if err != nil {
			return
		}
		if again := got.Append(nil, size, mtime); !bytes.Equal(again, b) {
			t.Fatalf("%x\nis written as\n%x", b, again)
		}
		got.Search(at)
		got.SearchPosition(at)
	})
}

// FuzzParseOffsets and FuzzParseTimes look for a prefix that is not the
// longest one, or that is not its own prefix.
func FuzzParseOffsets(f *testing.F) {
	f.Add(append(offsets(index.OffsetEntry{RelativeOffset: 9, Position: 100}, index.OffsetEntry{RelativeOffset: 19, Position: 200}), make([]byte, 20)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := index.ParseOffsets(b)
		if !bytes.HasPrefix(b, got) || !bytes.Equal(index.ParseOffsets(got), got) {
			t.Fatal("not a prefix, or another one when parsed again")
		}
		next := len(got) + index.OffsetEntrySize
		if next > len(b) {
			return
		}
		last, e := index.OffsetEntry{RelativeOffset: -1}, index.Offsets(b[:next]).At(got.Len())
		if n := got.Len(); n > 0 {
			last = got.At(n - 1)
		}
		if e.RelativeOffset > last.RelativeOffset && e.Position > last.Position {
			t.Fatalf("%+v after %+v was left out", e, last)
		}
	})
}

func FuzzParseTimes(f *testing.F) {
	f.Add(append(times(index.TimeEntry{Timestamp: 1000, RelativeOffset: 9}, index.TimeEntry{Timestamp: 1001, RelativeOffset: 9}), make([]byte, 30)...))
	f.Add(times(index.TimeEntry{}, index.TimeEntry{Timestamp: 1, RelativeOffset: 0}))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := index.ParseTimes(b)
		if !bytes.HasPrefix(b, got) || !bytes.Equal(index.ParseTimes(got), got) {
			t.Fatal("not a prefix, or another one when parsed again")
		}
		next := len(got) + index.TimeEntrySize
		if next > len(b) {
			return
		}
		last, e := index.TimeEntry{Timestamp: index.NoTimestamp}, index.Times(b[:next]).At(got.Len())
		if n := got.Len(); n > 0 {
			last = got.At(n - 1)
		}
		if e.Timestamp > last.Timestamp && e.RelativeOffset >= last.RelativeOffset && e != (index.TimeEntry{}) {
			t.Fatalf("%+v after %+v was left out", e, last)
		}
	})
}
