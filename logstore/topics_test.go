package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestTopicsAfterReopening(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{Config: ServerConfig{"num.partitions": "2"}})
	for name, partitions := range map[string]int32{"a": 0, "b": 3, "gone": 1} {
		if err := s.CreateTopic(name, partitions, map[string]string{"retention.ms": "5"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AlterTopic("b", map[string]string{"segment.bytes": "5000"}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteTopic("gone"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeletePartition(TopicPartition{"b", 2}); err != nil {
		t.Fatal(err)
	}
	before := s.Topics()
	closeStore(t, s)
	s = openStore(t, dir, Options{})
	if got, want := fmt.Sprint(s.Topics()), fmt.Sprint(before); got != want || len(before) != 2 {
		t.Errorf("%s, want %s", got, want)
	}
	if got := partition(t, s, "b-1").Config().SegmentBytes; got != 5000 {
		t.Errorf("segment.bytes %d", got)
	}
}

func TestTopicErrors(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	newTopic(t, s, "t", nil)
	for _, tc := range []struct {
		name string
		err  error
		want error
	}{
		{"exists", s.CreateTopic("t", 1, nil), ErrTopicExists},
		{"bad name", s.CreateTopic("a/b", 1, nil), ErrInvalidTopic},
		{"empty name", s.CreateTopic("", 1, nil), ErrInvalidTopic},
		{"long name", s.CreateTopic(strings.Repeat("x", 250), 1, nil), ErrNameTooLong},
		{"bad config", s.CreateTopic("u", 1, map[string]string{"x": "y"}), ErrInvalidConfig},
		{"partition exists", s.AddPartition(TopicPartition{"t", 0}), ErrTopicExists},
		{"partition too far", s.AddPartition(TopicPartition{"t", 2}), ErrPartitionOrder},
		{"first partition is not 0", s.AddPartition(TopicPartition{"u", 1}), ErrPartitionOrder},
		{"alter unknown", s.AlterTopic("u", nil), ErrUnknownTopic},
		{"delete unknown", s.DeleteTopic("u"), ErrUnknownTopic},
		{"delete unknown partition", s.DeletePartition(TopicPartition{"t", 1}), ErrUnknownTopic},
	} {
		if !errors.Is(tc.err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, tc.err, tc.want)
		}
	}
}

// Of many who make the same partition one does, and nothing written to it is
// lost; a configuration set meanwhile stays.
func TestPartitionsMadeAtOnce(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	newTopic(t, s, "t", nil)
	var wg sync.WaitGroup
	made := make(chan error, 8)
	for range 8 {
		wg.Go(func() {
			err := s.AddPartition(TopicPartition{"t", 1})
			if err == nil {
				p, err := s.Partition(TopicPartition{"t", 1})
				if err != nil {
					t.Error(err)
					return
				}
				produce(t, p, "one")
			}
			made <- err
		})
	}
	wg.Go(func() {
		if err := s.AlterTopic("t", map[string]string{"retention.ms": "7"}); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	close(made)
	ok := 0
	for err := range made {
		if err == nil {
			ok++
		} else if !errors.Is(err, ErrTopicExists) {
			t.Error(err)
		}
	}
	topic, err := s.Topic("t")
	if err != nil || ok != 1 || topic.Config["retention.ms"] != "7" || text(t, partition(t, s, "t-1"), FormatValues) != "one\n" {
		t.Errorf("made %d times, %+v, %v", ok, topic, err)
	}
}

// A topic that could not be made, or not deleted, is as it was or comes to its
// end at the next start.
func TestHalfMadeTopics(t *testing.T) {
	for _, op := range []string{"create", "rename"} {
		for after := range 12 {
			t.Run(fmt.Sprintf("op=%s/after=%d", op, after), func(t *testing.T) {
				d, dir := &faultDisk{}, t.TempDir()
				s := openStore(t, dir, Options{Disk: d})
				calls := 0
				fail := func(o, _ string) error {
					if o == op {
						if calls++; calls > after {
							return syscall.ENOSPC
						}
					}
					return nil
				}
				d.set(fail)
				err := s.CreateTopic("t", 2, nil)
				d.set(func(string, string) error { return nil })
				if err != nil {
					if err := s.CreateTopic("t", 2, nil); err != nil {
						t.Fatalf("made again: %v", err)
					}
				}
				calls = 0
				d.set(fail)
				deleted := s.DeleteTopic("t")
				d.set(func(string, string) error { return nil })
				closeStore(t, s)
				s = openStore(t, dir, Options{})
				_, err = s.Topic("t")
				if deleted == nil && !errors.Is(err, ErrUnknownTopic) {
					t.Errorf("deleted, and there: %v", err)
				}
				if err == nil {
					produce(t, partition(t, s, "t-1"), "still right")
				} else if err := s.CreateTopic("t", 2, nil); err != nil {
					t.Errorf("made after the deletion: %v", err)
				}
			})
		}
	}
}

// What was put into a directory of ours is taken in when it is a log, as far
// as the numbers follow on each other, and left alone else.
func TestForeignDirectoriesInAStoreOfOurs(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	produce(t, newTopic(t, s, "t", nil), "mine")
	closeStore(t, s)
	log := builtBatch(t, 0, 5, -1, "put here")
	for name, content := range map[string][]byte{"backup-20240101": nil, "far-7": log, "new-0": log, "new-1": log, "new-3": log, "t-1": log} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if content != nil {
			writeFile(t, filepath.Join(dir, name, segmentFile(0, suffixLog)), content)
		}
	}
	s = openStore(t, dir, Options{})
	var got []string
	for _, p := range s.Partitions() {
		got = append(got, p.Name())
	}
	if fmt.Sprint(got) != "[new-0 new-1 t-0 t-1]" {
		t.Errorf("%v", got)
	}
	if infos, err := os.ReadDir(filepath.Join(dir, "backup-20240101")); err != nil || len(infos) != 0 {
		t.Errorf("%v, %v", infos, err)
	}
	if got := text(t, partition(t, s, "new-1"), FormatValues); got != "put here\n" {
		t.Errorf("%q", got)
	}
}

func TestMarkerIsChecked(t *testing.T) {
	for _, topics := range []string{
		`"../../evil":{"partitions":1}`, `"t":{"partitions":2147483647}`, `"t":{"partitions":-1}`,
		`"t":{"partitions":1,"config":{"segment.bytes":"abc"}}`, `"t":{"partitions":1,"dirs":["a","b"]}`,
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, markerFile), []byte(`{"version":1,"topics":{`+topics+`}}`))
		if s, err := Open([]string{dir}, Options{}); err == nil {
			closeStore(t, s)
			t.Errorf("%s was taken", topics)
		}
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, markerFile), []byte(`{"version":2}`))
	if _, err := Open([]string{dir}, Options{}); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("version 2: %v", err)
	}
}

