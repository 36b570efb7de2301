package interop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// keys is how many keys the records of a topic have.
const keys = 200

// liveEpoch is the timestamp of the first record of each stream; each one
// after it is a millisecond younger.
var liveEpoch = time.Now().Add(-30 * time.Minute).Truncate(time.Second)

// stream is the records that one producer gives to partition 0 of a topic,
// numbered from 0 on. What a record holds follows from its number.
type stream struct {
	name, topic string
	// begun counts the records that the producer began to send, acked those
	// that the broker has acknowledged: these are in the mount from then on.
	begun, acked atomic.Int64
}

// padding is what values are filled up with.
var padding = strings.Repeat("abcdefghij", 100)

// tombstone reports whether a record has no value. Every other round through
// the keys some of them are deleted.
func (s *stream) tombstone(n int64) bool {
	return s.topic == "table" && mayVanish(n%keys) && (n/keys)%2 == 1
}

// mayVanish reports whether a key of a compacted topic is ever deleted.
func mayVanish(key int64) bool { return key%10 == 0 }

// value is the value of a record, nil for a tombstone.
func (s *stream) value(n int64) []byte {
	if s.tombstone(n) {
		return nil
	}
	b := strconv.AppendInt(append([]byte(s.name), ' '), n, 10)
	return append(append(b, ' '), padding[:100+n*37%800]...)
}

func (s *stream) timestamp(n int64) int64 { return liveEpoch.UnixMilli() + n }

func (s *stream) record(n int64) *kgo.Record {
	return &kgo.Record{
		Topic: s.topic, Timestamp: time.UnixMilli(s.timestamp(n)),
		Key: fmt.Appendf(nil, "key-%d", n%keys), Value: s.value(n),
		Headers: []kgo.RecordHeader{{Key: "n", Value: strconv.AppendInt(nil, n, 10)}},
	}
}

// text is the text of records, as values has it.
func (s *stream) text(from, to int64) []byte {
	var b []byte
	for n := from; n < to; n++ {
		b = append(append(b, s.value(n)...), '\n')
	}
	return b
}

// send gives the broker the next records, and waits for what it says to them.
func (s *stream) send(ctx context.Context, c *kgo.Client, count int) (kgo.ProduceResults, error) {
	from := s.acked.Load()
	records := make([]*kgo.Record, count)
	for i := range records {
		records[i] = s.record(from + int64(i))
	}
	s.begun.Store(from + int64(count))
	results := c.ProduceSync(ctx, records...)
	if err := results.FirstErr(); err != nil {
		return nil, fmt.Errorf("produce to %s: %w", s.name, err)
	}
	return results, nil
}

func newClient(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c := newClientIn(t, addr, opts...)
	if c == nil {
		t.FailNow()
	}
	return c
}

func (l *live) createTopic(t *testing.T, name string, config map[string]string) bool {
	configs := map[string]*string{}
	for key, value := range config {
		configs[key] = &value
	}
	created, err := l.admin.CreateTopic(context.Background(), 1, 1, configs, name)
	if err := errors.Join(err, created.Err); err != nil {
		t.Errorf("create %s: %v", name, err)
		return false
	}
	return true
}

// produce gives the broker records until ctx ends. Offsets are the numbers of
// the records: nobody else writes to the topic.
func (l *live) produce(ctx context.Context, t *testing.T, s *stream) {
	codec := kgo.NoCompression()
	if s.name == "plain" {
		codec = kgo.Lz4Compression()
	}
	c := newClientIn(t, l.b.Addr(), kgo.ProducerBatchCompression(codec))
	if c == nil {
		return
	}
	defer c.Close()
	for ctx.Err() == nil && !t.Failed() {
		const together = 100
		results, err := s.send(context.Background(), c, together)
		if err != nil {
			t.Error(err)
			return
		}
		first := s.acked.Load()
		for i, r := range results {
			if r.Record.Offset != first+int64(i) {
				t.Errorf("record %d of %s has offset %d", first+int64(i), s.name, r.Record.Offset)
				return
			}
		}
		s.acked.Add(together)
		time.Sleep(20 * time.Millisecond) // there are readers too
	}
}

// newClientIn is newClient for any goroutine: nil when it failed.
func newClientIn(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
	}, opts...)...)
	if err != nil {
		t.Error(err)
		return nil
	}
	return c
}
