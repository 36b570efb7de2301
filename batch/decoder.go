package batch

// DefaultMaxBytes is the limit of a decoder that was given none.
const DefaultMaxBytes = 256 << 20

// Decoder decodes batches, one after the other. It keeps its buffer and its
// decompressors for the next one. The zero value is ready; it is not safe for
// concurrent use.
type Decoder struct {
	// MaxBytes is how large the records of a batch may be, decompressed, in
	// bytes; 0 for DefaultMaxBytes.
	MaxBytes int

	buf []byte
	decompressors
}

// Decode checks the batch that b begins with and makes its records ready to be
// gone over. Every error is a *CorruptionError with a position from the start
// of b; the records themselves are checked as they are gone over.
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
	rs.Header, rs.b, rs.base = h, b[HeaderSize:], HeaderSize
	rs.Reset()
	if codec := h.Attributes.Codec(); codec != CodecNone && len(rs.b) > 0 {
		limit := d.MaxBytes
		if limit == 0 {
			limit = DefaultMaxBytes
		}
		d.buf, err = d.decompress(codec, d.buf[:0], rs.b, limit)
		if err != nil {
			rs.b = nil
			return corrupt(HeaderSize, err)
		}
		rs.b, rs.base = d.buf, 0
	}
	const smallestRecord = 7
	if int(h.Count) > len(rs.b)/smallestRecord {
		return corrupt(offsetCount, ErrCount)
	}
	return nil
}

// Trim lets go of the decoder's buffer when it is larger than most bytes. What
// was decoded last is not valid after it.
func (d *Decoder) Trim(most int) {
	if cap(d.buf) > most {
		d.buf = nil
	}
}
