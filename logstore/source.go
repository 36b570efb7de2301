package logstore

import (
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"klogfs/batch"
)

// listing remembers when a directory that another process writes was listed.
type listing struct {
	modified time.Time
	at       time.Time
}

// settled is how old a directory's last change must be for its time to vouch
// for what was listed: file systems stamp in steps.
const settled = 2 * time.Second

// stale reports whether the directory may have changed since it was listed.
func (l *listing) stale(modified, now time.Time) bool {
	const atMost = 50 * time.Millisecond
	return !modified.Equal(l.modified) || l.at.Sub(modified) <= settled && now.Sub(l.at) >= atMost
}

// done takes note of a listing that was begun at a time and all of which was
// seen to.
func (l *listing) done(modified, begun time.Time) { l.modified, l.at = modified, begun }

// source is how far the log of another process was read.
type source struct {
	mu  sync.Mutex
	dir listing
}

// refresh finds the partitions that came and went in directories that another
// process writes.
func (s *Store) refresh() {
	if s.Writable() || s.closed.Load() {
		return
	}
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	for _, d := range s.dirs {
		if err := s.refreshDir(d); err != nil {
			s.log.Error("log directory can't be listed", slog.String("log-dir", d.path), slog.Any("cause", err))
		}
	}
}

func (s *Store) refreshDir(d *logDir) error {
	info, err := s.opts.Disk.Stat(d.path)
	begun := time.Now()
	if err != nil || !d.listed.stale(info.ModTime, begun) {
		return err
	}
	infos, err := s.opts.Disk.List(d.path)
	if err != nil {
		return err
	}
	if err := s.readCheckpoints(d); err != nil {
		return err
	}
	present, all := map[TopicPartition]bool{}, true
	for _, info := range infos {
		tp, ok := s.partitionOf(d, info)
		if !ok {
			continue
		}
		present[tp] = true
		s.mu.RLock()
		known := s.partitions[tp]
		s.mu.RUnlock()
		if known != nil {
			continue
		}
		if err := s.loadPartition(d, tp); err != nil {
			s.log.Error("partition can't be opened", slog.String("partition", tp.String()), slog.Any("cause", err))
			all = false // it is tried again at the next look
		}
	}
	if all {
		d.listed.done(info.ModTime, begun)
	}
	s.mu.Lock()
	s.nameTopics()
	s.mu.Unlock()
	return s.forget(d, present)
}

// forget drops the partitions of a directory that are not there any more.
func (s *Store) forget(d *logDir, present map[TopicPartition]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for tp, p := range s.partitions {
		if p.logDir == d && !present[tp] {
			delete(s.partitions, tp)
			errs = append(errs, p.drop())
		}
	}
	return errors.Join(errs...)
}

// refresh reads on in a log that another process writes: what it appended,
// rolled and deleted since the last look.
func (p *Partition) refresh() error {
	if p.own || p.gone.Load() || p.store.closed.Load() {
		return nil
	}
	p.source.mu.Lock()
	defer p.source.mu.Unlock()
	err := p.readOn()
	if err != nil {
		if old := p.offline.Swap(&err); old == nil || (*old).Error() != err.Error() {
			p.log.Error("partition can't be read", slog.Any("cause", err))
		}
		return err
	}
	p.offline.Store(nil)
	return nil
}

// readOn is refresh for who holds source.mu. A log that could not be opened is
// tried again.
func (p *Partition) readOn() error {
	if p.offline.Load() != nil {
		if err := p.open(p.logDir); err != nil {
			return err
		}
	}
	if err := p.refreshList(); err != nil {
		return err
	}
	segs := p.segments()
	if len(segs) == 0 {
		return nil
	}
	if err := p.refreshTail(segs[len(segs)-1]); err != nil {
		return ignoreMissing(err)
	}
	p.setEnds(p.logDir.hints().logStarts[p.tp])
	return nil
}

// refreshTail reads on in the segment that grows.
func (p *Partition) refreshTail(s *segment) error {
	info, err := p.disk.Stat(s.path(suffixLog))
	if err != nil {
		return err
	}
	if info.Size < s.size.Load() || info.Inode != s.inode || !s.endsAsBefore() {
		return p.reopen() // cut or replaced, and it may have grown again since
	}
	var head [batch.LeastSize]byte
	if info.Size-s.size.Load() < int64(len(head)) {
		return nil
	}
	if err := s.readFull(head[:], s.size.Load()); err != nil || zeros(head[:]) {
		return err
	}
	// What is not a whole, right batch here is one that is being written.
	_, err = s.extend(info.Size, p.durable())
	return err
}

// refreshList finds new, deleted and replaced segments.
func (p *Partition) refreshList() error {
	info, err := p.disk.Stat(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the store's listing will find out
	}
	begun := time.Now()
	if err != nil || !p.source.dir.stale(info.ModTime, begun) {
		return err
	}
	infos, err := p.listSegments()
	if err != nil {
		return err
	}
	old := p.segments()
	if len(old) == 0 && len(infos) > 0 {
		return p.reopen()
	}
	known := make(map[int64]*segment, len(old))
	for _, s := range old {
		known[s.base] = s
	}
	segs := p.openSegments(infos)
	for i, fresh := range segs {
		s := known[fresh.base]
		if s == nil || s.inode != fresh.inode || s.suffix != fresh.suffix {
			continue // new, or replaced by the cleaner
		}
		delete(known, s.base)
		segs[i] = s
		if fresh.sealed.Load() && !s.sealed.Load() {
			if _, err := s.extend(infos[i].info.Size, p.durable()); err != nil {
				return err
			}
			// What could not be read in it is damage now, not a tail.
			s.sealAs(infos[i].info.Size, fresh.next.Load())
		}
	}
	if err := p.exchange(segs, known); err != nil {
		return err
	}
	p.source.dir.done(info.ModTime, begun)
	return nil
}

// exchange makes segs the partition's segments, and retires the old ones.
func (p *Partition) exchange(segs []*segment, old map[int64]*segment) error {
	if n := len(segs); n > 0 && segs[n-1].builder == nil {
		if _, err := p.openTail(segs[n-1], true, p.durable()); err != nil {
			return err
		}
	}
	p.segs.Store(&segs)
	var errs []error
	for _, s := range old {
		errs = append(errs, s.retire())
	}
	return errors.Join(errs...)
}

// reopen reads a log anew of which the broker cut or replaced the end.
func (p *Partition) reopen() error {
	infos, err := p.listSegments()
	if err != nil {
		return err
	}
	old := make(map[int64]*segment)
	for _, s := range p.segments() {
		old[s.base] = s
	}
	return p.exchange(p.openSegments(infos), old)
}
