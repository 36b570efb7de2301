package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// decompressors are made when they are first needed.
type decompressors struct {
	in   bytes.Reader
	gzip *gzip.Reader
	lz4  *lz4.Reader
	zstd *zstd.Decoder
}

// decompress appends the bytes of src, decompressed, to dst, within the room
// that it has. ErrTooLarge is returned, bare, when they would be more, ErrCodec
// when src is not of the codec.
func (d *decompressors) decompress(c Codec, dst, src []byte) ([]byte, error) {
	var err error
	d.in.Reset(src)
	switch c {
	case CodecGzip:
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		if err = d.gzip.Reset(&d.in); err == nil {
			dst, err = readAll(dst, d.gzip)
		}
	case CodecSnappy:
		dst, err = appendSnappy(dst, src)
	case CodecLZ4:
		if d.lz4 == nil {
			d.lz4 = lz4.NewReader(nil)
		}
		d.lz4.Reset(&d.in)
		dst, err = readAll(dst, d.lz4)
	case CodecZstd:
		dst, err = d.appendZstd(dst, src)
	case CodecNone:
		return append(dst, src...), nil
	default:
		return dst, fmt.Errorf("%s: %w", c, ErrCodec)
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		return dst, ErrTooLarge
	case err != nil:
		return dst, fmt.Errorf("%s: %w: %w", c, ErrCodec, err)
	}
	return dst, nil
}

// maxZstdWindow is the largest window that a frame may ask for, in bytes: what
// Kafka's zstd library takes by default.
const maxZstdWindow = 128 << 20

// appendZstd takes several frames, and frames without a content size. What is
// decompressed is its own window: a frame that asks for a large one and holds
// little makes nothing be allocated, which a stream decoder would.
func (d *decompressors) appendZstd(dst, src []byte) ([]byte, error) {
	const anyMemory = 1 << 40 // the room in dst is the limit
	if d.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(anyMemory),
			zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true),
			zstd.IgnoreChecksum(true))
		if err != nil {
			return dst, err
		}
		d.zstd = z
	}
	out, err := d.zstd.DecodeAll(src, dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return dst, ErrTooLarge
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// readAll appends what r gives to dst.
func readAll(dst []byte, r io.Reader) ([]byte, error) {
	start := len(dst)
	var probe [1]byte
	for {
		room := dst[len(dst):cap(dst)]
		full := len(room) == 0
		if full {
			room = probe[:] // there may be no more
		}
		n, err := r.Read(room)
		switch {
		case full && n > 0:
			return dst[:start], ErrTooLarge
		case !full:
			dst = dst[:len(dst)+n]
		}
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst[:start], err
		}
	}
}

// declaredSize is how large src says it is, decompressed; 0 where it does not.
// It may lie.
func declaredSize(c Codec, src []byte) uint64 {
	var h zstd.Header
	if c == CodecZstd && h.Decode(src) == nil && h.HasFCS {
		return h.FrameContentSize
	}
	if c == CodecSnappy && !bytes.HasPrefix(src, []byte(xerialMagic)) {
		n, _ := snappy.DecodedLen(src) // 0 where it says nothing
		return uint64(n)
	}
	return 0
}

// xerialMagic begins snappy as Java writes it: framed in blocks, each with its
// length (org.xerial.snappy.SnappyCodec). Others write one bare block.
const xerialMagic = "\x82SNAPPY\x00"

const xerialHeader = len(xerialMagic) + 4 + 4 // version, compatible version

var errSnappyBlock = errors.New("block goes past the end")

func appendSnappy(dst, src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, []byte(xerialMagic)) {
		return appendSnappyBlock(dst, src)
	}
	if len(src) < xerialHeader {
		return dst, errSnappyBlock
	}
	start := len(dst)
	for src = src[xerialHeader:]; len(src) > 0; {
		// Streams put one after the other have a header each.
		if bytes.HasPrefix(src, []byte(xerialMagic)) && len(src) >= xerialHeader {
			src = src[xerialHeader:]
			continue
		}
		if len(src) < 4 {
			return dst[:start], errSnappyBlock
		}
		n := int64(binary.BigEndian.Uint32(src))
		if src = src[4:]; n > int64(len(src)) {
			return dst[:start], errSnappyBlock
		}
		var err error
		if dst, err = appendSnappyBlock(dst, src[:n]); err != nil {
			return dst[:start], err
		}
		src = src[n:]
	}
	return dst, nil
}

func appendSnappyBlock(dst, src []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return dst, err
	}
	// No block of snappy makes more than this of its bytes: a declared length
	// beyond is a lie.
	const mostRatio = 64
	if n > len(src)*mostRatio {
		return dst, snappy.ErrCorrupt
	}
	at := len(dst)
	if cap(dst)-at < n {
		return dst, ErrTooLarge
	}
	out, err := snappy.Decode(dst[at:at+n], src)
	if err != nil {
		return dst, err
	}
	return dst[:at+len(out)], nil
}
