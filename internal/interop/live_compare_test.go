package interop

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// content is bytes that may be null: in JSON a text, or what is no UTF-8 in
// base64.
type content struct {
	set bool
	s   string
}

func bytesOf(b []byte) content { return content{b != nil, string(b)} }

// UnmarshalJSON takes either form.
func (c *content) UnmarshalJSON(b []byte) error {
	*c = content{}
	if string(b) == "null" {
		return nil
	}
	c.set = true
	if b[0] == '"' {
		return json.Unmarshal(b, &c.s)
	}
	var coded struct{ Base64 string }
	if err := json.Unmarshal(b, &coded); err != nil {
		return err
	}
	plain, err := base64.StdEncoding.DecodeString(coded.Base64)
	c.s = string(plain)
	return err
}

// consumed is a record as a consumer gets it, and as records.jsonl has it.
type consumed struct {
	Offset, Timestamp int64
	Key, Value        content
	Headers           [][2]content
}

func (c *consumed) equal(d *consumed) bool {
	return c.Offset == d.Offset && c.Timestamp == d.Timestamp && c.Key == d.Key && c.Value == d.Value &&
		slices.Equal(c.Headers, d.Headers)
}

// header is the value of the first header of a name.
func (c *consumed) header(name string) string {
	for _, h := range c.Headers {
		if h[0].s == name {
			return h[1].s
		}
	}
	return ""
}

// consumeAll gets all records of a topic's partition 0 from a broker.
func consumeAll(t *testing.T, addr, topic, isolation string) []consumed {
	t.Helper()
	level, end := kgo.ReadUncommitted(), (*kadm.Client).ListEndOffsets
	if isolation == readCommitted {
		level, end = kgo.ReadCommitted(), (*kadm.Client).ListCommittedOffsets
	}
	c := newClient(t, addr, kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ends, err := end(kadm.NewClient(c), ctx, topic)
	last, ok := ends.Lookup(topic, 0)
	if err := errors.Join(err, last.Err); err != nil || !ok {
		t.Fatalf("end of %s: %v", topic, err)
	}
	starts, err := kadm.NewClient(c).ListStartOffsets(ctx, topic)
	first, ok := starts.Lookup(topic, 0)
	if err := errors.Join(err, first.Err); err != nil || !ok {
		t.Fatalf("start of %s: %v", topic, err)
	}
	var all []consumed
	for next := first.Offset; next < last.Offset; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("consume %s: at %d of %d: %v", topic, next, last.Offset, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if !r.Attrs.IsControl() && r.Offset < last.Offset {
				all = append(all, recordOf(r))
			}
		})
	}
	return all
}

func recordOf(r *kgo.Record) consumed {
	one := consumed{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: bytesOf(r.Key), Value: bytesOf(r.Value)}
	for _, h := range r.Headers {
		one.Headers = append(one.Headers, [2]content{bytesOf([]byte(h.Key)), bytesOf(h.Value)})
	}
	return one
}

// mountedRecords are all records of a partition by records.jsonl.
func mountedRecords(t *testing.T, m *mount, topic string) []consumed {
	t.Helper()
	f, err := os.Open(m.path(topic+"-0", "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	var all []consumed
	for d := json.NewDecoder(f); d.More(); {
		var r consumed
		if err := d.Decode(&r); err != nil {
			t.Fatalf("records.jsonl of %s: %v", topic, err)
		}
		all = append(all, r)
	}
	return all
}

// mountedTopics are the topics of a mount that consumers can read, all of which
// have partition 0 alone.
func mountedTopics(t *testing.T, m *mount) []string {
	t.Helper()
	entries, err := os.ReadDir(m.path("topics"))
	if err != nil {
		t.Fatal(err)
	}
	var topics []string
	for _, e := range entries {
		topics = append(topics, e.Name())
	}
	for topic := range liveTopics {
		if !slices.Contains(topics, topic) {
			t.Errorf("topics has no %s: %v", topic, topics)
		}
	}
	return slices.DeleteFunc(topics, func(name string) bool {
		// The cluster's metadata is no topic to consumers.
		return strings.HasPrefix(name, "passing") || name == "__cluster_metadata"
	})
}

// compareLive compares the mounts with what consumers get.
func (l *live) compareLive(t *testing.T) {
	t.Helper()
	for isolation, m := range l.mounts {
		for _, topic := range mountedTopics(t, m) {
			compare(t, m, l.b.Addr(), topic, isolation, -1)
		}
	}
}

// compare waits until a mount has what a consumer gets of a topic, which the
// broker may change still by compacting and deleting. Offsets from end on are
// left out, unless it is −1.
func compare(t *testing.T, m *mount, addr, topic, isolation string, end int64) {
	t.Helper()
	begun := time.Now()
	poll(t, within, topic+", "+isolation, func() error {
		want, got := consumeAll(t, addr, topic, isolation), mountedRecords(t, m, topic)
		for end >= 0 && len(want) > 0 && want[len(want)-1].Offset >= end {
			want = want[:len(want)-1]
		}
		if len(want) == 0 && liveTopics[topic] != nil {
			return fmt.Errorf("there are no records")
		}
		for i := range min(len(want), len(got)) {
			if !want[i].equal(&got[i]) {
				return fmt.Errorf("record %d of the consumer is %.400v, of the mount %.400v", i, want[i], got[i])
			}
		}
		if len(want) != len(got) {
			return fmt.Errorf("the consumer gets %d records, the mount has %d", len(want), len(got))
		}
		t.Logf("%s, %s: %d records are the same, after %v", topic, isolation, len(got), time.Since(begun))
		return nil
	})
}
