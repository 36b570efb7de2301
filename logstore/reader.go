package logstore

import (
	"errors"
	"io"
	"sync"
	"time"
)

// Reader reads a view at any position. A reader that goes forward is read
// ahead for, so that records are decoded while the last bytes travel. Its
// methods may be called by several goroutines at once.
type Reader struct {
	v *View

	mu     sync.Mutex
	stream textStream
	// next is the position after the bytes returned last: who asks for it
	// reads forward.
	next  int64
	ahead *ahead
	used  time.Time
	// leave ends that the budget may ask for what is kept decoded.
	leave func()
}

// ahead is bytes in the making for the next read.
type ahead struct {
	pos  int64
	b    *Bytes
	err  error
	done chan struct{}
}

// Bytes is what a read returned. B is valid until Release.
type Bytes struct {
	B   []byte
	buf *[]byte
}

var textBuffers = sync.Pool{New: func() any { return new([]byte) }}

func newBytes(size int) *Bytes {
	buf := textBuffers.Get().(*[]byte)
	if cap(*buf) < size {
		*buf = make([]byte, size)
	}
	return &Bytes{B: (*buf)[:size], buf: buf}
}

// Release gives the buffer back. It is called once.
func (b *Bytes) Release() {
	textBuffers.Put(b.buf)
	b.B, b.buf = nil, nil
}

// Open returns a reader of the view. While it is open, positions stay.
func (v *View) Open() *Reader {
	v.opened(1)
	r := &Reader{v: v, next: -1}
	r.stream.v = v
	r.leave = v.p.store.budget.OnDemand(r.yield)
	return r
}

// yield gives back what is kept decoded, unless somebody is reading.
func (r *Reader) yield() {
	if !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	if r.ahead != nil {
		select {
		case <-r.ahead.done:
		default:
			return
		}
	}
	if time.Since(r.used) > idleFor {
		r.stream.yield()
	}
}

// Size is the length of the view in bytes, as of now.
func (r *Reader) Size() (int64, error) { return r.v.Size() }

// Close ends the reader.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, _ := r.takeAhead(-1); b != nil {
		b.Release()
	}
	r.stream.close()
	r.leave()
	r.v.opened(-1)
}

// Read returns size bytes of the text from a position on, fewer only where the
// text ends: none, and no error, at its end. A *batch.CorruptionError is
// returned for the position at which the text of a damaged batch would stand.
func (r *Reader) Read(pos int64, size int) (*Bytes, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.takeAhead(pos)
	if b == nil && err == nil {
		if pos != r.next {
			r.stream.seek(pos)
		}
		b, err = r.fill(size, nil)
	} else if err == nil && len(b.B) < size {
		b, err = r.fill(size, b)
	}
	if err != nil {
		r.next = -1
		return nil, err
	}
	if len(b.B) > size {
		b = r.cut(b, pos, size) // a smaller read than the last one
	}
	r.used = time.Now()
	forward := pos == r.next
	r.next = pos + int64(len(b.B))
	if forward && len(b.B) == size && r.ahead == nil {
		r.readAhead(size)
	}
	return b, nil
}

// cut returns the first size bytes of what was read, and keeps the rest for the
// next read.
func (r *Reader) cut(b *Bytes, pos int64, size int) *Bytes {
	piece := newBytes(size)
	copy(piece.B, b.B)
	b.B = b.B[size:]
	r.ahead = &ahead{pos: pos + int64(size), b: b, done: make(chan struct{})}
	close(r.ahead.done)
	return piece
}

// fill reads size bytes from where the stream stands, behind what b has.
func (r *Reader) fill(size int, b *Bytes) (*Bytes, error) {
	have := 0
	filled := newBytes(size)
	if b != nil {
		have = copy(filled.B, b.B)
		b.Release()
	}
	n, err := r.stream.read(filled.B[have:])
	if err != nil && !errors.Is(err, io.EOF) {
		if have+n == 0 {
			filled.Release()
			return nil, err
		}
		r.stream.failed = err // for the next read, at the place of the damage
	}
	filled.B = filled.B[:have+n]
	return filled, nil
}

// readAhead begins to read what a forward reader will ask for next.
func (r *Reader) readAhead(size int) {
	a := &ahead{pos: r.next, done: make(chan struct{})}
	r.ahead = a
	go func() {
		defer close(a.done)
		a.b, a.err = r.fill(size, nil)
	}()
}

// takeAhead waits for what was begun, and returns it if it is for this
// position.
func (r *Reader) takeAhead(pos int64) (*Bytes, error) {
	a := r.ahead
	if a == nil {
		return nil, nil
	}
	r.ahead = nil
	<-a.done
	if a.pos == pos {
		return a.b, a.err
	}
	r.next = -1 // the stream stands elsewhere now
	if a.b != nil {
		a.b.Release()
	}
	return nil, nil
}
