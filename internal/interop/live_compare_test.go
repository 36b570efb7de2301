package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"klogfs/internal/fixture"
	"klogfs/internal/kafkatest"
)

// consumed is a record as a consumer gets it, and as records.jsonl has it.
type consumed struct {
	Offset, Timestamp int64
	Key, Value        *string
	Headers           [][2]string
}

func text(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}

// consumeAll gets all records of a topic's one partition from a broker.
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
	admin := kadm.NewClient(c)
	ends, err1 := end(admin, ctx, topic)
	starts, err2 := admin.ListStartOffsets(ctx, topic)
	last, ok1 := ends.Lookup(topic, 0)
	first, ok2 := starts.Lookup(topic, 0)
	if err := errors.Join(err1, err2, last.Err, first.Err); err != nil || !ok1 || !ok2 {
		t.Fatalf("ends of %s: %v", topic, err)
	}
	var all []consumed
	for next := first.Offset; next < last.Offset; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("consume %s: at %d of %d: %v", topic, next, last.Offset, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if r.Attrs.IsControl() || r.Offset >= last.Offset {
				return
			}
			one := consumed{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: text(r.Key), Value: text(r.Value)}
			for _, h := range r.Headers {
				one.Headers = append(one.Headers, [2]string{h.Key, string(h.Value)})
			}
			all = append(all, one)
		})
	}
	return all
}

// mounted are all records of a partition by records.jsonl.
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

// compare waits until the mount has what a consumer gets, which the broker may
// change still by compacting and deleting. below leaves out later offsets.
func (l *live) compare(t *testing.T, m *mount, addr, topic, isolation string, below *int64) {
	t.Helper()
	var diff string
	begun := time.Now()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		want, got := consumeAll(t, addr, topic, isolation), mountedRecords(t, m, topic)
		for below != nil && len(want) > 0 && want[len(want)-1].Offset >= *below {
			want = want[:len(want)-1]
		}
		if diff = firstDifference(want, got); diff == "" {
			if len(got) == 0 {
				t.Errorf("%s has no records", topic)
			}
			t.Logf("%s, %s: %d records are the same, after %v", topic, isolation, len(got), time.Since(begun))
			return
		}
	}
	t.Errorf("%s, %s: consumer and mount differ:\n%.3000s", topic, isolation, diff)
}

// firstDifference says where two lists of records differ first, "" for nowhere.
func firstDifference(want, got []consumed) string {
	for i := range want {
		if i >= len(got) || !reflect.DeepEqual(want[i], got[i]) {
			return cmp.Diff(want[i:min(i+2, len(want))], got[min(i, len(got)):min(i+2, len(got))])
		}
	}
	if len(got) > len(want) {
		return fmt.Sprintf("the mount has %d records more", len(got)-len(want))
	}
	return ""
}

// killed kills the broker while it takes records, a transaction among them, and
// compares the mount of what is left with what the broker makes of a copy of it.
func (l *live) killed(t *testing.T, k *kafkatest.Kafka) {
	for _, m := range l.mounts {
		m.umount()
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	plain := newClient(t, l.b.Addr())
	txn := newClient(t, l.b.Addr(), kgo.TransactionalID("left-open"), kgo.TransactionTimeout(time.Minute))
	defer plain.CloseAllowingRebalance()
	defer txn.CloseAllowingRebalance()
	if err := txn.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := txn.ProduceSync(ctx, numbered("txn", 1<<40, 100)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for _, r := range numbered("plain", 1<<40, 200_000) {
		plain.Produce(ctx, r, nil)
	}
	time.Sleep(300 * time.Millisecond) // it is in the middle of these
	l.b.Kill()
	stop()

	dead := l.b.LogDir()
	before := fixture.States(t, dead)
	copied := filepath.Join(t.TempDir(), "logs")
	if out, err := exec.Command("cp", "-a", dead, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again := k.NewBroker(t, copied, nil)
	again.Start()
	for _, isolation := range []string{readUncommitted, readCommitted} {
		m := newMount(t, dead, "--isolation", isolation)
		for topic := range liveTopics {
			status := statusOf(m, topic+"-0")
			below := &status.LogEndOffset
			if status.LastStableOffset != nil {
				below = status.LastStableOffset
			}
			if topic == "table" || topic == "short" {
				continue // the broker goes on to clean and delete in its copy
			}
			l.compare(t, m, again.Addr(), topic, isolation, below)
			if status.CorruptBatches != 0 {
				t.Errorf("%s has %d corrupt batches", topic, status.CorruptBatches)
			}
			if topic == "txn" && isolation == readCommitted && *below >= status.LogEndOffset {
				t.Errorf("the open transaction does not show: last stable offset %d, end %d", *below, status.LogEndOffset)
			}
		}
		m.umount()
	}
	if diff := cmp.Diff(before, fixture.States(t, dead)); diff != "" {
		t.Errorf("the directory has changed:\n%s", diff)
	}
}
