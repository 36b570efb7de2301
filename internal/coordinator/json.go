package coordinator

import (
	"encoding/base64"
	"strconv"
	"strings"
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
		r.bad = r.bad || !f.nullable
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
		tagged = f.tagged(&ahead)
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
			f.tagged(r)
		}
	}
}

// tagged are the tagged fields of a struct that has some, by tag. Kafka heeds
// the size only of those that it does not know.
func (f *field) tagged(r *reader) map[int][]byte {
	n := r.uvarint()
	fields := map[int][]byte{}
	for range n {
		tag, size := r.uvarint(), r.uvarint()
		if e := f.byTag(tag); e != nil {
			start := r.b
			e.skip(r)
			fields[tag] = start[:len(start)-len(r.b)]
		} else {
			r.take(size)
		}
		if r.bad {
			break
		}
	}
	return fields
}

// byTag is the field with a tag, nil when there is none.
func (f *field) byTag(tag int) *field {
	for i := range f.fields {
		if tag >= 0 && f.fields[i].tag == tag {
			return &f.fields[i]
		}
	}
	return nil
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
