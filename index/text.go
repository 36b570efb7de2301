package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"
)

// A text index says how the text of a view (the values of a segment's
// records, a line each) lies over the segment's batches. Its file, which only
// klogfs reads and which can be made again from the log at any time, is:
//
//	+---------------+---------------------------------+
//	| "klogtxt1"    | 8 bytes                         |
//	| log size      | int64, bytes                    |
//	| log mtime     | int64, nanoseconds since 1970   |
//	| text size     | int64, bytes                    |
//	| entries       | text int64, position int64 each |
//	| CRC-32C       | uint32, of everything before    |
//	+---------------+---------------------------------+
//
// The log's size and mtime are its identity: a log that another program
// touched since does not match, and the index is made again.
const (
	textMagic     = "klogtxt1"
	textHeader    = len(textMagic) + 3*8
	textEntrySize = 16
)

// ErrText is returned when the bytes are no whole text index, or not one of
// the log in question.
var ErrText = errors.New("not a text index of this log")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// TextEntry says that the text of the batch at Position starts at Text.
type TextEntry struct {
	Text, Position int64
}

// Text is the text index of one segment: sparse entries, and how far the log
// has been read for them. It is not safe for concurrent use with Add.
type Text struct {
	// Interval is the least distance of two entries in bytes of text.
	Interval int64

	entries []TextEntry
	size    int64
	covered int64
}

// Add tells of the next batch, which begins where the log has been covered
// to: its length in the log and the length of its text, both in bytes.
func (t *Text) Add(size, text int64) {
	n := len(t.entries)
	if text > 0 && (n == 0 || t.size-t.entries[n-1].Text >= t.Interval) {
		t.entries = append(t.entries, TextEntry{Text: t.size, Position: t.covered})
	}
	t.covered += size
	t.size += text
}

// Size is the length of the text in bytes.
func (t *Text) Size() int64 { return t.size }

// Covered is the byte of the log up to which the text is known.
func (t *Text) Covered() int64 { return t.covered }

// Search returns the last entry at or before a byte of the text; the start of
// the log when there is none.
func (t *Text) Search(text int64) TextEntry {
	i := sort.Search(len(t.entries), func(i int) bool { return t.entries[i].Text > text })
	if i == 0 {
		return TextEntry{}
	}
	return t.entries[i-1]
}

// SearchPosition returns the last entry at or before a byte of the log; the
// start of the log when there is none.
func (t *Text) SearchPosition(position int64) TextEntry {
	i := sort.Search(len(t.entries), func(i int) bool { return t.entries[i].Position > position })
	if i == 0 {
		return TextEntry{}
	}
	return t.entries[i-1]
}

// Append encodes the index as a file at the end of dst. logSize is in bytes
// and logTime in nanoseconds since 1970.
func (t *Text) Append(dst []byte, logSize, logTime int64) []byte {
	start := len(dst)
	dst = append(dst, textMagic...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(logSize))
	dst = binary.BigEndian.AppendUint64(dst, uint64(logTime))
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.size))
	for _, e := range t.entries {
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.Text))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.Position))
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// ParseText decodes a file that Append made for a log of this size and time.
// ErrText is returned when it is not that.
func ParseText(file []byte, interval, logSize, logTime int64) (*Text, error) {
	body := len(file) - 4
	if body < textHeader || (body-textHeader)%textEntrySize != 0 || string(file[:len(textMagic)]) != textMagic {
		return nil, ErrText
	}
	if crc32.Checksum(file[:body], castagnoli) != binary.BigEndian.Uint32(file[body:]) {
		return nil, fmt.Errorf("checksum: %w", ErrText)
	}
	word := func(at int) int64 { return int64(binary.BigEndian.Uint64(file[at:])) }
	if word(8) != logSize || word(16) != logTime {
		return nil, fmt.Errorf("size or time of the log differ: %w", ErrText)
	}
	t := &Text{Interval: interval, size: word(24), covered: logSize}
	t.entries = make([]TextEntry, 0, (body-textHeader)/textEntrySize)
	for at := textHeader; at < body; at += textEntrySize {
		t.entries = append(t.entries, TextEntry{Text: word(at), Position: word(at + 8)})
	}
	return t, nil
}
