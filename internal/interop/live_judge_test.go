package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// snapshot is what is certain to be in the mount before a read.
type snapshot struct {
	acked  map[*stream]int64
	stable int64 // the last stable offset of txn is this or later
}

func (l *live) snapshot() snapshot {
	s := snapshot{map[*stream]int64{}, l.stable()}
	for _, one := range l.streams {
		s.acked[one] = one.acked.Load()
	}
	return s
}

// found is a record that was read.
type found struct {
	s      *stream
	n      int64
	offset int64 // −1 where it was not told
}

// judgeValues expects the values of a topic to be those that were produced.
func (r *liveReader) judgeValues(how, topic string, text []byte, before snapshot) {
	var all []found
	if len(text) > 0 && text[len(text)-1] != '\n' {
		r.t.Errorf("%s: values of %s by %s end with %.200q", r.isolation, topic, how, text[max(0, len(text)-200):])
		return
	}
	for line := range bytes.Lines(text) {
		value := bytes.TrimSuffix(line, []byte("\n"))
		if topic == "table" && len(value) == 0 {
			continue // a tombstone
		}
		name, rest, _ := bytes.Cut(value, []byte(" "))
		number, _, _ := bytes.Cut(rest, []byte(" "))
		n, err := strconv.ParseInt(string(number), 10, 64)
		s := r.streams[string(name)]
		if err != nil || s == nil || s.topic != topic || !bytes.Equal(value, s.value(n)) {
			r.t.Errorf("%s: values of %s by %s have %.200q", r.isolation, topic, how, line)
			return
		}
		all = append(all, found{s, n, -1})
	}
	if err := r.judge(topic, all, before); err != nil {
		r.t.Errorf("%s: values of %s by %s: %v", r.isolation, topic, how, err)
	}
}

// judgeRecords is judgeValues for records.jsonl.
func (r *liveReader) judgeRecords(topic string, text []byte, before snapshot) {
	var all []found
	for line := range bytes.Lines(text) {
		var one consumed
		err := json.Unmarshal(line, &one)
		f := found{s: r.streams[topic], n: one.Offset, offset: one.Offset}
		if err == nil && topic == "txn" {
			name, _, _ := strings.Cut(one.Value.s, " ")
			f.s = r.streams[name]
			f.n, err = strconv.ParseInt(one.header("n"), 10, 64)
		}
		if err == nil && f.s == nil {
			err = fmt.Errorf("nobody produced it")
		}
		if err == nil {
			err = f.s.isNumber(f.n, f.offset, &one)
		}
		if err == nil && len(all) > 0 && f.offset <= all[len(all)-1].offset {
			err = fmt.Errorf("it comes after offset %d", all[len(all)-1].offset)
		}
		if err != nil {
			r.t.Errorf("%s: records.jsonl of %s has %.300q: %v", r.isolation, topic, line, err)
			return
		}
		all = append(all, f)
	}
	if err := r.judge(topic, all, before); err != nil {
		r.t.Errorf("%s: records.jsonl of %s: %v", r.isolation, topic, err)
	}
}

// judge expects records in order, none that was lost, and as many as were
// certain before they were read.
func (r *liveReader) judge(topic string, all []found, before snapshot) error {
	switch topic {
	case "table":
		return r.judgeTable(all, before)
	case "txn":
		return r.judgeTxn(all, before)
	}
	next, s := int64(0), r.streams[topic]
	for _, f := range all {
		switch {
		case f.n < next || f.n > next && topic == "plain":
			return fmt.Errorf("record %d where %d should be", f.n, next)
		case f.n > next:
			if err := r.isDeleted(topic, f.n); err != nil {
				return err
			}
		}
		next = f.n + 1
	}
	if next < before.acked[s] {
		return fmt.Errorf("the last record is %d, %d were acknowledged", next-1, before.acked[s])
	}
	return nil
}

// judgeTable expects of each key the last record that was certain, or a later
// one.
func (r *liveReader) judgeTable(all []found, before snapshot) error {
	s, last := r.streams["table"], map[int64]int64{}
	for i, f := range all {
		if i > 0 && f.n <= all[i-1].n {
			return fmt.Errorf("record %d comes after %d", f.n, all[i-1].n)
		}
		last[f.n%keys] = f.n
	}
	acked := before.acked[s]
	for n := max(0, acked-keys); n < acked; n++ {
		got, ok := last[n%keys]
		if ok && got >= n {
			continue
		}
		if deleted := s.tombstone(n) || mayVanish(n%keys) && n+keys < s.begun.Load(); !deleted {
			return fmt.Errorf("key %d is at record %d (%v), record %d was acknowledged; there are %d", n%keys, got, ok, n, len(all))
		}
	}
	return nil
}

// judgeTxn expects of each producer all its records without gap, or, of those
// that are committed, all and no other.
func (r *liveReader) judgeTxn(all []found, before snapshot) error {
	next := map[*stream]int64{}
	for _, f := range all {
		p := r.txnOf(f.s)
		if f.offset >= 0 && f.n < p.acked.Load() && p.offset(f.n) != f.offset {
			return fmt.Errorf("record %d of %s is at offset %d, want %d", f.n, f.s.name, f.offset, p.offset(f.n))
		}
		n := next[f.s]
		if r.isolation == readCommitted {
			for n < f.n && p.of(n).fate == toAbort {
				n++
			}
			if p.of(f.n).fate != toCommit {
				return fmt.Errorf("record %d of %s is not committed", f.n, f.s.name)
			}
		}
		if f.n != n {
			return fmt.Errorf("record %d of %s where %d should be", f.n, f.s.name, n)
		}
		next[f.s] = n + 1
	}
	for _, p := range r.txns {
		least := before.acked[&p.stream]
		if r.isolation == readCommitted {
			least = p.committedBelow(before.stable)
		}
		if next[&p.stream] < least {
			return fmt.Errorf("%s ends at record %d, %d is certain", p.name, next[&p.stream], least)
		}
	}
	return nil
}
