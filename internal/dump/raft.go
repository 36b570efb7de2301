package dump

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"

	"klogfs/logstore"
)

// wire reads a message of Kafka's protocol in a flexible version, and appends
// its fields to b as JSON. It goes bad once, and is asked at the end.
type wire struct {
	in  []byte
	b   []byte
	err error
}

func (w *wire) take(n int) []byte {
	if n < 0 || n > len(w.in) {
		w.err = fmt.Errorf("%w: a field goes past its end", errControl)
		w.in = nil
	}
	if w.err != nil {
		return make([]byte, 16) // as long as the longest fixed field
	}
	field := w.in[:n]
	w.in = w.in[n:]
	return field
}

func (w *wire) uvarint() int {
	v, n := binary.Uvarint(w.in)
	if n <= 0 || v > 1<<31-1 {
		w.err = fmt.Errorf("%w: a length is out of range", errControl)
		w.in = nil
		return 0
	}
	w.in = w.in[n:]
	return int(v)
}

func (w *wire) number(name string, v int64) {
	w.b = strconv.AppendInt(append(w.b, name...), v, 10)
}

func (w *wire) int16(name string) int16 {
	v := int16(binary.BigEndian.Uint16(w.take(2)))
	w.number(name, int64(v))
	return v
}

func (w *wire) uint16(name string) { w.number(name, int64(binary.BigEndian.Uint16(w.take(2)))) }
func (w *wire) int32(name string)  { w.number(name, int64(int32(binary.BigEndian.Uint32(w.take(4))))) }
func (w *wire) int64(name string)  { w.number(name, int64(binary.BigEndian.Uint64(w.take(8)))) }

func (w *wire) uuid(name string) {
	w.b = base64.RawURLEncoding.AppendEncode(append(append(w.b, name...), '"'), w.take(16)[:16])
	w.b = append(w.b, '"')
}

func (w *wire) string(name string) {
	w.b = logstore.AppendJSONBytes(append(w.b, name...), w.take(w.uvarint()-1))
}

// array reads an array of structures, each of which ends with its tags.
func (w *wire) array(name string, element func()) {
	w.b = append(append(w.b, name...), '[')
	n := w.uvarint() - 1
	if n < 0 && w.err == nil {
		w.err = fmt.Errorf("%w: an array is null", errControl)
	}
	for i := 0; i < n && w.err == nil; i++ {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, '{')
		element()
		w.tags()
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}

// tags passes over the tagged fields, of which none are known.
func (w *wire) tags() {
	for n := w.uvarint(); n > 0 && w.err == nil; n-- {
		w.uvarint()
		w.take(w.uvarint())
	}
}

// appendRaftRecord appends a control record of the cluster's metadata: its
// name and its fields as JSON; nothing when it can't be decoded.
func appendRaftRecord(dst []byte, kind int16, value []byte) ([]byte, error) {
	w := wire{in: value, b: dst}
	switch kind {
	case 2:
		w.b = append(w.b, " LeaderChange: {"...)
		version := w.int16(`"version":`)
		w.int32(`,"leaderId":`)
		w.array(`,"voters":`, func() { w.voter(version) })
		w.array(`,"grantingVoters":`, func() { w.voter(version) })
	case 3:
		w.int16(` SnapshotHeader {"version":`)
		w.int64(`,"lastContainedLogTimestamp":`)
	case 4:
		w.int16(` SnapshotFooter {"version":`)
	case 5:
		w.int16(` KRaftVersion {"version":`)
		w.int16(`,"kRaftVersion":`)
	default:
		w.int16(` KRaftVoters {"version":`)
		w.array(`,"voters":`, w.kraftVoter)
	}
	w.tags()
	if w.err != nil {
		return dst, w.err
	}
	return append(w.b, '}'), nil
}

// voter is a voter of a change of leaders. Kafka 4.4.0 reads it as one of
// version 0, which has no directory, whatever version it prints.
func (w *wire) voter(version int16) {
	w.int32(`"voterId":`)
	if version > 0 {
		w.b = append(w.b, `,"voterDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA"`...)
	}
}

func (w *wire) kraftVoter() {
	w.int32(`"voterId":`)
	w.uuid(`,"voterDirectoryId":`)
	w.array(`,"endpoints":`, func() {
		w.string(`"name":`)
		w.string(`,"host":`)
		w.uint16(`,"port":`)
	})
	w.int16(`,"kRaftVersionFeature":{"minSupportedVersion":`)
	w.int16(`,"maxSupportedVersion":`)
	w.tags()
	w.b = append(w.b, '}')
}
