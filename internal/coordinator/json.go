package coordinator

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendJSON decodes a field of a value or key, as JSON.
func (f *field) appendJSON(dst []byte, r *reader) []byte {
	switch f.kind {
	case kindInt:
		return strconv.AppendInt(dst, r.int(f.size, f.unsigned), 10)
	case kindUUID:
		dst = append(dst, '"')
		dst = base64.RawURLEncoding.AppendEncode(dst, r.take(16))
		return append(dst, '"')
	case kindStruct:
		return f.appendStruct(dst, r)
	case kindString, kindBytes, kindArray:
	}
	n := r.length(f)
	if n < 0 {
		r.bad = r.bad || !f.nullable || n < -1
		return append(dst, "null"...)
	}
	switch f.kind {
	case kindArray:
		return f.appendArray(dst, r, n)
	case kindBytes:
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), r.take(n))
		return append(dst, '"')
	default:
		return appendString(dst, r.take(n))
	}
}

func (f *field) appendArray(dst []byte, r *reader, n int) []byte {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if r.bad || len(r.b) == 0 { // no element is of no bytes
			r.bad = true
			break
		}
		dst = f.element.appendJSON(dst, r)
	}
	return append(dst, ']')
}

// appendStruct decodes a struct. Its tagged fields come last, and stand
// elsewhere in JSON; so what is before them is gone over twice.
func (f *field) appendStruct(dst []byte, r *reader) []byte {
	if f.isNull(r) {
		return append(dst, "null"...)
	}
	var tagged map[int][]byte
	if f.flexible {
		ahead := *r
		for i := range f.fields {
			if f.fields[i].tag < 0 {
				f.fields[i].skip(&ahead)
			}
		}
		tagged = ahead.tagged()
		defer func() { *r = reader{ahead.b, r.bad || ahead.bad} }()
	}
	dst = append(dst, '{')
	first := true
	for i := range f.fields {
		e := &f.fields[i]
		source := r
		if e.tag >= 0 {
			b, ok := tagged[e.tag]
			if !ok || e.isInitial(b) {
				continue
			}
			source = &reader{b: b}
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), e.name...), `":`...)
		dst = e.appendJSON(dst, source)
		r.bad = r.bad || source.bad
	}
	return append(dst, '}')
}

// isNull takes what tells a struct that may be null from null: a byte, of a
// tagged field a varint.
func (f *field) isNull(r *reader) bool {
	switch {
	case !f.nullable:
		return false
	case f.tag >= 0:
		return r.uvarint() == 0
	}
	return r.int(1, false) < 0
}

// skip goes past a field.
func (f *field) skip(r *reader) {
	switch f.kind {
	case kindInt:
		r.take(f.size)
	case kindUUID:
		r.take(16)
	case kindString, kindBytes:
		if n := r.length(f); n >= 0 {
			r.take(n)
		}
	case kindArray:
		for n := r.length(f); n > 0 && !r.bad; n-- {
			f.element.skip(r)
		}
	case kindStruct:
		if f.isNull(r) {
			return
		}
		for i := range f.fields {
			if f.fields[i].tag < 0 {
				f.fields[i].skip(r)
			}
		}
		if f.flexible {
			r.tagged()
		}
	}
}

// isInitial reports whether a tagged field has its default, which JSON leaves
// out.
func (f *field) isInitial(b []byte) bool {
	switch f.initial {
	case "absent":
		return false
	case "zero":
		return strings.Trim(string(b), "\x00") == ""
	case "empty":
		return len(b) == 1 && b[0] == 1
	}
	r := reader{b: b}
	return strconv.FormatInt(r.int(f.size, f.unsigned), 10) == f.initial
}

// appendString writes a JSON string as Jackson does. Bytes that are no UTF-8
// become U+FFFD, as they do in Java.
func appendString(dst, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, '"')
	for len(s) > 0 {
		c, n := utf8.DecodeRune(s)
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
