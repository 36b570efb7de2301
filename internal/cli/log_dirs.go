package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"klogfs/logstore"
)

func logDirsCommand() *cli.Command {
	return &cli.Command{
		Name:  "log-dirs",
		Usage: "describe log directories as kafka-log-dirs.sh does",
		Description: `  klogfs log-dirs --describe --log-dirs /var/lib/kafka/data
  klogfs log-dirs --describe --mount /mnt/log --topic-list orders,audit | jq .`,
		OnUsageError: usageError,
		Action:       logDirsAction,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "describe", Usage: "print the sizes of all partitions, as JSON"},
			&cli.StringFlag{Name: "topic-list", Usage: "the `TOPICS` to describe, with commas between them; all when it is left out"},
			&cli.StringFlag{Name: "log-dirs", Usage: "the `DIRS`"},
			&cli.StringFlag{Name: "mount", Usage: "the `MOUNTPOINT` that they are mounted on"},
		},
	}
}

// The JSON of kafka-log-dirs.sh (org.apache.kafka.tools.LogDirsCommand).
type logDirsReport struct {
	Brokers []brokerReport `json:"brokers"`
	Version int            `json:"version"`
}

type brokerReport struct {
	Broker  int            `json:"broker"`
	LogDirs []logDirReport `json:"logDirs"`
}

type logDirReport struct {
	Partitions []partitionReport `json:"partitions"`
	Error      *string           `json:"error"`
	LogDir     string            `json:"logDir"`
}

type partitionReport struct {
	Partition string `json:"partition"`
	Size      int64  `json:"size"`
	OffsetLag int64  `json:"offsetLag"`
	IsFuture  bool   `json:"isFuture"`
}

func logDirsAction(c *cli.Context) error {
	dirs, mount := c.String("log-dirs"), c.String("mount")
	switch {
	case c.NArg() > 0:
		return usage("log-dirs takes no argument %q", c.Args().First())
	case !c.Bool("describe"):
		return usage("log-dirs needs --describe")
	case (dirs == "") == (mount == ""):
		return usage("give --log-dirs or --mount")
	}
	wanted := topicFilter(c.String("topic-list"))
	var report *logDirsReport
	var err error
	if mount != "" {
		report, err = mountedLogDirs(mount, wanted)
	} else {
		report, err = openLogDirs(splitDirs(dirs), wanted)
	}
	if err != nil {
		return hint(err)
	}
	return json.NewEncoder(c.App.Writer).Encode(report)
}

// topicFilter says which topics are wanted. The cluster's own log is none, as
// for Kafka's tool.
func topicFilter(list string) func(string) bool {
	names := map[string]bool{}
	for _, name := range splitDirs(list) {
		names[name] = true
	}
	return func(topic string) bool {
		return topic != "__cluster_metadata" && (len(names) == 0 || names[topic])
	}
}

// openLogDirs describes directories that we open, to read only.
func openLogDirs(dirs []string, wanted func(string) bool) (*logDirsReport, error) {
	store, err := logstore.Open(dirs, logstore.Options{Log: slog.New(slog.DiscardHandler), ReadOnly: true})
	if err != nil {
		return nil, err
	}
	report := newReport(store.NodeID(), store.LogDirs())
	for _, p := range store.Partitions() {
		if wanted(p.TopicPartition().Topic) {
			report.add(p.LogDir(), p.Name(), p.Bytes())
		}
	}
	return report, store.Close()
}

// mountedLogDirs describes directories by the files of their mount.
func mountedLogDirs(mount string, wanted func(string) bool) (*logDirsReport, error) {
	var root struct {
		NodeID  int      `json:"nodeId"`
		LogDirs []string `json:"logDirs"`
	}
	if err := readJSON(filepath.Join(mount, "status.json"), &root); err != nil {
		return nil, fmt.Errorf("%s is no mount of klogfs: %w", mount, err)
	}
	entries, err := os.ReadDir(mount)
	if err != nil {
		return nil, err
	}
	report := newReport(root.NodeID, root.LogDirs)
	for _, e := range entries {
		tp, err := logstore.ParseTopicPartition(e.Name())
		if err != nil || !wanted(tp.Topic) {
			continue
		}
		var p struct {
			LogDir string `json:"logDir"`
			Bytes  int64  `json:"bytes"`
		}
		err = readJSON(filepath.Join(mount, e.Name(), "status.json"), &p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		report.add(p.LogDir, e.Name(), p.Bytes)
	}
	return report, nil
}

func readJSON(name string, v any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

func newReport(node int, dirs []string) *logDirsReport {
	b := brokerReport{Broker: node}
	for _, dir := range dirs {
		b.LogDirs = append(b.LogDirs, logDirReport{LogDir: strings.TrimSuffix(dir, "/"), Partitions: []partitionReport{}})
	}
	return &logDirsReport{Brokers: []brokerReport{b}, Version: 1}
}

func (r *logDirsReport) add(dir, partition string, size int64) {
	for i := range r.Brokers[0].LogDirs {
		if d := &r.Brokers[0].LogDirs[i]; d.LogDir == dir {
			d.Partitions = append(d.Partitions, partitionReport{Partition: partition, Size: size})
		}
	}
}
