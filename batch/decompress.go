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

	zstdMemory uint64 // the limit that zstd was made with
}

// decompress appends the bytes of src, decompressed, to dst. ErrTooLarge is
// returned when they would be more than limit, ErrCodec when src is not of the
// codec.
func (d *decompressors) decompress(c Codec, dst, src []byte, limit int) ([]byte, error) {
	var err error
	d.in.Reset(src)
	switch c {
	case CodecGzip:
		if d.gzip == nil {
			d.gzip = new(gzip.Reader)
		}
		if err = d.gzip.Reset(&d.in); err == nil {
			dst, err = readAll(dst, d.gzip, limit)
		}
	case CodecSnappy:
		dst, err = appendSnappy(dst, src, limit)
	case CodecLZ4:
		if d.lz4 == nil {
			d.lz4 = lz4.NewReader(nil)
		}
		d.lz4.Reset(&d.in)
		dst, err = readAll(dst, d.lz4, limit)
	case CodecZstd:
		dst, err = d.appendZstd(dst, src, limit)
	case CodecNone:
		return append(dst, src...), nil
	default:
		return dst, fmt.Errorf("%s: %w", c, ErrCodec)
	}
	if err != nil && !errors.Is(err, ErrTooLarge) {
		err = fmt.Errorf("%s: %w: %w", c, ErrCodec, err)
	}
	return dst, err
}

// Bounds of the window that a zstd frame may ask for, in bytes: the largest is
// what Kafka's zstd library takes by default; up to the least (RFC 8878,
// section 3.1.1.1.2) it is taken however low the limit is.
const (
	maxZstdWindow   = 128 << 20
	leastZstdWindow = 8 << 20
)

// appendZstd takes several frames, and frames without a content size. What is
// decompressed is its own window: a frame that asks for a large one and holds
// little makes nothing be allocated, which a stream decoder would.
func (d *decompressors) appendZstd(dst, src []byte, limit int) ([]byte, error) {
	if memory := uint64(max(limit, leastZstdWindow)); d.zstd == nil || d.zstdMemory != memory {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(memory),
			zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderLowmem(true), zstd.IgnoreChecksum(true))
		if err != nil {
			return dst, err
		}
		d.zstd, d.zstdMemory = z, memory
	}
	out, err := d.zstd.DecodeAll(src, dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || err == nil && len(out)-len(dst) > limit {
		return dst, ErrTooLarge
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// readAll appends what r gives to dst, which grows as it comes.
func readAll(dst []byte, r io.Reader, limit int) ([]byte, error) {
	const least = 512
	start := len(dst)
	for {
		if cap(dst)-len(dst) < least {
			dst = append(dst, make([]byte, max(cap(dst), 4*least))...)[:len(dst)]
		}
		room := dst[len(dst):cap(dst)]
		if most := limit - (len(dst) - start) + 1; len(room) > most {
			room = room[:most]
		}
		n, err := r.Read(room)
		dst = dst[:len(dst)+n]
		switch {
		case len(dst)-start > limit:
			return dst[:start], ErrTooLarge
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst[:start], err
		}
	}
}

// xerialMagic begins snappy as Java writes it: framed in blocks, each with its
// length (org.xerial.snappy.SnappyCodec). Others write one bare block.
const xerialMagic = "\x82SNAPPY\x00"

const xerialHeader = len(xerialMagic) + 4 + 4 // version, compatible version

var errSnappyBlock = errors.New("block goes past the end")

func appendSnappy(dst, src []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(src, []byte(xerialMagic)) {
		return appendSnappyBlock(dst, src, limit)
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
		if dst, err = appendSnappyBlock(dst, src[:n], limit-(len(dst)-start)); err != nil {
			return dst[:start], err
		}
		src = src[n:]
	}
	return dst, nil
}

func appendSnappyBlock(dst, src []byte, limit int) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return dst, err
	}
	if n > limit {
		return dst, ErrTooLarge
	}
	// No block of snappy makes more than this of its bytes: a declared length
	// beyond is a lie, and nothing is to be allocated for it.
	const mostRatio = 64
	if n > len(src)*mostRatio {
		return dst, snappy.ErrCorrupt
	}
	at := len(dst)
	if cap(dst)-at < n {
		dst = append(dst, make([]byte, n)...)[:at]
	}
	out, err := snappy.Decode(dst[at:at+n], src)
	if err != nil {
		return dst, err
	}
	return dst[:at+len(out)], nil
}
