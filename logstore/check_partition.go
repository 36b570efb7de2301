package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"klogfs/batch"
	"klogfs/index"
	"klogfs/internal/disk"
)

// note sends a finding about a file of a partition's directory that is of no
// segment.
func (c *checker) note(p *Partition, file, problem, recovery string, damage bool) {
	c.found <- Finding{
		LogDir: p.logDir.path, TopicPartition: p.Name(), File: file, Segment: -1, Position: -1,
		Problem: problem, Recovery: recovery, Damage: damage,
	}
}

// checkPartition checks what a partition's directory has beside its segments.
func (c *checker) checkPartition(ctx context.Context, p *Partition) error {
	if cause := p.offline.Load(); cause != nil {
		c.note(p, ".", (*cause).Error(), "the partition is offline", true)
		return nil
	}
	infos, err := p.disk.List(p.dir)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, info := range infos {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.checkFile(p, info); err != nil {
			return err
		}
	}
	if len(p.segments()) == 0 {
		c.note(p, ".", "it has no segment", "the log begins anew", false)
	}
	return c.checkHints(p)
}

// checkFile checks a file by its name.
func (c *checker) checkFile(p *Partition, info disk.Info) error {
	_, suffix, ok := parseSegmentFile(info.Name)
	switch {
	case info.Kind != disk.KindFile:
		c.note(p, info.Name, "not a regular file", recoverNothing, false)
	case info.Name == partitionMetadataFile:
		if p.topicID() == "" {
			c.note(p, info.Name, "it names no topic_id", recoverHint, true)
		}
	case info.Name == epochFile:
		return c.checkEpochs(p)
	case !ok:
		// A Raft log has snapshots, and the state of its quorum.
		if !strings.HasSuffix(info.Name, ".checkpoint") && info.Name != "quorum-state" {
			c.note(p, info.Name, "not a file of a log", recoverNothing, false)
		}
	case suffix == suffixTxn:
		return c.checkTxnIndex(p, info.Name)
	case suffix == suffixProducers:
		c.checkSnapshot(p, info.Name)
	case strings.HasSuffix(suffix, suffixCleaned):
		c.note(p, info.Name, "left by a cleaning that did not end", "it is removed", false)
	case strings.HasSuffix(suffix, suffixSwap):
		c.note(p, info.Name, "left by a cleaning that did not end", "if it is whole, it takes its place", false)
	case strings.HasSuffix(suffix, suffixDeleted):
		c.note(p, info.Name, "a deleted segment", "it is removed", false)
	case strings.Contains(suffix, ".cut-"), strings.Contains(suffix, ".unreachable"):
		c.note(p, info.Name, "what a recovery cut off, and kept", recoverNothing, false)
	}
	return nil
}

