package batch

import (
	"bytes"
	"errors"
	"testing"
)

func threeBatches(t testing.TB) (log []byte, ends []int) {
	t.Helper()
	for i := range 3 {
		b := built(t, CodecNone, "value", "another")
		SetBaseOffset(b, int64(10*i))
		log = append(log, b...)
		ends = append(ends, len(log))
	}
	return log, ends
}

func scan(log []byte) (*Scanner, int) {
	s := NewScanner(bytes.NewReader(log), 0, int64(len(log)))
	n := 0
	for s.Next() {
		n++
	}
	return s, n
}

func TestScannerStopsAtTheLastWholeBatch(t *testing.T) {
	log, ends := threeBatches(t)
	for cut := range log {
		s, n := scan(log[:cut])
		whole := 0
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		end := 0
		if whole > 0 {
			end = ends[whole-1]
		}
		if n != whole || s.End() != int64(end) || s.Err() != nil {
			t.Fatalf("cut at %d: %d batches, end %d, %v", cut, n, s.End(), s.Err())
		}
		torn := cut > end && !bytes.Equal(log[end:cut], make([]byte, cut-end))
		if (s.Stop() == TornTail) != torn {
			t.Fatalf("cut at %d: stopped for %d", cut, s.Stop())
		}
	}
}

func TestScannerTails(t *testing.T) {
	log, _ := threeBatches(t)
	again := append(append([]byte{}, log...), log...)
	noise := bytes.Repeat([]byte("noise "), 100)
	late := make([]byte, 1<<20)
	late[len(late)-1] = 1
	for _, tc := range []struct {
		name string
		log  []byte
		stop StopReason
		want error
	}{
		{"nothing", log, EndOfData, nil},
		{"zeros", append(append([]byte{}, log...), make([]byte, 1<<20)...), ZeroTail, nil},
		{"one byte late in zeros", append(append([]byte{}, log...), late...), Damaged, ErrLength},
		{"noise", append(append([]byte{}, log...), noise...), Damaged, ErrMagic},
		{"offsets that fall", again, Damaged, ErrOffsetOrder},
	} {
		s, n := scan(tc.log)
		if n != 3 || s.Stop() != tc.stop || !errors.Is(s.Err(), tc.want) || s.End() != int64(len(log)) {
			t.Errorf("%s: %d batches, stop %d, end %d, %v", tc.name, n, s.Stop(), s.End(), s.Err())
		}
		var corrupt *CorruptionError
		if tc.want != nil && (!errors.As(s.Err(), &corrupt) || corrupt.Position != int64(len(log))) {
			t.Errorf("%s: %v", tc.name, s.Err())
		}
	}
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestScannerPassesReadErrorsOn(t *testing.T) {
	want := errors.New("the disk")
	s := NewScanner(failing{want}, 0, 1000)
	if s.Next() || !errors.Is(s.Err(), want) || s.Stop() != Unreadable {
		t.Errorf("%d, %v", s.Stop(), s.Err())
	}
}

func TestScannerBatchIsWhole(t *testing.T) {
	var log []byte
	var want [][]byte
	for i, size := range []int{1, 100, 9000, 300000, 10, 5} {
		b := built(t, CodecNone, string(make([]byte, size)))
		SetBaseOffset(b, int64(i))
		want = append(want, b)
		log = append(log, b...)
	}
	for _, every := range []int{1, 2, 3} { // batches that are not asked for in between
		s := NewScanner(bytes.NewReader(log), 0, int64(len(log)))
		for i := 0; s.Next(); i++ {
			if i%every != 0 {
				continue
			}
			if b, err := s.Batch(); err != nil || !bytes.Equal(b, want[i]) {
				t.Fatalf("batch %d: %d bytes, want %d, %v", i, len(b), len(want[i]), err)
			}
		}
		if s.Err() != nil || s.End() != int64(len(log)) {
			t.Fatalf("end %d, %v", s.End(), s.Err())
		}
	}
}
