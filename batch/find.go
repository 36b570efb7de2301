package batch

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Find looks for the first right batch among the bytes of r from pos to end:
// one that is there as a whole, whose checksum is that of its bytes, and whose
// offsets lie from least on and below below. It returns where it starts, end
// when there is none. It is the way on behind damage, where no header can be
// believed: a batch may start at every byte.
func Find(r io.ReaderAt, pos, end, least, below int64) (int64, error) {
	f := finder{r: r, end: end, least: least, below: below, trust: mostChecked}
	window := make([]byte, findWindow)
	for pos < end {
		n, err := r.ReadAt(window[:min(findWindow, end-pos)], pos)
		if err != nil && !errors.Is(err, io.EOF) {
			return end, err
		}
		if n < LeastSize {
			return end, nil
		}
		at, err := f.search(window[:n], pos)
		if err != nil || at >= 0 {
			return max(at, 0), err
		}
		// What starts in the last bytes is seen whole in the next window.
		pos += int64(n - HeaderSize + 1)
		if int64(n) < findWindow {
			return end, nil
		}
	}
	return end, nil
}

const (
	findWindow = 256 << 10
	// mostChecked bounds the bytes whose checksum is made in vain: there are
	// bytes in which every one seems to begin a large batch.
	mostChecked = 1 << 30
)

type finder struct {
	r                 io.ReaderAt
	end, least, below int64
	trust             int64
}

// search returns the place of the first right batch that starts in the window,
// which lies at pos; −1 for none.
func (f *finder) search(window []byte, pos int64) (int64, error) {
	for i := 0; i+LeastSize <= len(window); i++ {
		b := window[i:]
		if b[offsetMagic] > Magic {
			continue
		}
		base := int64(binary.BigEndian.Uint64(b))
		if base < f.least || base >= f.below {
			continue
		}
		h, err := ParseHeader(b)
		if err != nil || int64(h.Size()) > f.end-pos-int64(i) || h.NextOffset() > f.below {
			continue
		}
		right, err := f.right(b, &h, pos+int64(i))
		if right || err != nil {
			return pos + int64(i), err
		}
	}
	return -1, nil
}

// right checks the batch at a place, of which b may be only the start.
func (f *finder) right(b []byte, h *Header, at int64) (bool, error) {
	if h.Size() <= len(b) {
		return VerifyCRC(b, h), nil
	}
	if f.trust -= int64(h.Size()); f.trust < 0 {
		return false, nil
	}
	return CheckCRC(f.r, at, h)
}

// CheckCRC reports whether the checksum in the header of the batch at a place
// of r is that of its bytes, and reads them a piece at a time.
func CheckCRC(r io.ReaderAt, at int64, h *Header) (bool, error) {
	table, from := castagnoli, int64(offsetAttributes)
	if h.Magic < Magic {
		table, from = crc32.IEEETable, legacyFrom
	}
	section := io.NewSectionReader(r, at+from, int64(h.Size())-from)
	sum := crc32.New(table)
	n, err := io.Copy(sum, section)
	if err != nil {
		return false, err
	}
	return n == section.Size() && sum.Sum32() == h.CRC, nil
}
