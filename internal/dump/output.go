package dump

import (
	"errors"
	"io"
	"strconv"
	"syscall"
)

// outputSize is how much is written at a time, in bytes.
const outputSize = 1 << 20

// errClosedPipe is returned when nobody reads the output any more.
var errClosedPipe = errors.New("the output was closed")

// output collects what is printed and writes it in large pieces. Callers
// append to b, and call spill between lines. It goes bad once: what is printed
// after that is dropped, and err says why.
type output struct {
	w   io.Writer
	b   []byte
	err error
}

func newOutput(w io.Writer) output {
	return output{w: w, b: make([]byte, 0, outputSize+outputSize/8)}
}

// line appends a line of some parts.
func (o *output) line(parts ...string) {
	for _, part := range parts {
		o.b = append(o.b, part...)
	}
	o.b = append(o.b, '\n')
}

// spill writes what has been collected when it is much.
func (o *output) spill() error {
	if len(o.b) < outputSize {
		return o.err
	}
	return o.flush()
}

func (o *output) flush() error {
	if o.err == nil && len(o.b) > 0 {
		_, o.err = o.w.Write(o.b)
		if errors.Is(o.err, syscall.EPIPE) || errors.Is(o.err, io.ErrClosedPipe) {
			o.err = errClosedPipe
		}
	}
	if cap(o.b) > 4*outputSize {
		o.b = make([]byte, 0, outputSize+outputSize/8) // one record was very large
	}
	o.b = o.b[:0]
	return o.err
}

// int appends a name and a number.
func (o *output) int(name string, v int64) {
	o.b = strconv.AppendInt(append(o.b, name...), v, 10)
}

// bool appends a name and true or false.
func (o *output) bool(name string, v bool) {
	o.b = strconv.AppendBool(append(o.b, name...), v)
}

// optional appends a number as Java's OptionalLong shows it.
func (o *output) optional(v int64, there bool) {
	if !there {
		o.b = append(o.b, "OptionalLong.empty"...)
		return
	}
	o.int("OptionalLong[", v)
	o.b = append(o.b, ']')
}
