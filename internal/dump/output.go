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

// output collects what is printed, and writes it in large pieces from a
// goroutine of its own, so that the next piece is made meanwhile. Callers
// append to b, and call spill between lines. It goes bad once: what is printed
// after that is dropped, and err says why.
type output struct {
	b   []byte
	err error

	full    chan []byte
	written chan written
}

// written is a piece after its write, to be used again.
type written struct {
	b   []byte
	err error
}

func newOutput(w io.Writer) output {
	o := output{b: newPiece(), full: make(chan []byte), written: make(chan written, 1)}
	o.written <- written{b: newPiece()}
	go func() {
		for b := range o.full {
			var err error
			if len(b) > 0 {
				_, err = w.Write(b)
			}
			o.written <- written{b, err}
		}
	}()
	return o
}

func newPiece() []byte { return make([]byte, 0, outputSize+outputSize/8) }

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
	return o.write()
}

// write has the piece written, once the one before it is.
func (o *output) write() error {
	before := <-o.written
	o.fail(before.err)
	if o.err != nil {
		o.b = o.b[:0]
	}
	o.full <- o.b
	if o.b = before.b[:0]; cap(o.b) > 4*outputSize {
		o.b = newPiece() // one record was very large
	}
	return o.err
}

// close writes what is left, and ends the goroutine.
func (o *output) close() error {
	err := o.write()
	last := <-o.written
	o.fail(last.err)
	close(o.full)
	if err == nil {
		err = o.err
	}
	return err
}

func (o *output) fail(err error) {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		err = errClosedPipe
	}
	if o.err == nil {
		o.err = err
	}
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
