package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"klogfs/logstore"
)

// mountedTopics are the topics of a mount, reached through its files.
type mountedTopics struct{ mount string }

func (s mountedTopics) path(elem ...string) string {
	return filepath.Join(append([]string{s.mount, "topics"}, elem...)...)
}

// check makes sure that there is a mount of ours.
func (s mountedTopics) check() error {
	if _, err := os.Stat(s.path()); err != nil {
		return fmt.Errorf("%s is no klogfs mount that answers: %w", s.mount, err)
	}
	return nil
}

func (s mountedTopics) create(name string, partitions int32, config map[string]string) error {
	if err := errors.Join(logstore.ValidateTopic(name), logstore.ValidateTopicConfig(config), s.check()); err != nil {
		return err
	}
	if err := s.makeDirs(name, partitions); err != nil {
		return translate(err)
	}
	if len(config) == 0 {
		return nil
	}
	lines := make([]string, 0, len(config))
	for key, value := range config {
		lines = append(lines, key+"="+value+"\n")
	}
	sort.Strings(lines)
	f, err := os.OpenFile(s.path(name, "config"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, ""))
	return errors.Join(err, f.Close())
}

// makeDirs makes the topic's partitions: with a number of them one by one,
// else as many as the store gives a topic.
func (s mountedTopics) makeDirs(name string, partitions int32) error {
	if partitions == 0 {
		return os.Mkdir(s.path(name), 0o755)
	}
	for i := range partitions {
		dir := filepath.Join(s.mount, logstore.TopicPartition{Topic: name, Partition: i}.String())
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (s mountedTopics) list() ([]logstore.Topic, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.path())
	if err != nil {
		return nil, err
	}
	var topics []logstore.Topic
	for _, e := range entries {
		file, err := os.ReadFile(s.path(e.Name(), "status.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted since it was listed
		}
		if err != nil {
			return nil, err
		}
		var t logstore.Topic
		if err := json.Unmarshal(file, &t); err != nil {
			return nil, fmt.Errorf("parse status of %s: %w", e.Name(), err)
		}
		topics = append(topics, t)
	}
	return topics, nil
}

func (s mountedTopics) remove(name string) error {
	if err := errors.Join(logstore.ValidateTopic(name), s.check()); err != nil {
		return err
	}
	err := os.Remove(s.path(name))
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("%w: mount with --allow-delete to delete topics", err)
	}
	return translate(err)
}

// translate says in the store's words what a file operation met.
func translate(err error) error {
	switch {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%w: %w", logstore.ErrTopicExists, err)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %w", logstore.ErrUnknownTopic, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w", logstore.ErrReadOnly, err)
	}
	return err
}