// A log directory that is missing is no reason to begin its logs anew.
func TestMissingLogDirectory(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	open := func(dirs ...string) (*Store, error) { return Open(dirs, Options{}) }
	s, err := open(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateTopic("t", 2, nil); err != nil {
		t.Fatal(err)
	}
	produce(t, partition(t, s, "t-0"), "zero")
	produce(t, partition(t, s, "t-1"), "one")
	closeStore(t, s)
	if err := errors.Join(os.Rename(b, b+"-away"), os.Mkdir(b, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, dirs := range [][]string{{a}, {a, b}} {
		if _, err := open(dirs...); !errors.Is(err, ErrMissingDir) {
			t.Errorf("%v: %v", dirs, err)
		}
	}
	if err := errors.Join(os.RemoveAll(b), os.Rename(b+"-away", b)); err != nil {
		t.Fatal(err)
	}
	if s, err = open(b, a); err != nil {
		t.Fatal(err)
	}
	if got := text(t, partition(t, s, "t-0"), FormatValues) + text(t, partition(t, s, "t-1"), FormatValues); got != "zero\none\n" {
		t.Errorf("%q", got)
	}
	closeStore(t, s)
	// The same partition in both is refused, every time.
	for _, name := range []string{"t-0", "t-1"} {
		for _, dir := range []string{a, b} {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 10 {
		if _, err := open(a, b); err == nil || !strings.Contains(err.Error(), "move one away") {
			t.Fatalf("twice the same: %v", err)
		}
	}
}
