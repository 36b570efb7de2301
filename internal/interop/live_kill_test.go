package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"klogfs/internal/kafkatest"
)

// partitionStatus is what the test looks at of a partition's status.json.
type partitionStatus struct {
	LogStartOffset, LogEndOffset, CorruptBatches int64
	LastStableOffset                             *int64
	Offline                                      string
}

func statusOf(m *mount, partition string) (s partitionStatus, err error) {
	b, err := os.ReadFile(m.path(partition, "status.json"))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// killed kills the broker while it takes records, those of a transaction among
// them, and compares the mount of what is left with what a broker makes of a
// copy of it.
func (l *live) killed(t *testing.T, k *kafkatest.Kafka) {
	l.killInProduce(t)
	dead := l.b.LogDir()
	before := states(t, dead)
	copied := filepath.Join(t.TempDir(), "logs")
	if out, err := exec.Command("cp", "-a", dead, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mounts := map[string]*mount{}
	for _, isolation := range []string{readUncommitted, readCommitted} {
		mounts[isolation] = newMount(t, dead, "--isolation", isolation)
	}
	// What it has of the log must not go meanwhile.
	again := k.NewBroker(t, copied, map[string]string{
		"log.cleaner.enable": "false", "log.retention.check.interval.ms": "3600000", "log.initial.task.delay.ms": "3600000",
	})
	again.Start()
	for isolation, m := range mounts {
		for _, topic := range mountedTopics(t, m) {
			compareDead(t, m, again.Addr(), topic, isolation)
		}
		m.umount()
	}
	if diff := cmp.Diff(before, states(t, dead)); diff != "" {
		t.Errorf("the directory has changed:\n%s", diff)
	}
}

// killInProduce kills the broker in the middle of produce, with a transaction
// open.
func (l *live) killInProduce(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	open := newClient(t, l.b.Addr(), kgo.TransactionalID("left-open"), kgo.TransactionTimeout(10*time.Minute))
	defer open.CloseAllowingRebalance()
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	s := &stream{name: "open", topic: "txn"}
	if _, err := s.send(ctx, open, 100); err != nil {
		t.Fatal(err)
	}
	var acked, failed atomic.Int64
	var clients []*kgo.Client
	for topic := range liveTopics {
		c := newClient(t, l.b.Addr(), kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.MaxBufferedRecords(500))
		defer c.CloseAllowingRebalance()
		clients = append(clients, c)
		s := &stream{name: topic, topic: topic}
		go func() {
			for n := l.firstFree(topic); ctx.Err() == nil; n++ {
				c.Produce(ctx, s.record(n), func(_ *kgo.Record, err error) {
					if err != nil {
						failed.Add(1)
					} else {
						acked.Add(1)
					}
				})
			}
		}()
	}
	// They go on without end: what kills the broker is in the middle of it.
	poll(t, within, "produce", func() error {
		if n := acked.Load(); n < 20_000 {
			return fmt.Errorf("%d records are acknowledged", n)
		}
		return nil
	})
	l.b.Kill()
	stop()
	for _, c := range clients {
		c.CloseAllowingRebalance()
	}
	if failed.Load() == 0 {
		t.Error("the broker was not killed in the middle of produce")
	}
	t.Logf("killed after %d records, %d were under way", acked.Load(), failed.Load())
}

// firstFree is a number that no record of a topic had.
func (l *live) firstFree(topic string) int64 {
	if s := l.streams[topic]; s != nil {
		return s.begun.Load()
	}
	return 0
}

// compareDead compares what a mount of a dead broker's directory shows of a
// topic with what the broker makes of a copy of it: below the end of the dead
// log, since the broker may go on writing to its copy, and below what was
// certain, since it may end the open transaction.
func compareDead(t *testing.T, m *mount, addr, topic, isolation string) {
	t.Helper()
	status, err := statusOf(m, topic+"-0")
	if err != nil || status.CorruptBatches != 0 || status.Offline != "" {
		t.Errorf("%s, %s: status %+v, %v", topic, isolation, status, err)
		return
	}
	end := status.LogEndOffset
	if isolation == readCommitted {
		if status.LastStableOffset == nil {
			t.Errorf("%s has no last stable offset", topic)
			return
		}
		end = *status.LastStableOffset
		if topic == "txn" && end >= status.LogEndOffset {
			t.Errorf("the open transaction does not show: last stable offset %d, end %d", end, status.LogEndOffset)
		}
	}
	compare(t, m, addr, topic, isolation, end)
}

// states are the sizes, times and inodes of all files below a directory.
func states(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("%s: no stat", path)
		}
		found[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano(), st.Ctim.Nano(), st.Ino)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
