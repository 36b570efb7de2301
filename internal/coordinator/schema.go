package coordinator

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed schemas.txt
var schemaText string

// kind is what a field is made of.
type kind int8

const (
	kindInt kind = iota
	kindUUID
	kindString
	kindBytes
	kindArray
	kindStruct
)

// field is one field of a struct, or the elements of an array.
type field struct {
	name     string
	kind     kind
	size     int // of an int, in bytes
	unsigned bool
	compact  bool // its length is a varint, one more than it is
	nullable bool
	fields   []field // of a struct
	flexible bool    // the struct ends in tagged fields
	element  *field

	tag     int // −1 for a field that is not tagged
	initial string
}

// recordKind names a key or value.
type recordKind struct {
	topic   string
	typ     int16
	value   bool
	version int16
}

// schemas are parsed once, when the first record is decoded.
var schemas = sync.OnceValue(func() map[recordKind]*field {
	all := map[recordKind]*field{}
	for _, line := range strings.Split(schemaText, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		p := schemaParser{words: strings.Fields(line)}
		k := recordKind{topic: p.word(), typ: p.number(), value: p.word() == "value", version: p.number()}
		all[k] = p.body()
	}
	return all
})

// schemaParser goes over the words of a line. What it does not understand is a
// mistake in our own text.
type schemaParser struct{ words []string }

func (p *schemaParser) word() string {
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

func (p *schemaParser) number() int16 {
	n, err := strconv.ParseInt(p.word(), 10, 16)
	if err != nil {
		panic(err)
	}
	return int16(n)
}

// body parses fields up to the end of a struct.
func (p *schemaParser) body() *field {
	s := &field{kind: kindStruct, tag: -1}
	for len(p.words) > 0 && p.words[0][0] != '}' {
		if p.words[0] == "~" {
			p.word()
			s.flexible = true
			continue
		}
		s.fields = append(s.fields, *p.field())
	}
	return s
}

// field parses name:type, or name<tag>:type=default.
func (p *schemaParser) field() *field {
	name, typ, _ := strings.Cut(p.word(), ":")
	tag := -1
	if base, t, ok := strings.Cut(strings.TrimSuffix(name, ">"), "<"); ok {
		name = base
		n, err := strconv.Atoi(t)
		if err != nil {
			panic(err)
		}
		tag = n
	}
	f, rest := p.typ(typ)
	f.name, f.tag = name, tag
	f.initial = strings.TrimPrefix(rest, "=")
	return f
}

// typ parses a type, and returns what stands behind it.
func (p *schemaParser) typ(s string) (*field, string) {
	switch {
	case strings.HasPrefix(s, "c["):
		return p.array(s[2:], true)
	case strings.HasPrefix(s, "["):
		return p.array(s[1:], false)
	case s == "{" || s == "{?":
		f := p.body()
		f.nullable = s == "{?"
		return f, p.word()[1:]
	}
	end := strings.IndexAny(s, "?]=")
	if end < 0 {
		end = len(s)
	}
	f := scalar(s[:end])
	rest := s[end:]
	if strings.HasPrefix(rest, "?") {
		f.nullable, rest = true, rest[1:]
	}
	return f, rest
}

func (p *schemaParser) array(s string, compact bool) (*field, string) {
	element, rest := p.typ(s)
	f := &field{kind: kindArray, compact: compact, element: element}
	rest = rest[1:] // the bracket
	if strings.HasPrefix(rest, "?") {
		f.nullable, rest = true, rest[1:]
	}
	return f, rest
}

func scalar(name string) *field {
	switch name {
	case "uuid":
		return &field{kind: kindUUID}
	case "str", "cstr":
		return &field{kind: kindString, compact: name[0] == 'c'}
	case "bytes", "cbytes":
		return &field{kind: kindBytes, compact: name[0] == 'c'}
	}
	bits, err := strconv.Atoi(name[1:])
	if err != nil {
		panic(fmt.Sprintf("type %q", name))
	}
	return &field{kind: kindInt, size: bits / 8, unsigned: name[0] == 'u'}
}
