package coordinator

import "unicode/utf8"

// appendString writes a JSON string as Jackson does. Bytes that are no UTF-8
// become U+FFFD, as they do in Java and as many.
func appendString(dst, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	for len(s) > 0 {
		c, n := utf8.DecodeRune(s)
		if c == utf8.RuneError && n == 1 {
			n = malformed(s)
		}
		s = s[n:]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return append(dst, '"')
}

// malformed is how many bytes at the start of s, which begins with no
// character, Java makes one U+FFFD of: as many as a character could begin with,
// and all of a surrogate's.
func malformed(s []byte) int {
	need, low, high := 3, byte(0x80), byte(0xbf)
	switch lead := s[0]; {
	case lead < 0xe0 || lead > 0xf4:
		return 1
	case lead == 0xe0:
		low = 0xa0
	case lead == 0xf0:
		low = 0x90
	case lead == 0xf4:
		high = 0x8f
	}
	if s[0] >= 0xf0 {
		need = 4
	}
	n := 1
	for n < min(need, len(s)) && s[n] >= low && s[n] <= high {
		n, low, high = n+1, 0x80, 0xbf
	}
	return n
}
