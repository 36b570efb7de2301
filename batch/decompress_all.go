package batch

// Decompress returns what src holds, decompressed: a view of src for
// CodecNone, else of the decoder's buffer, valid until its next use. Nothing
// is checked but the codec's own bytes; ErrCodec and ErrTooLarge are returned.
func (d *Decoder) Decompress(codec Codec, src []byte) ([]byte, error) {
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