// checkSnapshot checks a snapshot of the producers' state.
func (c *checker) checkSnapshot(p *Partition, name string) {
	file, err := readFile(p.disk, p.path(name))
	if err == nil {
		_, err = index.ParseProducers(file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.note(p, name, err.Error(), recoverByReplay, true)
	}
}

// checkTxnIndex holds a transaction index against the markers in the log.
func (c *checker) checkTxnIndex(p *Partition, name string) error {
	file, err := readFile(p.disk, p.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		c.note(p, name, err.Error(), recoverIndex, true)
		return nil
	}
	if err := p.txns.refresh(); err != nil {
		return err
	}
	for at := 0; at < len(file); at += index.AbortedTxnSize {
		e, err := index.ParseAbortedTxn(file[at:])
		if err == nil && !p.txns.has(e.ProducerID, e.LastOffset) && e.LastOffset >= p.LogStartOffset() {
			err = fmt.Errorf("the log has no aborted transaction of producer %d that ends at offset %d", e.ProducerID, e.LastOffset)
		}
		if err != nil {
			base, _, _ := parseSegmentFile(name)
			c.found <- Finding{
				LogDir: p.logDir.path, TopicPartition: p.Name(), File: name, Segment: base, Position: int64(at),
				Problem: fmt.Sprintf("entry %d: %v", at/index.AbortedTxnSize, err), Recovery: recoverIndex, Damage: true,
			}
			return nil
		}
	}
	return nil
}

// has reports whether a transaction of a producer was aborted at an offset.
func (t *transactions) has(producer, last int64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, txn := range t.aborted[producer] {
		if txn.last == last {
			return true
		}
	}
	return false
}

// checkEpochs holds the leader epoch checkpoint against the batches. One without
// entries says nothing, and is no damage.
func (c *checker) checkEpochs(p *Partition) error {
	file, err := readFile(p.disk, p.path(epochFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var epochs []epochEntry
	if err == nil {
		epochs, err = parseEpochs(file)
	}
	if err != nil {
		c.note(p, epochFile, err.Error(), recoverHint, true)
		return nil
	}
	if len(epochs) == 0 {
		return nil
	}
	wrong, err := p.wrongEpoch(epochs)
	if err == nil && wrong != "" {
		c.note(p, epochFile, wrong, recoverHint, true)
	}
	return err
}

// wrongEpoch is the first contradiction between the epochs of the checkpoint
// and those of the batches, "" when there is none.
func (p *Partition) wrongEpoch(epochs []epochEntry) (string, error) {
	for _, s := range p.segments() {
		w := s.walkTo(0, s.size.Load(), math.MaxInt64)
		for w.next() {
			// Of a batch that the log starts in, the file knows the rest only.
			epoch, offset := w.header.PartitionLeaderEpoch, max(w.header.BaseOffset, p.LogStartOffset())
			if w.err != nil || w.header.Magic < batch.Magic || epoch < 0 || w.header.LastOffset() < p.LogStartOffset() {
				continue
			}
			if at := epochAt(epochs, offset); at != epoch {
				w.close()
				return fmt.Sprintf("offset %d is of epoch %d by the file, its batch has epoch %d", offset, at, epoch), nil
			}
		}
		err := w.ioErr
		w.close()
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// epochAt is the epoch of an offset, −1 below the first.
func epochAt(epochs []epochEntry, offset int64) int32 {
	epoch := int32(-1)
	for _, e := range epochs {
		if e.offset <= offset {
			epoch = e.epoch
		}
	}
	return epoch
}

// checkHints holds what the checkpoints of the log directory say of the
// partition against its log.
func (c *checker) checkHints(p *Partition) error {
	hints := p.logDir.hints()
	if err := p.refresh(); err != nil { // they may be newer than what was read of the log
		return err
	}
	for _, hint := range []struct {
		file string
		at   map[TopicPartition]int64
	}{{recoveryPointFile, hints.recoveryPoints}, {logStartFile, hints.logStarts}} {
		if at, ok := hint.at[p.tp]; ok && at > p.EndOffset() {
			c.note(p, filepath.Join("..", hint.file), fmt.Sprintf("it has offset %d, the log ends at %d: what was between is gone", at, p.EndOffset()),
				"the log goes on at its end", true)
		}
	}
	return nil
}

// checkDir checks the files at the root of a log directory.
func (c *checker) checkDir(d *logDir) error {
	infos, err := c.store.opts.Disk.List(d.path)
	if err != nil {
		return err
	}
	for _, info := range infos {
		problem, recovery, damage := c.rootProblem(d, info)
		if problem != "" {
			c.found <- Finding{
				LogDir: d.path, File: info.Name, Segment: -1, Position: -1, Problem: problem, Recovery: recovery, Damage: damage,
			}
		}
	}
	return nil
}

// rootProblem is what is wrong with an entry of a log directory, "" for nothing.
func (c *checker) rootProblem(d *logDir, info disk.Info) (problem, recovery string, damage bool) {
	_, err := ParseTopicPartition(info.Name)
	checkpoint := strings.HasSuffix(info.Name, "-checkpoint")
	switch {
	case info.Kind == disk.KindDir && err == nil:
		return "", "", false
	case info.Kind == disk.KindDir && isDoomed(info.Name):
		return "a deleted partition", "it is removed", false
	case info.Kind != disk.KindFile:
		return "not a topic-partition", recoverNothing, false
	case !checkpoint && info.Name != markerFile && info.Name != metaPropertiesFile:
		return "", "", false
	}
	recovery = "the directory can't be opened"
	file, err := readFile(c.store.opts.Disk, filepath.Join(d.path, info.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", false
	case err != nil:
	case checkpoint:
		_, err = parseOffsets(file)
		recovery = recoverHint
	case info.Name == markerFile:
		_, err = parseMarker(file)
	case property(file, "version=") == "":
		err = errors.New("it has no version")
	}
	if err != nil {
		return err.Error(), recovery, true
	}
	return "", "", false
}
