package index

import "math"

// Builder makes the offset and time indexes of one segment, batch by batch,
// with the entries that a broker's append makes
// (org.apache.kafka.storage.internals.log.LogSegment.append): before a batch,
// once more than Interval bytes have come since the last entry.
//
// It is not safe for concurrent use.
type Builder struct {
	base     int64
	interval int64
	since    int64

	maxTimestamp int64
	maxOffset    int64

	offsets Offsets
	times   Times
}

// NewBuilder returns a builder for the segment with the base offset given.
// interval is index.interval.bytes.
func NewBuilder(base int64, interval int) *Builder {
	return &Builder{base: base, interval: int64(interval), maxTimestamp: NoTimestamp, maxOffset: base}
}

// Resume returns a builder that goes on from the entries of a segment that was
// closed. As in a broker that reopens a segment, the bytes since the last
// entry count from zero. maxTimestamp and maxOffset are the largest timestamp
// of the segment and the last offset of its batch. The entries are copied.
func Resume(base int64, interval int, o Offsets, t Times, maxTimestamp, maxOffset int64) *Builder {
	b := NewBuilder(base, interval)
	b.offsets = append(b.offsets, o...)
	b.times = append(b.times, t...)
	b.maxTimestamp, b.maxOffset = maxTimestamp, maxOffset
	return b
}

// Add tells of the next batch: its last offset, its largest timestamp in
// milliseconds, the byte at which it starts and its length in bytes.
func (b *Builder) Add(lastOffset, maxTimestamp, position int64, size int) {
	if maxTimestamp > b.maxTimestamp {
		b.maxTimestamp, b.maxOffset = maxTimestamp, lastOffset
	}
	if b.since > b.interval {
		b.addOffset(lastOffset, position)
		b.addTime()
		b.since = 0
	}
	b.since += int64(size)
}

// Resumed is Add for a batch that may come before entries that the builder was
// resumed with: it makes no second entry for it.
func (b *Builder) Resumed(lastOffset, maxTimestamp, position int64, size int) {
	if n := b.offsets.Len(); n > 0 && int64(b.offsets.At(n-1).Position) == position {
		b.since = int64(size)
		if maxTimestamp > b.maxTimestamp {
			b.maxTimestamp, b.maxOffset = maxTimestamp, lastOffset
		}
		return
	}
	b.Add(lastOffset, maxTimestamp, position, size)
}

// Close adds the time entry with which a segment ends, at a roll or a stop.
func (b *Builder) Close() { b.addTime() }

// Offsets returns the offset entries so far, valid until the next Add.
func (b *Builder) Offsets() Offsets { return b.offsets }

// Times returns the time entries so far, valid until the next Add or Close.
func (b *Builder) Times() Times { return b.times }

// MaxTimestamp is the largest timestamp so far, NoTimestamp when there is
// none, and the last offset of the batch that carries it.
func (b *Builder) MaxTimestamp() (timestamp, offset int64) { return b.maxTimestamp, b.maxOffset }

// Full reports whether one of the indexes has as many entries as a file of
// maxBytes (segment.index.bytes) takes. The time index keeps room for the
// closing entry.
func (b *Builder) Full(maxBytes int) bool {
	return b.offsets.Len() >= maxBytes/OffsetEntrySize || b.times.Len() >= maxBytes/TimeEntrySize-1
}

// addOffset leaves out what 32 bits can't say: the index has a gap there, and
// a search scans over it.
func (b *Builder) addOffset(lastOffset, position int64) {
	relative := lastOffset - b.base
	if relative < 0 || relative > math.MaxInt32 || position > math.MaxInt32 {
		return
	}
	b.offsets = OffsetEntry{RelativeOffset: int32(relative), Position: int32(position)}.Append(b.offsets)
}

func (b *Builder) addTime() {
	last := int64(NoTimestamp)
	if n := b.times.Len(); n > 0 {
		last = b.times.At(n - 1).Timestamp
	}
	relative := b.maxOffset - b.base
	if b.maxTimestamp <= last || relative < 0 || relative > math.MaxInt32 {
		return
	}
	b.times = TimeEntry{Timestamp: b.maxTimestamp, RelativeOffset: int32(relative)}.Append(b.times)
}
