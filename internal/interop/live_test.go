package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"klogfs/internal/kafkatest"
)

// live is a broker that runs, with its directory mounted in both levels of
// isolation.
type live struct {
	b      *kafkatest.Broker
	mounts map[string]*mount
	// sent is how many records of each topic the broker has acknowledged: those
	// are to be in the mount from then on.
	sent map[string]*atomic.Int64
}

// liveTopics are what goes on in the broker, by the name of the topic.
var liveTopics = map[string]map[string]string{
	"plain":   {"segment.bytes": "1048576"},
	"txn":     {"segment.bytes": "1048576"},
	"table":   {"segment.bytes": "1048576", "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "500"},
	"short":   {"segment.bytes": "1048576", "retention.bytes": "2097152", "file.delete.delay.ms": "200"},
	"trimmed": {"segment.bytes": "1048576", "file.delete.delay.ms": "200"},
}

const (
	readUncommitted = "read_uncommitted"
	readCommitted   = "read_committed"
)

// TestLiveBroker reads the directory of a broker while it takes records,
// transactions that commit and abort among them, compacts, deletes by size and
// on demand, and makes and deletes topics: every answer is right at any time,
// and in the end all is what a consumer gets, in both levels of isolation; and
// once more when the broker was killed in the middle of it.
func TestLiveBroker(t *testing.T) {
	requireFUSE(t)
	k := kafkatest.Require(t)
	l := startLive(t, k)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	var producers, readers sync.WaitGroup
	for topic := range liveTopics {
		producers.Go(func() { l.produce(ctx, t, topic) })
	}
	producers.Go(func() { l.trim(ctx, t) })
	producers.Go(func() { l.makeTopics(ctx, t) })
	for isolation := range l.mounts {
		readers.Go(func() { l.readAll(ctx, t, isolation) })
	}
	producers.Wait()
	readers.Wait()
	if t.Failed() {
		return
	}
	for isolation, m := range l.mounts {
		for topic := range liveTopics {
			l.compare(t, m, l.b.Addr(), topic, isolation, nil)
		}
	}
	l.killed(t, k)
	leftNothing(t, l.b.LogDir())
}

func startLive(t *testing.T, k *kafkatest.Kafka) *live {
	l := &live{mounts: map[string]*mount{}, sent: map[string]*atomic.Int64{}}
	l.b = k.NewBroker(t, filepath.Join(t.TempDir(), "logs"), map[string]string{
		"log.cleaner.backoff.ms": "200", "log.retention.check.interval.ms": "300", "log.initial.task.delay.ms": "300",
		"transaction.max.timeout.ms": "60000",
	})
	l.b.Start()
	for topic, config := range liveTopics {
		l.b.CreateTopic(topic, 1, config)
		l.sent[topic] = &atomic.Int64{}
	}
	for _, isolation := range []string{readUncommitted, readCommitted} {
		l.mounts[isolation] = newMount(t, l.b.LogDir(), "--isolation", isolation)
	}
	return l
}

func newClient(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(1 << 20),
	}, opts...)...)
	if err != nil {
		t.Error(err)
	}
	return c
}

// numbered are records of a topic from a number on; each says which it is.
func numbered(topic string, from int64, n int) []*kgo.Record {
	records := make([]*kgo.Record, n)
	for i := range records {
		number := from + int64(i)
		records[i] = &kgo.Record{
			Topic: topic, Key: fmt.Appendf(nil, "key-%d", number%500),
			Value:   fmt.Appendf(nil, `{"topic":%q,"number":%d,"pad":"%0*d"}`, topic, number, int(number%97), 0),
			Headers: []kgo.RecordHeader{{Key: "n", Value: strconv.AppendInt(nil, number, 10)}},
		}
		if topic == "table" && number%7 == 3 {
			records[i].Value = nil
		}
	}
	return records
}

