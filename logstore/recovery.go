package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"

	"klogfs/batch"
	"klogfs/index"
	"klogfs/internal/disk"
)

// open reads what there is of a partition. In a log of ours, what a crash left
// behind the last whole batch is cut off.
func (p *Partition) open(d *logDir) error {
	bases, err := p.listSegments()
	if err == nil && p.own && hasSwaps(bases) {
		err = p.completeSwaps(bases)
	}
	if err != nil {
		return err
	}
	if len(bases) == 0 && p.own {
		if err := p.create(p.topicID()); err != nil {
			return err
		}
		return p.loadEpochs()
	}
	segs := p.openSegments(bases)
	p.segs.Store(&segs)
	if p.own {
		err = p.recover(d)
	} else if len(segs) > 0 {
		_, err = p.openTail(segs[len(segs)-1], true, p.durable())
	}
	if err != nil {
		return err
	}
	p.setEnds(d.hints().logStarts[p.tp])
	return p.loadEpochs()
}

// durable is the offset up to which the checkpoint says that the log is safe on
// disk.
func (p *Partition) durable() int64 { return p.logDir.hints().recoveryPoints[p.tp] }

// openSegments makes segments of files. All but the last are sealed and taken
// as they are.
func (p *Partition) openSegments(infos []segmentInfo) []*segment {
	segs := make([]*segment, len(infos))
	for i, info := range infos {
		s := newSegment(p, info, p.own)
		segs[i] = s
		if i+1 < len(infos) {
			s.next.Store(infos[i+1].base)
			s.size.Store(info.info.Size)
			s.sealed.Store(true)
		}
	}
	return segs
}

// setEnds sets where the log starts and ends by its segments. start is the
// checkpoint's log start.
func (p *Partition) setEnds(start int64) {
	segs := p.segments()
	if len(segs) == 0 {
		return
	}
	end := segs[len(segs)-1].next.Load()
	p.end.Store(end)
	p.logStart.Store(min(max(start, segs[0].base), end))
}

// recover brings a log of ours to where it can be appended to. The checkpoints
// are hints: a segment above the recovery point is read and its indexes are
// made anew, unless the last stop was a clean one; the last segment's tail is
// checked in any case.
func (p *Partition) recover(d *logDir) error {
	segs := p.segments()
	known := d.hints().recoveryPoints[p.tp]
	point := known
	if d.clean {
		point = math.MaxInt64
	}
	for i, s := range segs {
		last := i == len(segs)-1
		if !last && s.next.Load() <= point {
			continue
		}
		nextBase := int64(-1)
		if !last {
			nextBase = segs[i+1].base
		}
		cut, err := p.recoverSegment(s, nextBase, !d.clean)
		if err != nil {
			return err
		}
		if cut && !last {
			if err := p.dropAfter(i); err != nil {
				return err
			}
			segs = p.segments()
			break
		}
	}
	// What was recovered may have been in the page cache only.
	p.recoveryPoint.Store(min(known, segs[len(segs)-1].next.Load()))
	return nil
}

// recoverSegment checks a segment of ours, from its start or its last index
// entry on, and cuts off what is no whole batch. It reports whether it did.
// nextBase is the base offset of the next segment, −1 for the last one.
func (p *Partition) recoverSegment(s *segment, nextBase int64, whole bool) (bool, error) {
	last := nextBase < 0
	durable := p.durable()
	stop, err := p.openTail(s, !whole, durable)
	if err != nil {
		return false, err
	}
	info, err := p.disk.Stat(s.path(suffixLog))
	if err != nil {
		return false, err
	}
	cut := info.Size > s.size.Load()
	if cut && stop == batch.Damaged && s.next.Load() < durable {
		// What was durable is not a tail to be cut off.
		cause := s.corrupt(s.size.Load(), batch.ErrMagic)
		p.countCorruption(cause)
		p.setOffline(fmt.Errorf("damaged below the recovery point %d, nothing was changed: %w", durable, cause))
		if !last {
			s.sealAs(info.Size, nextBase)
		}
		return false, nil
	}
	if cut {
		if err := p.cutTail(s, info.Size); err != nil {
			return false, err
		}
	}
	if err := s.truncateIndexes(); err != nil {
		return cut, err
	}
	if !last && !cut {
		if err := s.finishIndexes(); err != nil {
			return cut, err
		}
		s.seal()
	}
	return cut, nil
}

