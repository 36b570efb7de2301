package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strings"

	"github.com/urfave/cli/v2"

	"klogfs/logstore"
)

func topicCommand() *cli.Command {
	return &cli.Command{
		Name:  "topic",
		Usage: "create, list, describe and delete topics",
		Description: `  klogfs topic create --mount /mnt/log --topic orders --partitions 3
  klogfs topic create --log-dirs data --topic audit --config segment.bytes=1048576
  klogfs topic describe --mount /mnt/log --topic orders`,
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			return usage("topic is followed by create, list, describe or delete")
		},
		Subcommands: []*cli.Command{
			topicSub("create", "make a topic", topicCreate,
				&cli.IntFlag{Name: "partitions", Usage: "how many partitions; num.partitions when it is left out"},
				&cli.StringSliceFlag{Name: "config", Usage: "a topic configuration, as in segment.bytes=1048576; may be repeated"}),
			topicSub("list", "print the names of all topics", topicList),
			topicSub("describe", "print what topics are", topicDescribe),
			topicSub("delete", "delete a topic and its records", topicDelete),
		},
	}
}

func topicSub(name, about string, action func(*cli.Context, topicStore) error, flags ...cli.Flag) *cli.Command {
	flags = append(flags,
		&cli.StringFlag{Name: "log-dirs", Usage: "the store's `DIRS`, when it is not mounted"},
		&cli.StringFlag{Name: "mount", Usage: "the store's `MOUNTPOINT`"})
	if name != "list" {
		flags = append(flags, &cli.StringFlag{Name: "topic", Usage: "the topic's `NAME`"})
	}
	return &cli.Command{
		Name: name, Usage: about, Flags: flags, OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usage("topic %s takes no argument %q", name, c.Args().First())
			}
			if c.String("topic") == "" && (name == "create" || name == "delete") {
				return usage("topic %s needs --topic", name)
			}
			return withTopics(c, func(s topicStore) error { return action(c, s) })
		},
	}
}

// topicStore is where topics are: a store that we open, or a running mount.
type topicStore interface {
	create(name string, partitions int32, config map[string]string) error
	list() ([]logstore.Topic, error)
	remove(name string) error
}

func withTopics(c *cli.Context, action func(topicStore) error) error {
	dirs, mount := c.String("log-dirs"), c.String("mount")
	switch {
	case (dirs == "") == (mount == ""):
		return usage("give --log-dirs or --mount")
	case mount != "":
		return action(mountedTopics{mount})
	}
	log, err := newLogger(c.App.ErrWriter, "warn", "text")
	if err != nil {
		return err
	}
	for _, dir := range splitDirs(dirs) {
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("open log directory: %w", err)
		}
	}
	reads := c.Command.Name == "list" || c.Command.Name == "describe"
	store, err := logstore.Open(splitDirs(dirs), logstore.Options{Log: log, ReadOnly: reads})
	if err != nil {
		return hintMount(err)
	}
	return errors.Join(action(openTopics{store}), store.Close())
}

func hintMount(err error) error {
	if errors.Is(err, logstore.ErrLocked) {
		return fmt.Errorf("%w: when it is mounted, use --mount MOUNTPOINT", err)
	}
	return hint(err)
}

func topicCreate(c *cli.Context, s topicStore) error {
	config, err := keyValues(c.StringSlice("config"), "--config")
	if err != nil {
		return err
	}
	partitions := c.Int("partitions")
	if c.IsSet("partitions") && (partitions < 1 || partitions > math.MaxInt32) {
		return usage("--partitions is below 1")
	}
	if err := s.create(c.String("topic"), int32(partitions), config); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "Created topic %s.\n", c.String("topic"))
	return nil
}

func topicList(c *cli.Context, s topicStore) error {
	topics, err := s.list()
	if err != nil {
		return err
	}
	for _, t := range topics {
		fmt.Fprintln(c.App.Writer, t.Name)
	}
	return nil
}

func topicDescribe(c *cli.Context, s topicStore) error {
	topics, err := s.list()
	if err != nil {
		return err
	}
	found := false
	for _, t := range topics {
		if name := c.String("topic"); name == "" || name == t.Name {
			describeTopic(c.App.Writer, t)
			found = true
		}
	}
	if name := c.String("topic"); name != "" && !found {
		return fmt.Errorf("describe %s: %w", name, logstore.ErrUnknownTopic)
	}
	return nil
}

func describeTopic(w io.Writer, t logstore.Topic) {
	var configs []string
	for key, value := range t.Config {
		configs = append(configs, key+"="+value)
	}
	sort.Strings(configs)
	fmt.Fprintf(w, "Topic: %s\tTopicId: %s\tPartitionCount: %d\tConfigs: %s\n",
		t.Name, t.ID, len(t.Partitions), strings.Join(configs, ","))
	for _, p := range t.Partitions {
		fmt.Fprintf(w, "\tTopic: %s\tPartition: %d\n", t.Name, p)
	}
}

func topicDelete(c *cli.Context, s topicStore) error {
	if err := s.remove(c.String("topic")); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "Deleted topic %s.\n", c.String("topic"))
	return nil
}

// openTopics are the topics of a store that we have open.
type openTopics struct{ store *logstore.Store }

func (s openTopics) create(name string, partitions int32, config map[string]string) error {
	return s.store.CreateTopic(name, partitions, config)
}
func (s openTopics) list() ([]logstore.Topic, error) { return s.store.Topics(), nil }
func (s openTopics) remove(name string) error        { return s.store.DeleteTopic(name) }
