package logstore

import (
	"errors"
	"log/slog"
	"math"
	"slices"

	"klogfs/internal/disk"
)

// Suffixes behind those of a segment's files, while a cleaner or a split is
// about to replace segments: what is being made, what is whole and takes the
// place of others next, and what is to be deleted.
const (
	suffixCleaned = ".cleaned"
	suffixSwap    = ".swap"
	suffixDeleted = ".deleted"
)

// segmentInfo is a segment's log file as a directory shows it.
type segmentInfo struct {
	base int64
	info disk.Info
	// suffix is suffixSwap for a file that is to take its place yet.
	suffix string
}

// listSegments returns the log files of the segments, in order. Whole files
// that an interrupted cleaning was about to put in the place of others stand
// there already, as they do once a broker has started
// (org.apache.kafka.storage.internals.log.LogLoader).
func (p *Partition) listSegments() ([]segmentInfo, error) {
	infos, err := p.disk.List(p.dir)
	if err != nil {
		return nil, err
	}
	var segs, swaps []segmentInfo
	cleaned := int64(math.MaxInt64)
	for _, info := range infos {
		base, suffix, ok := parseSegmentFile(info.Name)
		if !ok || info.Kind != disk.KindFile {
			continue
		}
		switch suffix {
		case suffixLog:
			segs = append(segs, segmentInfo{base, info, ""})
		case suffixLog + suffixSwap:
			swaps = append(swaps, segmentInfo{base, info, suffixSwap})
		case suffixLog + suffixCleaned:
			cleaned = min(cleaned, base)
		}
	}
	// Behind the first that is still being made, others are parts of a split
	// that did not come to its end (KAFKA-6264).
	swaps = slices.DeleteFunc(swaps, func(s segmentInfo) bool { return s.base >= cleaned })
	return p.swapped(segs, swaps)
}

// swapped puts whole swap files in the place of the segments that they cover.
func (p *Partition) swapped(segs, swaps []segmentInfo) ([]segmentInfo, error) {
	first, next := int64(math.MaxInt64), int64(-1)
	var whole []segmentInfo
	for _, s := range swaps {
		end, err := p.swapEnd(s)
		if err != nil {
			return nil, err
		}
		if end > s.base {
			whole = append(whole, s)
			first, next = min(first, s.base), max(next, end)
		}
	}
	if len(whole) == 0 {
		return segs, nil
	}
	kept := slices.DeleteFunc(segs, func(s segmentInfo) bool { return s.base >= first && s.base < next })
	kept = append(kept, whole...)
	slices.SortFunc(kept, func(a, b segmentInfo) int { return int(min(1, max(-1, a.base-b.base))) })
	return kept, nil
}

// swapEnd is the offset after a swap file's last batch; its base when it is not
// whole.
func (p *Partition) swapEnd(info segmentInfo) (int64, error) {
	s := newSegment(p, info, false)
	s.size.Store(info.info.Size)
	w := s.walkTo(0, info.info.Size, -1)
	defer w.close()
	for w.next() {
		right := false
		if w.err == nil {
			var err error
			if right, err = w.right(); err != nil {
				return 0, err
			}
		}
		if !right {
			p.log.Warn("swap file is not whole, ignored", slog.Int64("segment", info.base), slog.Int64("position", w.pos))
			return info.base, s.log.retire(ErrDeleted)
		}
	}
	return w.nextOffset, errors.Join(w.ioErr, s.log.retire(ErrDeleted))
}

// completeSwaps does in a log of ours what an interrupted cleaning still had to
// do: the segments that are replaced go, the others get their names.
func (p *Partition) completeSwaps(infos []segmentInfo) error {
	names := map[string]bool{}
	for _, s := range infos {
		names[s.info.Name] = true
	}
	all, err := p.disk.List(p.dir)
	if err != nil {
		return err
	}
	for _, info := range all {
		base, suffix, ok := parseSegmentFile(info.Name)
		if ok && suffix == suffixLog && !names[info.Name] {
			if err := newSegment(p, segmentInfo{base: base}, false).removeFiles(p.disk); err != nil {
				return err
			}
		}
	}
	for i, s := range infos {
		if s.suffix == "" {
			continue
		}
		for _, suffix := range []string{suffixOffset, suffixTime, suffixTxn, suffixLog} {
			name := p.path(segmentFile(s.base, suffix))
			if err := ignoreMissing(p.disk.Rename(name+suffixSwap, name)); err != nil {
				return err
			}
		}
		p.log.Info("interrupted cleaning completed", slog.Int64("segment", s.base))
		infos[i].suffix = ""
	}
	return p.disk.SyncDir(p.dir)
}

// hasSwaps reports whether a segment is under another name than its own.
func hasSwaps(infos []segmentInfo) bool {
	return slices.ContainsFunc(infos, func(s segmentInfo) bool { return s.suffix != "" })
}
