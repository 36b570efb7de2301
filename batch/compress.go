package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compressors are made when they are first needed, for one level each.
type compressors struct {
	out   bytes.Buffer
	level int
	gzip  *gzip.Writer
	lz4   *lz4.Writer
	zstd  *zstd.Encoder
}

// compress appends src, compressed, to dst. level 0 is the codec's default;
// else it is what Kafka's compression.<codec>.level takes.
func (c *compressors) compress(codec Codec, level int, dst, src []byte) ([]byte, error) {
	if c.level != level {
		*c = compressors{level: level}
	}
	c.out.Reset()
	var err error
	switch codec {
	case CodecGzip:
		err = c.writeGzip(src)
	case CodecSnappy:
		return appendXerial(dst, src), nil
	case CodecLZ4:
		err = c.writeLZ4(src)
	case CodecZstd:
		if err = c.makeZstd(); err == nil {
			return c.zstd.EncodeAll(src, dst), nil
		}
	case CodecNone:
		return append(dst, src...), nil
	default:
		err = ErrCodec
	}
	if err != nil {
		return dst, fmt.Errorf("compress with %s: %w", codec, err)
	}
	return append(dst, c.out.Bytes()...), nil
}

func (c *compressors) writeGzip(src []byte) error {
	if c.gzip == nil {
		level := c.level
		if level == 0 {
			level = gzip.DefaultCompression
		}
		w, err := gzip.NewWriterLevel(nil, level)
		if err != nil {
			return err
		}
		c.gzip = w
	}
	c.gzip.Reset(&c.out)
	if _, err := c.gzip.Write(src); err != nil {
		return err
	}
	return c.gzip.Close()
}

// writeLZ4 writes one frame of independent blocks of 64 KiB without checksums
// but the header's: what Kafka's reader takes
// (org.apache.kafka.common.compress.Lz4BlockInputStream).
func (c *compressors) writeLZ4(src []byte) error {
	if c.lz4 == nil {
		c.lz4 = lz4.NewWriter(nil)
		options := []lz4.Option{
			lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1),
		}
		// Kafka's default level, 9, is that of its library; the fast mode here
		// is as dense as its default producer's.
		const kafkaDefault = 9
		if c.level != 0 && c.level != kafkaDefault {
			options = append(options, lz4.CompressionLevelOption(lz4Level(c.level)))
		}
		if err := c.lz4.Apply(options...); err != nil {
			return err
		}
	}
	c.lz4.Reset(&c.out)
	if _, err := c.lz4.Write(src); err != nil {
		return err
	}
	return c.lz4.Close()
}

func lz4Level(level int) lz4.CompressionLevel {
	levels := [...]lz4.CompressionLevel{
		lz4.Fast, lz4.Level1, lz4.Level2, lz4.Level3, lz4.Level4,
		lz4.Level5, lz4.Level6, lz4.Level7, lz4.Level8, lz4.Level9,
	}
	return levels[min(max(level, 0), len(levels)-1)]
}

func (c *compressors) makeZstd() error {
	if c.zstd != nil {
		return nil
	}
	level := zstd.SpeedDefault
	if c.level != 0 {
		level = zstd.EncoderLevelFromZstd(c.level)
	}
	var err error
	c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	return err
}

// appendXerial writes snappy as Java does, in blocks of 32 KiB.
func appendXerial(dst, src []byte) []byte {
	const block, version = 32 << 10, 1
	dst = append(dst, xerialMagic...)
	dst = binary.BigEndian.AppendUint32(dst, version)
	dst = binary.BigEndian.AppendUint32(dst, version)
	for len(src) > 0 {
		n := min(block, len(src))
		at := len(dst)
		room := 4 + snappy.MaxEncodedLen(n)
		dst = append(dst, make([]byte, room)...)
		size := len(snappy.Encode(dst[at+4:], src[:n]))
		binary.BigEndian.PutUint32(dst[at:], uint32(size))
		dst = dst[:at+4+size]
		src = src[n:]
	}
	return dst
}
