package logstore

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

// The groups of a broker are those that it told of itself.
func TestGroupsTruth(t *testing.T) {
	type committed struct {
		Group, Partition, Metadata string
		Offset                     int64
	}
	logs, truth := fixture.Unpack(t, "logs"), fixture.Unpack(t, "truth")
	s := openStore(t, logs, Options{ReadOnly: true})
	want := map[string]committed{}
	for _, c := range fixture.Lines[committed](t, filepath.Join(truth, "groups.jsonl")) {
		want[c.Group+" "+c.Partition] = c
	}
	groups, err := s.Groups()
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		all, err := s.Group(group)
		if err != nil {
			t.Fatal(err)
		}
		for tp, c := range all {
			key := group + " " + tp.String()
			if w, ok := want[key]; !ok || w.Offset != c.Offset || w.Metadata != c.Metadata {
				t.Errorf("%s has %+v, want %+v", key, c, w)
			}
			delete(want, key)
		}
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
	if _, err := s.Group("nobody"); !errors.Is(err, ErrUnknownGroup) {
		t.Errorf("a group that is not there: %v", err)
	}
}

// Every record of the coordinators is decoded where a human looks.
func TestDecodedRecords(t *testing.T) {
	s := openStore(t, fixture.Unpack(t, "logs"), Options{ReadOnly: true})
	decoded := map[string]int{}
	for _, p := range s.Partitions() {
		topic := p.TopicPartition().Topic
		if topic != groupsTopic && topic != transactionsTopic {
			continue
		}
		o := p.Offsets(0)
		for o.Next() {
			l, err := p.Locate(o.Offset())
			if err != nil {
				t.Fatal(err)
			}
			b, err := l.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			var r struct {
				Decoded *struct{ Key, Value any }
			}
			if err := json.Unmarshal(b, &r); err != nil || r.Decoded == nil || r.Decoded.Key == nil {
				t.Fatalf("%s, %v", b, err)
			}
			decoded[topic]++
		}
		o.Close()
	}
	if decoded[groupsTopic] < 10 || decoded[transactionsTopic] < 10 {
		t.Errorf("decoded %v", decoded)
	}
}

// commitRecord is the key and value of a commit.
func commitRecord(group, topic string, partition int32, offset int64) (key, value []byte) {
	str := func(b []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
	}
	key = str(str([]byte{0, 1}, group), topic)
	key = binary.BigEndian.AppendUint32(key, uint32(partition))
	value = binary.BigEndian.AppendUint64([]byte{0, 3}, uint64(offset))
	value = str(append(value, 0xff, 0xff, 0xff, 0xff), "m")
	return key, binary.BigEndian.AppendUint64(value, 5000)
}

// Commits are followed as the broker writes them: tombstones forget, aborted
// transactions never were, open ones are not yet.
func TestGroupsFollow(t *testing.T) {
	commits := func(base int64, opts batch.BuilderOptions, offset int64, tombstone bool) []byte {
		return finish(t, base, opts, func(b *batch.Builder) {
			key, value := commitRecord("g", "t", 3, offset)
			if tombstone {
				value = nil
			}
			b.Append(1000, key, value, nil)
		})
	}
	txn := batch.BuilderOptions{Transactional: true, Producer: &batch.Producer{ID: 1}}
	log := join(commits(0, batch.BuilderOptions{}, 10, false), []byte{})
	b := newBroker(t, nil)
	name := filepath.Join(b.dir, groupsTopic+"-7", segmentFile(0, suffixLog))
	write := func(more ...[]byte) {
		log = join(append([][]byte{log}, more...)...)
		mkdirAll(t, filepath.Dir(name))
		writeFile(t, name, log)
	}
	write()
	s := openStore(t, b.dir, Options{ReadOnly: true})
	check := func(want string) {
		t.Helper()
		got := "none"
		all, err := s.Group("g")
		if err == nil {
			got = fmt.Sprint(all[TopicPartition{"t", 3}].Offset)
		} else if !errors.Is(err, ErrUnknownGroup) {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("committed is %s, want %s", got, want)
		}
	}
	check("10")
	write(commits(1, txn, 20, false))
	check("10") // the transaction is open
	write(markerBatch(t, 2, 1, 0, 0), commits(3, batch.BuilderOptions{}, 30, false))
	check("30")
	write(commits(4, txn, 40, false), markerBatch(t, 5, 1, 0, 1))
	check("40")
	write(commits(6, batch.BuilderOptions{}, 0, true))
	check("none")
	write(commits(7, batch.BuilderOptions{}, 50, false))
	check("50")
}