// dropAfter takes the segments behind a cut one out of the log. Their files
// stay under another name: they are above the recovery point, and nobody was
// promised them, but they are not ours to destroy.
func (p *Partition) dropAfter(i int) error {
	segs := p.segments()
	for _, s := range segs[i+1:] {
		if err := s.retire(); err != nil {
			return err
		}
		name := s.path(suffixLog)
		aside := p.unused(name + ".unreachable")
		if err := p.disk.Rename(name, aside); err != nil {
			return err
		}
		if err := s.removeFiles(p.disk); err != nil {
			return err
		}
		p.log.Warn("segment is behind a damaged one, set aside", slog.Int64("segment", s.base), slog.String("file", aside))
	}
	kept := segs[: i+1 : i+1]
	p.segs.Store(&kept)
	return p.disk.SyncDir(p.dir)
}

// cutTail cuts the log off after its last whole batch. What is cut is kept in
// a file beside it, unless it is zeros.
func (p *Partition) cutTail(s *segment, size int64) error {
	f, err := s.log.acquire()
	if err != nil {
		return err
	}
	defer s.log.release()
	at := s.size.Load()
	kept, err := p.keepTail(s, f, at, size)
	if err != nil {
		return fmt.Errorf("keep the tail of %s: %w", s.path(suffixLog), err)
	}
	if err := f.Truncate(at); err != nil {
		return err
	}
	if kept != "" {
		p.log.Warn("torn tail cut off", slog.Int64("segment", s.base), slog.Int64("position", at),
			slog.Int64("bytes", size-at), slog.String("kept", kept))
	}
	return nil
}

// keepTail copies the bytes from at to size into a file of their own; "" when
// they are all zeros.
func (p *Partition) keepTail(s *segment, f disk.File, at, size int64) (string, error) {
	const piece = 1 << 20
	var out disk.File
	name := ""
	b := make([]byte, piece)
	for pos := at; pos < size; {
		n, err := f.ReadAt(b[:min(piece, size-pos)], pos)
		if n == 0 {
			return "", closeAfter(out, err)
		}
		if out == nil && !zeros(b[:n]) {
			name = p.unused(fmt.Sprintf("%s.cut-%d", s.path(suffixLog), at))
			if out, err = p.disk.Create(name); err != nil {
				return "", err
			}
		}
		if out != nil {
			if _, err := out.WriteAt(b[:n], pos-at); err != nil {
				return "", closeAfter(out, err)
			}
		}
		pos += int64(n)
	}
	if out == nil {
		return "", nil
	}
	return name, closeAfter(out, out.Sync())
}

func closeAfter(f disk.File, err error) error {
	if f == nil {
		return err
	}
	return errors.Join(err, f.Close())
}

// unused is a name that no file has yet: what was set aside before is not
// ours to destroy.
func (p *Partition) unused(name string) string {
	for i, candidate := 1, name; ; i++ {
		if _, err := p.disk.Stat(candidate); err != nil {
			return candidate
		}
		candidate = fmt.Sprintf("%s.%d", name, i)
	}
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// openTail finds where a growing segment ends and makes its indexes ready to
// go on. With trust it begins at the last index entry that the log confirms,
// else at the segment's start. Each batch that it passes is checked whole. It
// returns why it found no further one.
func (p *Partition) openTail(s *segment, trust bool, durable int64) (batch.StopReason, error) {
	info, err := p.disk.Stat(s.path(suffixLog))
	if err != nil {
		return batch.Unreadable, err
	}
	s.size.Store(info.Size) // for header(), until the end is known
	b, pos := index.NewBuilder(s.base, p.indexInterval()), int64(0)
	if trust {
		if b, pos, err = s.resumeIndexes(b); err != nil {
			return batch.Unreadable, err
		}
	}
	// Everything from here on is to be found anew.
	s.size.Store(pos)
	s.next.Store(s.base)
	s.sealed.Store(false)
	s.startBuilder(b, 0)
	return s.extend(info.Size, durable)
}

// resumeIndexes goes on from the entries of the index files, as far as the log
// confirms the last of them. It returns the position to read on from.
func (s *segment) resumeIndexes(fresh *index.Builder) (*index.Builder, int64, error) {
	offsets, times, err := s.readIndexes()
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, 0, nil
	}
	if err != nil {
		s.p.log.Warn("index is unreadable, it is made again", slog.Int64("segment", s.base), slog.Any("cause", err))
		return fresh, 0, nil
	}
	n := offsets.Len()
	if n == 0 || !s.confirm(offsets.At(n-1)) {
		return fresh, 0, nil
	}
	last := offsets.At(n - 1)
	// The time entries up to there; a closing one of a former stop comes back
	// with the batches that are read again.
	t := times.Len()
	for t > 0 && times.At(t-1).RelativeOffset > last.RelativeOffset {
		t--
	}
	if t == 0 {
		return fresh, 0, nil
	}
	e := times.At(t - 1)
	w, found, err := s.walkToTime(&segmentIndexes{offsets, times, e.Timestamp, s.base + int64(e.RelativeOffset)})
	if err != nil || !found {
		return fresh, 0, err
	}
	w.close()
	b := index.Resume(s.base, s.p.indexInterval(), offsets, times[:t*index.TimeEntrySize],
		e.Timestamp, s.base+int64(e.RelativeOffset))
	return b, int64(last.Position), nil
}

