package batch

import (
	"errors"
	"io"
)

// StopReason says why a Scanner found no further batch.
type StopReason int8

// The reasons.
const (
	// EndOfData: the last batch ends where the bytes do.
	EndOfData StopReason = iota
	// ZeroTail: zeros up to the end, the space that a broker preallocates.
	ZeroTail
	// TornTail: a batch that begins but is not there as a whole.
	TornTail
	// Damaged: bytes that are no batch. Err says where and why.
	Damaged
	// Unreadable: the reader failed. Err is its error.
	Unreadable
)

// Scanner goes over the batches of a log by their headers, without decoding
// them. It reads ahead a little, so that one read serves many small batches,
// and passes over large ones without reading them. It is not safe for
// concurrent use.
type Scanner struct {
	r   io.ReaderAt
	end int64

	buf   []byte // bytes read
	bufAt int64  // their place

	pos, next int64
	header    Header
	nextBase  int64
	err       error
	stop      StopReason
	// batches is whether Batch is called, so that reading far ahead pays.
	batches bool
}

// How much is read at a time, in bytes: of headers alone, where batches are
// small and where they are large, and of whole batches.
const (
	headerRead = 8 << 10
	loneHeader = 128
	batchRead  = 256 << 10
)

// NewScanner returns a scanner of the bytes of r from pos, where a batch
// starts, to end.
func NewScanner(r io.ReaderAt, pos, end int64) *Scanner {
	s := &Scanner{}
	s.Reset(r, pos, end)
	return s
}

// Reset makes the scanner one of other bytes, and keeps its buffer.
func (s *Scanner) Reset(r io.ReaderAt, pos, end int64) {
	*s = Scanner{r: r, pos: pos, next: pos, end: end, buf: s.buf[:0], bufAt: pos}
}

// Trim lets go of the scanner's buffer when it is larger than most bytes.
func (s *Scanner) Trim(most int) {
	if cap(s.buf) > most {
		s.buf = nil
	}
}

// Header is the header of the present batch, valid until Next.
func (s *Scanner) Header() *Header { return &s.header }

// Pos is where the present batch starts.
func (s *Scanner) Pos() int64 { return s.pos }

// End is the place after the last whole batch.
func (s *Scanner) End() int64 { return s.next }

// Stop is why Next returned false.
func (s *Scanner) Stop() StopReason { return s.stop }

// Err is a *CorruptionError when Next met damage, the reader's error when it
// could not read, and nil else.
func (s *Scanner) Err() error { return s.err }

// Next goes to the next batch. It returns false where there is none.
func (s *Scanner) Next() bool {
	if s.err != nil || s.next >= s.end {
		return false
	}
	readSize := headerRead
	if s.header.Size() > headerRead {
		readSize = loneHeader // the next header is not near either
	}
	b, err := s.view(s.next, HeaderSize, readSize)
	if err != nil {
		return s.fail(Unreadable, err)
	}
	h, err := ParseHeader(b)
	if err != nil {
		return s.noBatch(err)
	}
	if int64(h.Size()) > s.end-s.next {
		s.stop = TornTail
		return false
	}
	if h.BaseOffset < s.nextBase {
		return s.fail(Damaged, corrupt64(s.next, ErrOffsetOrder))
	}
	s.header, s.pos = h, s.next
	s.next += int64(h.Size())
	s.nextBase = h.NextOffset()
	return true
}

// PeekHeader is the header of the next batch; false where none follows. What
// Batch returned is not valid after it.
func (s *Scanner) PeekHeader() (Header, bool) {
	b, err := s.view(s.next, HeaderSize, HeaderSize)
	if err != nil {
		return Header{}, false
	}
	h, err := ParseHeader(b)
	return h, err == nil
}

// Batch returns the bytes of the present batch, valid until Next.
func (s *Scanner) Batch() ([]byte, error) {
	s.batches = true
	b, err := s.view(s.pos, s.header.Size(), batchRead)
	if err == nil && len(b) < s.header.Size() {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// view returns size bytes from a place, fewer where the bytes end. When it has
// to read, it reads at least readSize.
func (s *Scanner) view(at int64, size, readSize int) ([]byte, error) {
	size = int(min(int64(size), s.end-at))
	from := at - s.bufAt
	if from >= 0 && from+int64(size) <= int64(len(s.buf)) {
		return s.buf[from : from+int64(size)], nil
	}
	if s.batches {
		readSize = batchRead
	}
	want := int(min(int64(max(size, readSize)), s.end-at))
	have := 0
	if cap(s.buf) < want {
		s.buf = make([]byte, want)
	} else if from >= 0 && from < int64(len(s.buf)) {
		have = copy(s.buf[:cap(s.buf)], s.buf[from:])
	}
	s.buf, s.bufAt = s.buf[:want], at
	n, err := s.r.ReadAt(s.buf[have:], at+int64(have))
	s.buf = s.buf[:have+n]
	if len(s.buf) >= size || errors.Is(err, io.EOF) {
		err = nil
	}
	return s.buf[:min(size, len(s.buf))], err
}

func (s *Scanner) fail(stop StopReason, err error) bool {
	s.stop, s.err = stop, err
	return false
}

// noBatch tells zeros, half a header and damage apart.
func (s *Scanner) noBatch(cause error) bool {
	zeros, err := s.zerosFrom(s.next)
	switch {
	case err != nil:
		return s.fail(Unreadable, err)
	case zeros:
		s.stop = ZeroTail
		return false
	case errors.Is(cause, ErrTruncated):
		s.stop = TornTail
		return false
	}
	return s.fail(Damaged, corrupt64(s.next, cause))
}

func (s *Scanner) zerosFrom(at int64) (bool, error) {
	for at < s.end {
		b, err := s.view(at, batchRead, batchRead)
		if err != nil {
			return false, err
		}
		if len(b) == 0 {
			return true, nil // the file is shorter than it was said to be
		}
		for _, c := range b {
			if c != 0 {
				return false, nil
			}
		}
		at += int64(len(b))
	}
	return true, nil
}

func corrupt64(position int64, cause error) error {
	return &CorruptionError{Segment: -1, Position: position, Cause: cause}
}
