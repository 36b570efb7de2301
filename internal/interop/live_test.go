package interop

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"klogfs/internal/kafkatest"
)

// Levels of isolation, as both klogfs and Kafka call them.
const (
	readUncommitted = "read_uncommitted"
	readCommitted   = "read_committed"
)

const (
	// liveTime is how long the broker is written to and read at once.
	liveTime = 15 * time.Second
	// within is how long what must come to pass may take. It is far more than
	// it takes, so that a slow machine fails no test.
	within = 20 * time.Second
	// txnProducers is how many transactional producers there are.
	txnProducers = 3
)

// liveTopics are the topics that exist all the time, with their configuration.
var liveTopics = map[string]map[string]string{
	"plain": {},
	"txn":   {},
	"table": {
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01",
		"delete.retention.ms": "100", "file.delete.delay.ms": "200",
	},
	"short":   {"retention.bytes": "3145728", "file.delete.delay.ms": "200"},
	"trimmed": {"file.delete.delay.ms": "200"},
}

// live is a broker that runs, with its directory mounted in both levels of
// isolation, and what was given to it.
type live struct {
	b       *kafkatest.Broker
	client  *kgo.Client
	admin   *kadm.Client
	mounts  map[string]*mount
	streams map[string]*stream
	txns    [txnProducers]*txnStream
	delays  delays
}

// TestLiveBroker reads the directory of a broker while the broker takes
// records, ends transactions either way, compacts, deletes by size and on
// demand, and makes and deletes topics: every answer is right at any time. Then
// all is what a consumer gets, in both levels of isolation; and so it is once
// the broker was killed in the middle of it.
func TestLiveBroker(t *testing.T) {
	requireFUSE(t)
	k := kafkatest.Require(t)
	l := startLive(t, k)
	l.run(t)
	for isolation, m := range l.mounts {
		l.healthy(t, isolation, m)
	}
	if t.Failed() {
		return
	}
	before := sealedFiles(t, l.b.LogDir(), "plain-0")
	l.compareLive(t)
	for _, m := range l.mounts {
		m.umount()
	}
	unchanged(t, l.b.LogDir(), before)
	leftNothing(t, l.b.LogDir())
	if !t.Failed() {
		l.killed(t, k)
	}
}

// startLive starts the broker, makes its topics and mounts its directory.
func startLive(t *testing.T, k *kafkatest.Kafka) *live {
	t.Helper()
	l := &live{mounts: map[string]*mount{}, streams: map[string]*stream{}}
	l.b = k.NewBroker(t, filepath.Join(t.TempDir(), "logs"), map[string]string{
		"log.segment.bytes":                             "1048576",
		"log.cleaner.backoff.ms":                        "100",
		"log.retention.check.interval.ms":               "200",
		"log.initial.task.delay.ms":                     "200",
		"log.flush.start.offset.checkpoint.interval.ms": "100",
	})
	l.b.Start()
	l.client = newClient(t, l.b.Addr())
	t.Cleanup(l.client.Close)
	l.admin = kadm.NewClient(l.client)
	for topic, config := range liveTopics {
		l.createTopic(t, topic, config)
		if topic != "txn" {
			l.streams[topic] = &stream{name: topic, topic: topic}
		}
	}
	for i := range l.txns {
		l.txns[i] = newTxnStream(i)
		l.streams[l.txns[i].name] = &l.txns[i].stream
	}
	for _, isolation := range []string{readUncommitted, readCommitted} {
		l.mounts[isolation] = newMount(t, l.b.LogDir(), "--isolation", isolation)
	}
	return l
}

// run writes to the broker and reads the mounts at the same time.
func (l *live) run(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), liveTime)
	defer stop()
	var producers, readers sync.WaitGroup
	for topic := range liveTopics {
		if topic != "txn" {
			producers.Go(func() { l.produce(ctx, t, l.streams[topic]) })
		}
	}
	for _, p := range l.txns {
		producers.Go(func() { l.produceTxn(ctx, t, p) })
	}
	producers.Go(func() { l.trim(ctx, t) })
	producers.Go(func() { l.passingTopics(ctx, t) })
	for isolation := range l.mounts {
		r := l.reader(ctx, t, isolation)
		for _, read := range []func(){r.views, r.records, r.backup, r.follow, r.slow} {
			readers.Go(func() {
				for ctx.Err() == nil && !t.Failed() {
					read()
				}
			})
		}
		t.Cleanup(func() { t.Logf("%s: %v", isolation, r.counts.String()) })
	}
	producers.Wait()
	readers.Wait()
	t.Logf("the longest that it took: %v", l.delays.String())
	for name, s := range l.streams {
		t.Logf("%s: %d records", name, s.acked.Load())
	}
}

// healthy expects that a mount met no damage and could read all the time.
func (l *live) healthy(t *testing.T, isolation string, m *mount) {
	t.Helper()
	for topic := range liveTopics {
		status, err := statusOf(m, topic+"-0")
		if err != nil || status.CorruptBatches != 0 || status.Offline != "" {
			t.Errorf("%s, %s: status %+v, %v", topic, isolation, status, err)
		}
	}
	for line := range strings.Lines(m.stderr.String()) {
		if strings.Contains(line, "level=ERROR") {
			t.Errorf("the mount of %s said: %s", isolation, line)
		}
	}
}
