package logstore

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"klogfs/batch"
	"klogfs/index"
)

// preparedBatch is a record batch that is ready but for its offsets.
type preparedBatch struct {
	size    int   // bytes in the log
	text    int64 // bytes of its values as text
	records int64
}

// appendBatches appends record batches that lie one after the other in data.
// Offsets, the leader epoch and, for LogAppendTime, the time are set in data.
// It returns how many batches were appended: all, or with an error those that
// went into a segment before the one that failed.
func (p *Partition) appendBatches(data []byte, batches []preparedBatch, now int64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.writable(); err != nil {
		return 0, err
	}
	done := 0
	for done < len(batches) {
		n, size := p.fit(batches[done:])
		if n == 0 {
			if err := p.roll(); err != nil {
				return done, err
			}
			continue
		}
		if err := p.write(data[:size], batches[done:done+n], now); err != nil {
			return done, err
		}
		data = data[size:]
		done += n
	}
	p.flushSoon()
	return done, p.flushMessages()
}

// flushSoon has the records that were just appended made durable within
// flush.ms.
func (p *Partition) flushSoon() {
	ms := p.config.Load().FlushMs
	if ms > math.MaxInt64/int64(time.Millisecond) || p.flushing {
		return
	}
	p.flushing = true
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
		p.mu.Lock()
		p.flushing = false
		p.mu.Unlock()
		if p.store.closed.Load() {
			return // Close sees to it
		}
		if err := p.Sync(); err != nil && !errors.Is(err, ErrDeleted) {
			p.log.Error("flush", slog.Any("cause", err))
		}
	})
}

// fit is how many of the batches, and how many bytes, the active segment
// takes before it is to be rolled (LogSegment.shouldRoll).
func (p *Partition) fit(batches []preparedBatch) (n, size int) {
	s, c := p.active(), p.config.Load()
	used := s.size.Load()
	if used > 0 && s.builder.Full(int(c.SegmentIndexBytes)) {
		return 0, 0
	}
	room := int(c.SegmentIndexBytes)/index.TimeEntrySize - 1 - s.builder.Offsets().Len()
	next := p.end.Load()
	for _, b := range batches {
		next += b.records
		over := used+int64(size+b.size) > c.SegmentBytes || next-1-s.base > math.MaxInt32
		if over && used+int64(size) > 0 || n > 0 && n >= room {
			break
		}
		n++
		size += b.size
	}
	return n, size
}

// write appends batches to the active segment with one write, and publishes
// them. On an error the log is as it was.
func (p *Partition) write(data []byte, batches []preparedBatch, now int64) error {
	s := p.active()
	p.assign(data, batches, now)
	f, err := s.log.acquire()
	if err != nil {
		return err
	}
	defer s.log.release()
	pos := s.size.Load()
	if _, err := f.WriteAt(data, pos); err != nil {
		if cut := f.Truncate(pos); cut != nil {
			p.setOffline(fmt.Errorf("cut a failed write off: %w", cut))
		}
		return fmt.Errorf("append to %s: %w", s.path(suffixLog), err)
	}
	if err := p.noteEpoch(p.end.Load()); err != nil {
		p.log.Warn("leader epoch checkpoint not written, it follows from the log", slog.Any("cause", err))
	}
	p.publish(s, data, batches, pos)
	return nil
}

// assign sets what a log's leader decides: offsets, epoch, append time.
func (p *Partition) assign(data []byte, batches []preparedBatch, now int64) {
	appendTime := p.config.Load().TimestampType == batch.LogAppendTime
	offset := p.end.Load()
	for _, b := range batches {
		raw := data[:b.size]
		batch.SetBaseOffset(raw, offset)
		batch.SetPartitionLeaderEpoch(raw, p.leaderEpoch())
		if appendTime {
			batch.SetLogAppendTime(raw, now)
		}
		offset += b.records
		data = data[b.size:]
	}
}

// publish makes batches that are in the file visible.
func (p *Partition) publish(s *segment, data []byte, batches []preparedBatch, pos int64) {
	at, end := pos, p.end.Load()
	s.mu.Lock()
	for _, b := range batches {
		h, _ := batch.ParseHeader(data) // assign wrote it
		s.builder.Add(h.LastOffset(), h.MaxTimestamp, at, b.size)
		at += int64(b.size)
		end = h.NextOffset()
		data = data[b.size:]
		p.unflushed += b.records
	}
	s.mu.Unlock()
	if err := s.writeIndexes(); err != nil {
		p.log.Warn("index is behind, its entries are written later", slog.Int64("segment", s.base), slog.Any("cause", err))
	}
	s.next.Store(end)
	s.size.Store(at)
	p.end.Store(end)
	s.appendedText(pos, batches)
}

func (p *Partition) leaderEpoch() int32 {
	if n := len(p.epochs); n > 0 {
		return p.epochs[n-1].epoch
	}
	return 0
}

// noteEpoch writes the first epoch of a log down when its first record comes.
func (p *Partition) noteEpoch(offset int64) error {
	if len(p.epochs) > 0 {
		return nil
	}
	p.epochs = []epochEntry{{epoch: 0, offset: offset}}
	return p.writeEpochs()
}

// setOffline ends all writing to the partition until it is opened again.
func (p *Partition) setOffline(cause error) {
	p.offline.CompareAndSwap(nil, &cause)
	p.log.Error("partition is offline", slog.Any("cause", cause))
}

func (p *Partition) flushMessages() error {
	if p.unflushed < p.config.Load().FlushMessages {
		return nil
	}
	return p.syncLocked()
}

// Sync makes every record that was appended before the call durable.
// ErrOffline is returned after a sync that failed: what it lost can't be synced
// by another; ErrDeleted when the partition is gone.
func (p *Partition) Sync() error {
	if !p.own {
		return nil
	}
	want := p.end.Load()
	p.syncing.Lock()
	defer p.syncing.Unlock()
	if err := p.usable(); err != nil {
		return err
	}
	if p.recoveryPoint.Load() >= want {
		return nil // another writer's sync took ours along
	}
	return p.syncSegments()
}

// syncLocked is Sync for who holds mu.
func (p *Partition) syncLocked() error {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	if err := p.usable(); err != nil {
		return err
	}
	p.unflushed = 0
	return p.syncSegments()
}

// syncSegments syncs the segments above the recovery point, the oldest first,
// and then moves the point. The caller holds syncing.
func (p *Partition) syncSegments() error {
	end := p.end.Load()
	point := p.recoveryPoint.Load()
	for _, s := range p.segments() {
		if s.next.Load() <= point && s.sealed.Load() {
			continue
		}
		if err := s.sync(); err != nil {
			// What a failed sync lost can't be synced again: the kernel has
			// dropped it. Only a recovery finds out what there is.
			p.setOffline(fmt.Errorf("sync: %w", err))
			return fmt.Errorf("sync %s: %w", s.path(suffixLog), err)
		}
	}
	if point == 0 {
		if err := p.disk.SyncDir(p.dir); err != nil {
			return err
		}
	}
	p.recoveryPoint.Store(end)
	return nil
}

func (s *segment) sync() error {
	f, err := s.log.acquire()
	if errors.Is(err, ErrDeleted) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.log.release()
	return f.Sync()
}
