package batch

import (
	"encoding/binary"
	"math/bits"
)

// The head of a frame of lz4: magic, FLG, BD, the content's size where FLG says
// so, and a byte of a hash.
const (
	lz4Magic       = 4
	lz4Descriptor  = 2
	lz4ContentSize = 8
	lz4SizeFlag    = 0x08
)

// mendLZ4 returns src with the hash of its first frame's head as it should be.
// In format 0 Kafka hashes the frame's magic too, by a mistake of old that its
// readers have to take (KAFKA-3160).
func (d *Decoder) mendLZ4(src []byte) []byte {
	n := lz4Magic + lz4Descriptor
	if len(src) > lz4Magic && src[lz4Magic]&lz4SizeFlag != 0 {
		n += lz4ContentSize
	}
	if len(src) <= n {
		return src // too short for a frame, as its reader will find
	}
	d.mended = append(d.mended[:0], src...)
	d.mended[n] = byte(xxHash32(src[lz4Magic:n]) >> 8)
	return d.mended
}

// xxHash32 is the hash of lz4's frames of less than 16 bytes, with the seed 0.
func xxHash32(b []byte) uint32 {
	const (
		prime1 = 2654435761
		prime2 = 2246822519
		prime3 = 3266489917
		prime4 = 668265263
		prime5 = 374761393
	)
	h := uint32(prime5) + uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h += binary.LittleEndian.Uint32(b) * prime3
		h = bits.RotateLeft32(h, 17) * prime4
	}
	for _, c := range b {
		h += uint32(c) * prime5
		h = bits.RotateLeft32(h, 11) * prime1
	}
	h ^= h >> 15
	h *= prime2
	h ^= h >> 13
	h *= prime3
	return h ^ h>>16
}
