package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"klogfs/batch"
)

// The lengths at which a batch of lines is ended, in bytes before compression:
// small, since a record by offset is found by reading its whole batch (and as
// Kafka's producer does, batch.size), or larger where it is to compress well.
const (
	batchBytes           = 16 << 10
	compressedBatchBytes = 64 << 10
)

// LineWriter produces to a partition: each line that is written to it becomes
// a record's value. It keeps the unfinished line between writes. It is not
// safe for concurrent use.
type LineWriter struct {
	p       *Partition
	pending []byte
	// skipping is set while the rest of a line that is too long goes by, torn
	// after a write failed: what is pending then is no line of the user's.
	skipping, torn bool
}

// NewLineWriter returns a writer to the partition.
func (p *Partition) NewLineWriter() *LineWriter { return &LineWriter{p: p} }

// encoder is what it takes to make the batches of one write; they are pooled.
type encoder struct {
	builder batch.Builder
	data    []byte
	batches []preparedBatch
	// consumed is how much of the input each batch ends.
	consumed []int

	opts  batch.BuilderOptions
	limit int // bytes of a batch at which it is ended
	most  int // bytes that a batch may have
	now   int64
	text  int64
	open  bool
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Write appends every line that b ends, as one request: with an error of what
// the lines are, none of them is stored. ErrTooLarge is returned for a line
// over max.message.bytes. An error of the disk may come after some lines were
// stored; then Write returns how many bytes these are, and no error before the
// next call.
func (w *LineWriter) Write(b []byte) (int, error) {
	skipped := 0
	if w.skipping {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return 0, w.tooLong()
		}
		w.skipping, skipped = false, i+1
	}
	n, err := w.write(b[skipped:])
	w.torn = err != nil
	if err != nil && n == 0 {
		w.skipping = w.skipping || skipped > 0 // the caller writes it again
		return 0, err
	}
	return skipped + n, nil
}

func (w *LineWriter) write(b []byte) (int, error) {
	last := bytes.LastIndexByte(b, '\n')
	most := int(w.p.config.Load().MaxMessageBytes)
	if len(b)-1-last > most || last < 0 && len(w.pending)+len(b) > most {
		w.pending, w.skipping = nil, true
		return 0, w.tooLong()
	}
	if last >= 0 {
		if n, err := w.append(b[:last+1]); err != nil {
			return n, err
		}
	}
	w.pending = append(w.pending, b[last+1:]...)
	return len(b), nil
}

func (w *LineWriter) tooLong() error {
	return fmt.Errorf("a line written to %s is over max.message.bytes (%d): %w", w.p.Name(), w.p.config.Load().MaxMessageBytes, ErrTooLarge)
}

// Pending reports whether there is an unfinished line.
func (w *LineWriter) Pending() bool { return len(w.pending) > 0 }

// Flush makes a record of an unfinished line.
func (w *LineWriter) Flush() error {
	if len(w.pending) == 0 || w.torn {
		w.pending, w.torn = nil, false
		return nil
	}
	line := w.pending
	w.pending = nil
	_, err := w.append(append(line, '\n'))
	return err
}

// append makes records of lines, the first of which what is pending begins. It
// returns how many bytes of the lines were stored.
func (w *LineWriter) append(lines []byte) (int, error) {
	config, begun := w.p.config.Load(), 0
	first := newEncoder(config)
	defer first.release()
	if len(w.pending) > 0 {
		begun = bytes.IndexByte(lines, '\n') + 1
		first.add(append(w.pending, lines[:begun-1]...), begun)
	}
	if err := first.encode(lines, begun, config); err != nil {
		if len(first.batches) == 0 {
			w.pending = nil // no end would make a record of it
		}
		return 0, w.refused(err)
	}
	return w.store(first)
}

