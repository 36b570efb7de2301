package dump

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Bytes is how a key or value is printed.
type Bytes int8

// The ways to print bytes.
const (
	// String is as text: what is not UTF-8 becomes U+FFFD, as in Java.
	String Bytes = iota
	// Hex is as hexadecimal digits.
	Hex
	// Base64 is as standard base64.
	Base64
)

// ErrDecoder is returned for a decoder that there is not.
var ErrDecoder = errors.New("not one of string, hex, base64")

// ParseBytes is the way that a name stands for: one of ours, or the class name
// of Kafka's string decoder.
func ParseBytes(name string) (Bytes, error) {
	switch name {
	case "string", "org.apache.kafka.tools.api.StringDecoder", "kafka.serializer.StringDecoder":
		return String, nil
	case "hex":
		return Hex, nil
	case "base64":
		return Base64, nil
	}
	return String, fmt.Errorf("decoder %q: %w", name, ErrDecoder)
}

func (k Bytes) append(dst, b []byte) []byte {
	switch k {
	case Hex:
		return hex.AppendEncode(dst, b)
	case Base64:
		return base64.StdEncoding.AppendEncode(dst, b)
	default:
		return appendJavaString(dst, b)
	}
}

// appendJavaString appends bytes as Java's new String(b, UTF_8) reads them.
func appendJavaString(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		if c := b[0]; c < utf8.RuneSelf {
			dst, b = append(dst, c), b[1:]
			continue
		}
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			dst, b = append(dst, b[:n]...), b[n:]
			continue
		}
		dst = append(dst, "\uFFFD"...)
		b = b[malformed(b):]
	}
	return dst
}

// malformed is how many bytes, at the start of b, Java makes one U+FFFD of:
// the longest start of a character, with a surrogate taken for one, else one
// byte.
func malformed(b []byte) int {
	length := 1
	low, high := byte(0x80), byte(0xbf) // of the second byte
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		length = 2
	case c >= 0xe0 && c <= 0xef:
		length = 3
	case c >= 0xf0 && c <= 0xf4:
		length = 4
	}
	switch b[0] {
	case 0xe0:
		low = 0xa0
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	n := 1
	for n < length && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}
