package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"klogfs/internal/disk"
)

// Names of the checkpoint files at the root of a log directory.
const (
	recoveryPointFile = "recovery-point-offset-checkpoint"
	logStartFile      = "log-start-offset-checkpoint"
	epochFile         = "leader-epoch-checkpoint"
	cleanShutdownFile = ".kafka_cleanshutdown"
)

// errCheckpoint is returned when a checkpoint file is not in Kafka's format
// (org.apache.kafka.server.common.CheckpointFile): a line "0", a line with the
// number of entries, and an entry a line.
var errCheckpoint = errors.New("malformed checkpoint")

// errNotFile is returned for what is found where a small file should be.
var errNotFile = errors.New("not a regular file of the expected size")

// parseCheckpoint returns the fields of each entry of a checkpoint file.
func parseCheckpoint(file []byte, fields int) ([][]string, error) {
	lines := strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
	if len(lines) < 2 || lines[0] != "0" {
		return nil, fmt.Errorf("version is not 0: %w", errCheckpoint)
	}
	count, err := strconv.Atoi(lines[1])
	if err != nil || count != len(lines)-2 {
		return nil, fmt.Errorf("%d entries do not match the count %q: %w", len(lines)-2, lines[1], errCheckpoint)
	}
	entries := make([][]string, 0, count)
	for i, line := range lines[2:] {
		entry := strings.Fields(line)
		if len(entry) != fields {
			return nil, fmt.Errorf("entry %d has %d fields, not %d: %w", i, len(entry), fields, errCheckpoint)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// appendCheckpoint encodes entries as a checkpoint file.
func appendCheckpoint(dst []byte, entries []string) []byte {
	dst = fmt.Appendf(dst, "0\n%d\n", len(entries))
	for _, e := range entries {
		dst = append(append(dst, e...), '\n')
	}
	return dst
}

// parseOffsets decodes a checkpoint of offsets by topic-partition.
func parseOffsets(file []byte) (map[TopicPartition]int64, error) {
	entries, err := parseCheckpoint(file, 3)
	if err != nil {
		return nil, err
	}
	offsets := make(map[TopicPartition]int64, len(entries))
	for _, e := range entries {
		partition, err1 := strconv.ParseInt(e[1], 10, 32)
		offset, err2 := strconv.ParseInt(e[2], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
		}
		offsets[TopicPartition{e[0], int32(partition)}] = offset
	}
	return offsets, nil
}

// appendOffsets encodes a checkpoint of offsets, sorted by name.
func appendOffsets(dst []byte, offsets map[TopicPartition]int64) []byte {
	entries := make([]string, 0, len(offsets))
	for tp, offset := range offsets {
		entries = append(entries, fmt.Sprintf("%s %d %d", tp.Topic, tp.Partition, offset))
	}
	sort.Strings(entries)
	return appendCheckpoint(dst, entries)
}

// epochEntry says at which offset a leader epoch began.
type epochEntry struct {
	epoch  int32
	offset int64
}

func parseEpochs(file []byte) ([]epochEntry, error) {
	entries, err := parseCheckpoint(file, 2)
	if err != nil {
		return nil, err
	}
	epochs := make([]epochEntry, 0, len(entries))
	for _, e := range entries {
		epoch, err1 := strconv.ParseInt(e[0], 10, 32)
		offset, err2 := strconv.ParseInt(e[1], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("%w: %w", errCheckpoint, err)
		}
		if n := len(epochs); n > 0 && (epochs[n-1].epoch >= int32(epoch) || epochs[n-1].offset >= offset) {
			return nil, fmt.Errorf("epochs do not rise: %w", errCheckpoint)
		}
		epochs = append(epochs, epochEntry{int32(epoch), offset})
	}
	return epochs, nil
}

func appendEpochs(dst []byte, epochs []epochEntry) []byte {
	entries := make([]string, 0, len(epochs))
	for _, e := range epochs {
		entries = append(entries, fmt.Sprintf("%d %d", e.epoch, e.offset))
	}
	return appendCheckpoint(dst, entries)
}

// mostRead is how large a file may be that is read as a whole, in bytes.
const mostRead = 64 << 20

// readFile reads a whole small file.
func readFile(d disk.FS, name string) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.Kind != disk.KindFile || info.Size > mostRead {
		return nil, errors.Join(fmt.Errorf("%s of %d bytes is no small file: %w", name, info.Size, errNotFile), f.Close())
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size))
	return b, errors.Join(err, f.Close())
}

// replaceFile makes content the whole of a file, in one step even when power
// fails: a file beside it is written and synced, then takes its name.
func replaceFile(d disk.FS, name string, content []byte) error {
	old, err := readFile(d, name)
	if err == nil && bytes.Equal(old, content) {
		return nil
	}
	tmp := name + ".tmp"
	f, err := d.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if err == nil {
		err = f.Truncate(int64(len(content)))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, d.Remove(tmp))
	}
	if err := d.Rename(tmp, name); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(name))
}
