package interop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// logStart is where the broker says that a topic starts.
func (l *live) logStart(topic string) (int64, error) {
	starts, err := l.admin.ListStartOffsets(context.Background(), topic)
	if err != nil {
		return 0, err
	}
	start, ok := starts.Lookup(topic, 0)
	if !ok {
		return 0, fmt.Errorf("the broker has no %s", topic)
	}
	return start.Offset, start.Err
}

// trim deletes records again and again, and sees the mounts follow.
func (l *live) trim(ctx context.Context, t *testing.T) {
	s := l.streams["trimmed"]
	for last := int64(0); ctx.Err() == nil && !t.Failed(); {
		acked := s.acked.Load()
		if acked < last+1000 {
			time.Sleep(pollInterval)
			continue
		}
		last = acked
		at := acked - 400
		var offsets kadm.Offsets
		offsets.AddOffset("trimmed", 0, at, -1)
		deleted, err := l.admin.DeleteRecords(context.Background(), offsets)
		if err := errors.Join(err, deleted.Error()); err != nil {
			t.Errorf("delete records: %v", err)
			return
		}
		for isolation, m := range l.mounts {
			l.eventually(t, "log start of "+isolation, func() error {
				status, err := statusOf(m, "trimmed-0")
				if err == nil && status.LogStartOffset < at {
					err = fmt.Errorf("log start is %d, want %d", status.LogStartOffset, at)
				}
				return err
			})
		}
	}
}

// isGone reports whether an error says that a file is not there any more.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE) }

// passingTopics makes and deletes topics, each second one by the name of the
// one before, and sees the mounts follow.
func (l *live) passingTopics(ctx context.Context, t *testing.T) {
	for i := 0; ctx.Err() == nil && !t.Failed(); i++ {
		name := fmt.Sprintf("passing%d", i/2)
		s := &stream{name: fmt.Sprintf("%s.%d", name, i), topic: name}
		if !l.createTopic(t, name, nil) {
			return
		}
		l.everywhere(t, "a new topic", func(m *mount) error {
			_, err := os.Stat(m.path(name+"-0", "values"))
			return err
		})
		c := newClientIn(t, l.b.Addr()) // one that knows no topic of this name
		if c == nil {
			return
		}
		_, err := s.send(context.Background(), c, 10)
		c.Close()
		if err != nil {
			t.Error(err)
			return
		}
		l.everywhere(t, "a new topic's records", func(m *mount) error {
			got, err := os.ReadFile(m.path(name+"-0", "values"))
			if want := s.text(0, 10); err == nil && string(got) != string(want) {
				err = fmt.Errorf("values are %.200q, want %.200q", got, want)
			}
			return err
		})
		deleted, err := l.admin.DeleteTopic(context.Background(), name)
		if err := errors.Join(err, deleted.Err); err != nil {
			t.Errorf("delete %s: %v", name, err)
			return
		}
		l.everywhere(t, "a deleted topic", func(m *mount) error {
			got, err := os.ReadFile(m.path(name+"-0", "values"))
			if want := s.text(0, 10); err == nil && string(got) != string(want) {
				t.Errorf("values of a topic being deleted are %.200q", got)
			}
			if !isGone(err) {
				return fmt.Errorf("it is there: %w", err)
			}
			return nil
		})
	}
}

// everywhere waits for a condition of each mount.
func (l *live) everywhere(t *testing.T, what string, condition func(*mount) error) {
	for _, m := range l.mounts {
		l.eventually(t, what, func() error { return condition(m) })
	}
}

// eventually waits for a condition, from any goroutine.
func (l *live) eventually(t *testing.T, what string, condition func() error) {
	begun := time.Now()
	for {
		err := condition()
		if err == nil {
			l.delays.add(what, time.Since(begun))
			return
		}
		if time.Since(begun) > within {
			t.Errorf("%s, after %v: %v", what, within, err)
			return
		}
		time.Sleep(pollInterval)
	}
}

// delays are the longest times that things took.
type delays struct {
	mu      sync.Mutex
	longest map[string]time.Duration
}

func (d *delays) add(what string, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.longest == nil {
		d.longest = map[string]time.Duration{}
	}
	d.longest[what] = max(d.longest[what], took)
}

func (d *delays) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprint(d.longest)
}