// produce gives the broker records until ctx ends.
func (l *live) produce(ctx context.Context, t *testing.T, topic string) {
	if topic == "txn" {
		l.produceTxn(ctx, t)
		return
	}
	c := newClient(t, l.b.Addr(), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	defer c.Close()
	for n := int64(0); ctx.Err() == nil; {
		const together = 500
		if err := c.ProduceSync(context.Background(), numbered(topic, n, together)...).FirstErr(); err != nil {
			t.Errorf("produce to %s: %v", topic, err)
			return
		}
		n += together
		l.sent[topic].Store(n)
		time.Sleep(20 * time.Millisecond) // there are readers too
	}
}

// produceTxn has two producers whose transactions overlap; every third aborts.
func (l *live) produceTxn(ctx context.Context, t *testing.T) {
	var clients []*kgo.Client
	for i := range 2 {
		c := newClient(t, l.b.Addr(), kgo.TransactionalID(fmt.Sprintf("live-%d", i)))
		defer c.Close()
		clients = append(clients, c)
	}
	for n := int64(0); ctx.Err() == nil; {
		for _, c := range clients {
			if err := c.BeginTransaction(); err != nil {
				t.Errorf("begin: %v", err)
				return
			}
		}
		for round := range 6 {
			const together = 50
			c := clients[round%2]
			if err := c.ProduceSync(context.Background(), numbered("txn", n, together)...).FirstErr(); err != nil {
				t.Errorf("produce to txn: %v", err)
				return
			}
			n += together
		}
		for i, c := range clients {
			if err := c.EndTransaction(context.Background(), kgo.TransactionEndTry((n/300+int64(i))%3 != 0)); err != nil {
				t.Errorf("end of transaction: %v", err)
				return
			}
		}
		l.sent["txn"].Store(n)
	}
}

// trim deletes the older half of the records of a topic, again and again, and
// sees the log start move in the mounts within a second.
func (l *live) trim(ctx context.Context, t *testing.T) {
	c := newClient(t, l.b.Addr())
	defer c.Close()
	admin := kadm.NewClient(c)
	for ctx.Err() == nil {
		if l.sent["trimmed"].Load() == 0 {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		var offsets kadm.Offsets
		at := l.sent["trimmed"].Load() / 2
		offsets.AddOffset("trimmed", 0, at, -1)
		if _, err := admin.DeleteRecords(context.Background(), offsets); err != nil {
			t.Errorf("delete records: %v", err)
			return
		}
		for isolation, m := range l.mounts {
			l.eventually(t, 20*time.Second, "log start of "+isolation, func() error {
				status := statusOf(m, "trimmed-0")
				if status.LogStartOffset < at {
					return fmt.Errorf("log start is %d, want %d", status.LogStartOffset, at)
				}
				return nil
			})
		}
		time.Sleep(time.Second)
	}
}

type partitionStatus struct {
	LogStartOffset, HighWatermark, LogEndOffset, CorruptBatches int64
	LastStableOffset                                            *int64
}

func statusOf(m *mount, partition string) (s partitionStatus) {
	b, err := os.ReadFile(m.path(partition, "status.json"))
	if err != nil || json.Unmarshal(b, &s) != nil {
		s.LogStartOffset = -1
	}
	return s
}

// eventually waits for a condition, from any goroutine.
func (l *live) eventually(t *testing.T, limit time.Duration, what string, condition func() error) {
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = condition(); err == nil {
			return
		}
	}
	t.Errorf("%s: %v", what, err)
}

// makeTopics makes and deletes a topic again and again.
func (l *live) makeTopics(ctx context.Context, t *testing.T) {
	c := newClient(t, l.b.Addr())
	defer c.Close()
	admin := kadm.NewClient(c)
	m := l.mounts[readUncommitted]
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("passing%d", i)
		if _, err := admin.CreateTopic(context.Background(), 1, 1, nil, name); err != nil {
			t.Errorf("create %s: %v", name, err)
			return
		}
		l.eventually(t, 20*time.Second, name, func() error {
			_, err := os.Stat(m.path(name+"-0", "values"))
			return err
		})
		if err := c.ProduceSync(context.Background(), numbered(name, 0, 10)...).FirstErr(); err != nil {
			t.Errorf("produce to %s: %v", name, err)
			return
		}
		if _, err := admin.DeleteTopic(context.Background(), name); err != nil {
			t.Errorf("delete %s: %v", name, err)
			return
		}
		l.eventually(t, 20*time.Second, name+" after its deletion", func() error {
			if _, err := os.Stat(m.path(name+"-0", "values")); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("it is there: %w", err)
			}
			return nil
		})
	}
}

