package dump

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// readSize is how much of a file is read at a time, in bytes.
const readSize = 1 << 20

// reader reads a file at any place, ahead of what is asked for.
type reader struct {
	f    *os.File
	size int64

	buf   []byte
	bufAt int64
}

// open makes the reader one of another file; its buffer is kept.
func (r *reader) open(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	*r = reader{f: f, size: info.Size(), buf: r.buf[:0]}
	return nil
}

func (r *reader) close() error { return r.f.Close() }

// view returns n bytes from a place, valid until the next view. Where the file
// has fewer, io.ErrUnexpectedEOF is returned.
func (r *reader) view(at int64, n int) ([]byte, error) {
	from := at - r.bufAt
	if from >= 0 && from+int64(n) <= int64(len(r.buf)) {
		return r.buf[from : from+int64(n)], nil
	}
	if at < 0 || int64(n) > r.size-at {
		return nil, io.ErrUnexpectedEOF
	}
	want := int(min(int64(max(n, readSize)), r.size-at))
	have := 0
	if cap(r.buf) < want {
		r.buf = make([]byte, want)
	} else if from >= 0 && from < int64(len(r.buf)) {
		have = copy(r.buf[:cap(r.buf)], r.buf[from:])
	}
	r.buf, r.bufAt = r.buf[:want], at
	read, err := r.f.ReadAt(r.buf[have:], at+int64(have))
	r.buf = r.buf[:have+read]
	if len(r.buf) >= n {
		return r.buf[:n], nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}
