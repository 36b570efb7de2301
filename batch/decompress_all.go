package batch

// Decompress returns the records of a batch with the header h, decompressed: a
// view of src where they are not compressed, else of the decoder's buffer,
// valid until its next use. Nothing is checked but the codec's own bytes;
// ErrCodec and ErrTooLarge are returned.
func (d *Decoder) Decompress(h *Header, src []byte) ([]byte, error) {
	codec := h.Attributes.Codec()
	if codec == CodecNone {
		return src, nil
	}
	limit := d.MaxBytes
	if limit == 0 {
		limit = DefaultMaxBytes
	}
	var err error
	d.buf, err = d.decompress(codec, d.buf[:0], src, limit)
	return d.buf, err
}