// readAll reads a mount in every way until ctx ends.
func (l *live) readAll(ctx context.Context, t *testing.T, isolation string) {
	m := l.mounts[isolation]
	backup := t.TempDir()
	for ctx.Err() == nil && !t.Failed() {
		for topic := range liveTopics {
			l.readValues(t, m, topic)
			l.readOffsets(t, m, topic)
		}
		out, err := exec.Command("rsync", "-a", "--delete", m.point+"/raw/", backup).CombinedOutput()
		const vanished = 24 // some files went away meanwhile
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == vanished {
			err = nil
		}
		if err != nil {
			t.Errorf("rsync: %v\n%s", err, out)
		}
	}
}

// readValues reads all values: whole records, each number larger than the one
// before, and as many as were acknowledged before where nothing is deleted.
func (l *live) readValues(t *testing.T, m *mount, topic string) {
	sent := l.sent[topic].Load()
	got, err := os.ReadFile(m.path(topic+"-0", "values"))
	if err != nil {
		t.Errorf("values of %s: %v", topic, err)
		return
	}
	last, count := int64(-1), int64(0)
	for line := range bytes.Lines(got) {
		if topic == "table" && string(line) == "\n" {
			continue // a tombstone
		}
		number, err := numberOf(line, topic)
		if err != nil || number <= last || topic == "plain" && number != last+1 {
			t.Errorf("%s: %q after number %d, %v", topic, line, last, err)
			return
		}
		last = number
		count++
	}
	if topic == "plain" && count < sent {
		t.Errorf("%s has %d records, %d were acknowledged", topic, count, sent)
	}
}

func numberOf(value []byte, topic string) (int64, error) {
	var v struct {
		Topic  string
		Number int64
	}
	err := json.Unmarshal(value, &v)
	if err == nil && v.Topic != topic {
		err = fmt.Errorf("record of %s", v.Topic)
	}
	return v.Number, err
}

// readOffsets reads records by offset and time.
func (l *live) readOffsets(t *testing.T, m *mount, topic string) {
	dir := m.path(topic + "-0")
	for _, name := range []string{"earliest", "latest"} {
		target, err := os.Readlink(filepath.Join(dir, "offset", name))
		if err != nil {
			continue // none yet
		}
		offset, err := strconv.ParseInt(target, 10, 64)
		if err != nil {
			t.Errorf("%s/%s is %q", topic, name, target)
		}
		for _, o := range []int64{offset, offset + 1, (offset + 1) / 2} {
			l.readOffset(t, dir, topic, o)
		}
	}
	if target, err := os.Readlink(filepath.Join(dir, "time", "-3s")); err == nil {
		if !strings.HasPrefix(target, "../offset/") {
			t.Errorf("time/-3s of %s is %q", topic, target)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("time/-3s of %s: %v", topic, err)
	}
}

func (l *live) readOffset(t *testing.T, dir, topic string, offset int64) {
	b, err := os.ReadFile(filepath.Join(dir, "offset", fmt.Sprintf("%d.json", offset)))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var r struct {
		Offset  int64
		Value   *string
		Headers [][2]string
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.Offset != offset || len(r.Headers) != 1 {
		t.Errorf("offset %d of %s is %s, %v", offset, topic, b, err)
		return
	}
	if r.Value == nil {
		return
	}
	if number, err := numberOf([]byte(*r.Value), topic); err != nil || strconv.FormatInt(number, 10) != r.Headers[0][1] {
		t.Errorf("offset %d of %s is %s, %v", offset, topic, b, err)
	}
}