// extend publishes the whole batches from the published end on, up to end. It
// stops before the first that is not there yet or not right, and returns why.
// durable is the offset up to which batches were safe on disk once: damage
// below is not the end of the log but a failing disk. In a log that another
// process writes it is that, too, when a right batch follows.
func (s *segment) extend(end, durable int64) (batch.StopReason, error) {
	passing := durable
	if !s.p.own {
		passing = math.MaxInt64
	}
	from := s.size.Load()
	w := s.walkTo(from, end, passing)
	defer w.close()
	w.nextOffset = max(s.next.Load(), s.base)
	next, pos := s.next.Load(), from
	defer func() {
		s.next.Store(next)
		s.size.Store(pos)
	}()
	for w.next() {
		if w.err == nil {
			if err := s.verify(w, end, durable); err != nil {
				return batch.Unreadable, err
			}
		}
		if w.err != nil {
			if w.stop == end {
				return w.stopped(), nil
			}
			s.p.countCorruption(w.err)
			continue
		}
		s.mu.Lock()
		s.builder.Resumed(w.header.LastOffset(), w.header.MaxTimestamp, w.pos, w.header.Size())
		s.mu.Unlock()
		next, pos = max(next, w.header.NextOffset()), w.stop
		s.last = lastBatch{w.pos, w.header}
	}
	if w.ioErr != nil {
		return batch.Unreadable, w.ioErr
	}
	return w.sc.Stop(), nil
}

// verify checks the batch of a walk's step. One with a wrong checksum is
// damage, unless it was durable and ends the log: then it keeps its offsets.
func (s *segment) verify(w *walker, end, durable int64) error {
	right, err := w.right()
	if err != nil || right {
		return err
	}
	if w.header.NextOffset() <= durable && w.stop == end {
		s.p.countCorruption(s.corrupt(w.pos, batch.ErrCRC))
	} else {
		w.spoil()
	}
	return w.ioErr
}

// truncateIndexes makes the index files those of the builder.
func (s *segment) truncateIndexes() error {
	for _, suffix := range []string{suffixOffset, suffixTime} {
		f, err := s.p.disk.Create(s.path(suffix))
		if err != nil {
			return err
		}
		if err := errors.Join(f.Truncate(0), f.Close()); err != nil {
			return err
		}
	}
	s.offsetsWritten, s.timesWritten = 0, 0
	return s.writeIndexes()
}

// loadEpochs reads the leader epoch checkpoint. It is a hint too: where it is
// missing or garbled, or disagrees with the log's end, the log's batches tell.
func (p *Partition) loadEpochs() error {
	file, err := readFile(p.disk, p.path(epochFile))
	if err == nil {
		p.epochs, err = parseEpochs(file)
	}
	for len(p.epochs) > 0 && p.epochs[len(p.epochs)-1].offset > p.end.Load() {
		p.epochs = p.epochs[:len(p.epochs)-1]
	}
	if err == nil && (len(p.epochs) > 0 || p.end.Load() == p.LogStartOffset()) {
		return nil
	}
	if p.end.Load() == p.LogStartOffset() {
		p.epochs = nil
		return nil
	}
	level := slog.LevelWarn
	if !p.own && errors.Is(err, fs.ErrNotExist) {
		level = slog.LevelDebug // older brokers have none
	}
	p.log.Log(context.Background(), level, "leader epoch checkpoint made again from the log", slog.Any("cause", err))
	if p.epochs, err = p.scanEpochs(); err != nil || !p.own {
		return err
	}
	return p.writeEpochs()
}

// scanEpochs finds the leader epochs in the batches.
func (p *Partition) scanEpochs() ([]epochEntry, error) {
	var epochs []epochEntry
	for _, s := range p.segments() {
		w := s.walk(0)
		for w.next() {
			n := len(epochs)
			epoch := w.header.PartitionLeaderEpoch
			if w.err == nil && epoch >= 0 && (n == 0 || epoch > epochs[n-1].epoch) {
				epochs = append(epochs, epochEntry{epoch, w.header.BaseOffset})
			}
		}
		err := w.ioErr
		w.close()
		if err != nil {
			return nil, err
		}
	}
	return epochs, nil
}
