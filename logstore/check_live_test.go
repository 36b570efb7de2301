package logstore

import (
	"fmt"
	"testing"
)

// A store that is written to while it is checked has no damage for it.
func TestCheckOfAGrowingStore(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{Config: ServerConfig{"log.segment.bytes": "20000", "log.index.interval.bytes": "100"}})
	p := newTopic(t, s, "t", nil)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		w := p.NewLineWriter()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := fmt.Fprintf(writerFunc(w.Write), "record %d\n", i); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 30 {
		found, _ := checked(t, dir)
		for _, f := range found {
			if f.Damage {
				t.Errorf("%+v", f)
			}
		}
	}
	close(stop)
	<-done
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