// encode makes the batches of lines from a place on. Compressing is shared by
// two goroutines where there is much to do; without it, moving the bytes from
// one core to another costs what that would save.
func (e *encoder) encode(lines []byte, from int, c *Config) error {
	half := middle(lines, from)
	if c.Compression == batch.CodecNone || half == len(lines) {
		return e.addLines(lines, from, len(lines))
	}
	second := newEncoder(c)
	defer second.release()
	done := make(chan error, 1)
	go func() { done <- second.addLines(lines, half, len(lines)) }()
	err := e.addLines(lines, from, half)
	if err = errors.Join(err, <-done); err != nil {
		return err
	}
	e.batches = append(e.batches, second.batches...)
	e.consumed = append(e.consumed, second.consumed...)
	e.data = append(e.data, second.data...)
	return nil
}

// store appends what was encoded, and returns how many bytes of the lines that
// was.
func (w *LineWriter) store(e *encoder) (int, error) {
	done, err := w.p.appendBatches(e.data, e.batches, e.now)
	if err != nil && done == len(e.batches) {
		// All is appended, and could not be made durable: no success.
		w.pending = nil
		return 0, err
	}
	if done > 0 {
		w.pending = w.pending[:0]
		return e.consumed[done-1], err
	}
	return 0, err
}

// middle is where a second goroutine begins to encode, at the start of a line;
// the end where that is not worth it.
func middle(lines []byte, from int) int {
	const worthIt = 256 << 10
	if len(lines)-from < worthIt {
		return len(lines)
	}
	half := from + (len(lines)-from)/2
	return half + bytes.IndexByte(lines[half:], '\n') + 1
}

func (w *LineWriter) refused(err error) error {
	return fmt.Errorf("append to %s: %w", w.p.Name(), err)
}

func (e *encoder) release() {
	if cap(e.data) > keptBuffer {
		e.data = nil
	}
	encoders.Put(e)
}

func newEncoder(c *Config) *encoder {
	e := encoders.Get().(*encoder)
	e.data, e.batches, e.consumed = e.data[:0], e.batches[:0], e.consumed[:0]
	e.opts = batch.BuilderOptions{Codec: c.Compression, Level: c.compressionLevel()}
	e.limit = batchBytes
	if c.Compression != batch.CodecNone {
		e.limit = compressedBatchBytes
	}
	e.limit = int(min(int64(e.limit), c.MaxMessageBytes, c.SegmentBytes))
	e.now, e.open = time.Now().UnixMilli(), false
	e.most = int(min(c.MaxMessageBytes, c.SegmentBytes))
	return e
}

// addLines adds the lines of b from one place to another, and ends the batch.
func (e *encoder) addLines(b []byte, at, end int) error {
	for at < end {
		e.start()
		n := e.builder.AppendLines(e.now, b[at:end], e.limit)
		if n == 0 {
			if err := e.end(); err != nil {
				return err
			}
			continue
		}
		at += n
		e.added(n, at)
	}
	return e.end()
}

// add adds one record as the first of a batch; end is the place in the input
// after it.
func (e *encoder) add(value []byte, end int) {
	e.start()
	e.builder.AppendValue(e.now, value)
	e.added(len(value)+1, end)
}

// start begins a batch, unless one is open.
func (e *encoder) start() {
	if e.open {
		return
	}
	e.builder.Begin(e.data, e.opts)
	e.consumed = append(e.consumed, 0)
	e.open, e.text = true, 0
}

// added takes note of records: their length as text, and the place in the
// input after them.
func (e *encoder) added(text, end int) {
	e.text += int64(text)
	e.consumed[len(e.consumed)-1] = end
}

// end ends the batch that is open.
func (e *encoder) end() error {
	if !e.open {
		return nil
	}
	e.open = false
	start, records := len(e.data), e.builder.Count()
	var err error
	if e.data, err = e.builder.Finish(); err != nil {
		return err
	}
	size := len(e.data) - start
	if size > e.most {
		return fmt.Errorf("record batch of %d bytes is over the limit of %d: %w", size, e.most, ErrTooLarge)
	}
	e.batches = append(e.batches, preparedBatch{size: size, text: e.text, records: int64(records)})
	return nil
}
