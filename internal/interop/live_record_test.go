package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// record reads one record in each form, and expects what was produced, or that
// it is gone.
func (r *liveReader) record(s *stream, n, offset int64) {
	for _, suffix := range []string{"", ".json", ".key"} {
		certain := r.certain(s, n, offset)
		got, err := os.ReadFile(r.m.path(s.topic+"-0", "offset", fmt.Sprint(offset, suffix)))
		if isGone(err) && !certain {
			err = r.mayBeGone(s, n)
			r.counts.add("gone of " + s.topic)
		} else if err == nil {
			err = r.isRecord(s, n, offset, suffix, got)
		}
		if err != nil {
			r.t.Errorf("%s: %s, offset/%d%s, record %d: %v", r.isolation, s.topic, offset, suffix, n, err)
			return
		}
	}
}

// isRecord is nil for the content of a record's file.
func (r *liveReader) isRecord(s *stream, n, offset int64, suffix string, got []byte) error {
	if p := r.txnOf(s); p != nil && r.isolation == readCommitted && p.of(n).fate != toCommit {
		return fmt.Errorf("it is of a transaction that is not committed: %.200q", got)
	}
	want := s.value(n)
	switch suffix {
	case ".key":
		want = s.record(n).Key
	case ".json":
		var one consumed
		if err := json.Unmarshal(got, &one); err != nil {
			return fmt.Errorf("%w: %.200q", err, got)
		}
		return s.isNumber(n, offset, &one)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("it is %.200q, want %.200q", got, want)
	}
	return nil
}

// isNumber is nil for a record that is the one of a number, at an offset.
func (s *stream) isNumber(n, offset int64, got *consumed) error {
	want := consumed{
		Offset: offset, Timestamp: s.timestamp(n), Key: bytesOf(fmt.Appendf(nil, "key-%d", n%keys)),
		Value: bytesOf(s.value(n)), Headers: [][2]content{{bytesOf([]byte("n")), bytesOf(strconv.AppendInt(nil, n, 10))}},
	}
	if !want.equal(got) {
		return fmt.Errorf("it is %.300v, want %.300v", got, want)
	}
	return nil
}

// certain reports whether a record can't be gone, whatever the broker does.
func (r *liveReader) certain(s *stream, n, offset int64) bool {
	switch s.topic {
	case "plain":
		return true
	case "txn":
		if r.isolation == readUncommitted {
			return true
		}
		x := r.txnOf(s).of(n)
		return x.settled && x.fate == toCommit && offset < r.stable()
	}
	return false
}

// mayBeGone is nil for a record that the broker has deleted, or that a reader
// of committed records does not get.
func (r *liveReader) mayBeGone(s *stream, n int64) error {
	switch s.topic {
	case "short", "trimmed":
		return r.isDeleted(s.topic, n+1)
	case "table":
		if !s.superseded(n) {
			return fmt.Errorf("it is gone, and no later record has its key")
		}
	}
	return nil
}

// isDeleted waits until the broker says that all before an offset is deleted:
// it removes files before it says so.
func (r *liveReader) isDeleted(topic string, before int64) error {
	r.eventually(r.t, "the broker's log start", func() error {
		start, err := r.logStart(topic)
		if err == nil && start < before {
			err = fmt.Errorf("%s has lost what is before %d, the log starts at %d", topic, before, start)
		}
		return err
	})
	return nil
}

// superseded reports whether the cleaner may drop a record.
func (s *stream) superseded(n int64) bool { return s.tombstone(n) || n+keys < s.begun.Load() }

// time reads the link of a record's time.
func (r *liveReader) time(s *stream, n, offset int64) {
	certain := r.certain(s, n, offset)
	if s.topic == "txn" && !certain {
		return // it may not be there, and what answers then is anyone's
	}
	target, err := os.Readlink(r.m.path(s.topic+"-0", "time", fmt.Sprint(s.timestamp(n))))
	var got int64
	if err == nil {
		number, _ := strings.CutPrefix(target, "../offset/")
		got, err = strconv.ParseInt(number, 10, 64)
	}
	if err == nil {
		err = r.isTime(s, n, offset, got)
	}
	if err != nil {
		r.t.Errorf("%s: %s, time of record %d at offset %d: %q, %v", r.isolation, s.topic, n, offset, target, err)
	}
}

// isTime is nil when an offset is the first of those whose record is as young
// as that of a number.
func (r *liveReader) isTime(s *stream, n, offset, got int64) error {
	switch {
	case s.topic == "txn" && got <= offset, got == offset:
		return nil // transactions have several producers with times of their own
	case s.topic == "txn" || s.topic == "plain" || got < offset:
		return fmt.Errorf("want offset %d", offset)
	case s.topic == "table":
		for i := n; i < got; i++ {
			if !s.superseded(i) {
				return fmt.Errorf("record %d is passed over", i)
			}
		}
		return nil
	}
	return r.isDeleted(s.topic, got)
}
