package batch

import "errors"

// Decoder decodes batches, one after the other. It keeps its buffer and its
// decompressors for the next one. The zero value is ready; it is not safe for
// concurrent use.
type Decoder struct {
	// Budget is what the decompressed records count against; nil for none.
	Budget *Budget
	// MaxBytes is how large the records of a batch may be, decompressed, in
	// bytes; 0 for the whole budget, or DefaultMaxBytes.
	MaxBytes int
	// Expect is how large the records of the next batch are known to be,
	// decompressed, in bytes; 0 where that is not known.
	Expect int

	buf       []byte // decompressed records
	converted []byte // records of formats 0 and 1, as those of format 2
	mended    []byte // lz4 of format 0
	held      int64  // of the budget
	decompressors
}

// Decode checks the batch that b begins with and makes its records ready to be
// gone over. Every error is a *CorruptionError with a position from the start
// of b; the records themselves are checked as they are gone over. The header
// of a compressed message of formats 0 and 1 becomes that of the messages in
// it.
func (d *Decoder) Decode(b []byte, rs *Records) error {
	h, err := ParseHeader(b)
	if err != nil {
		return corrupt(0, err)
	}
	if h.Size() > len(b) {
		return corrupt(0, ErrTruncated)
	}
	b = b[:h.Size():h.Size()]
	if !VerifyCRC(b, &h) {
		return corrupt(0, ErrCRC)
	}
	if h.Magic < Magic {
		if err := d.decodeLegacy(b, &h, rs); err != nil {
			rs.b = nil
			return corrupt(legacyFrom, err)
		}
		return nil
	}
	rs.Header, rs.b, rs.base = h, b[HeaderSize:], HeaderSize
	rs.Reset()
	if h.Attributes.Codec() != CodecNone && len(rs.b) > 0 {
		if rs.b, err = d.inflate(&h, rs.b); err != nil {
			rs.b = nil
			return corrupt(HeaderSize, err)
		}
		rs.base = 0
	}
	const smallestRecord = 7
	if int(h.Count) > len(rs.b)/smallestRecord {
		return corrupt(offsetCount, ErrCount)
	}
	return nil
}

// Decompress returns the records of a batch with the header h, or the value of
// a message of formats 0 and 1, decompressed: a view of src where it is not
// compressed, else of the decoder's buffer, valid until its next use. Nothing
// is checked but the codec's own bytes; ErrCodec and ErrTooLarge are returned.
func (d *Decoder) Decompress(h *Header, src []byte) ([]byte, error) {
	if h.Attributes.Codec() == CodecNone {
		return src, nil
	}
	return d.inflate(h, src)
}

// inflate decompresses into the decoder's buffer. How large that has to be is
// only known afterwards: larger and larger ones are tried, each of them paid
// for before it is made, so that no bytes can make more be allocated than the
// budget has.
func (d *Decoder) inflate(h *Header, src []byte) ([]byte, error) {
	codec, limit := h.Attributes.Codec(), d.limit()
	if h.Magic == 0 && codec == CodecLZ4 {
		src = d.mendLZ4(src)
	}
	declared := declaredSize(codec, src)
	if declared > uint64(limit) {
		return nil, ErrTooLarge
	}
	const first, usualRatio, fine = 64 << 10, 4, 16 << 20
	likely := max(len(src)*usualRatio, int(declared), cap(d.buf), d.Expect)
	size, step := min(first, limit), 4
	if d.Expect > 0 {
		size = min(d.Expect, limit)
	}
	for ; ; size = min(size*step, limit) {
		if size >= fine {
			step = 2
		}
		if size < min(likely, limit) {
			continue
		}
		d.reserve(size, h.Magic)
		out, err := d.decompress(codec, d.buf[:0:size], src)
		if !errors.Is(err, ErrTooLarge) || size == limit {
			return out, err
		}
	}
}

func (d *Decoder) limit() int {
	limit := d.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
		if d.Budget != nil {
			limit = int(d.Budget.Size())
		}
	}
	return limit
}

// reserve makes the buffer one of at least size bytes. Old formats need the
// room twice: their records are converted.
func (d *Decoder) reserve(size int, format int8) {
	if cap(d.buf) >= size {
		return
	}
	d.Trim(0)
	if d.Budget != nil && size > freeBytes {
		held := int64(size)
		if format < Magic {
			held *= 2
		}
		d.held = min(held, d.Budget.Size())
		d.Budget.acquire(d.held)
	}
	d.buf = make([]byte, 0, size)
}

// Holds reports whether the decoder keeps a part of its budget.
func (d *Decoder) Holds() bool { return d.held > 0 }

// Trim lets go of the decoder's buffers when they are larger than most bytes.
// What was decoded last is not valid after it.
func (d *Decoder) Trim(most int) {
	if cap(d.buf) > most {
		d.buf = nil
		if d.held > 0 {
			d.Budget.release(d.held)
			d.held = 0
		}
	}
	if cap(d.converted) > most {
		d.converted = nil
	}
}
