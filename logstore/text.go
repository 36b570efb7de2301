package logstore

import (
	"math"
	"sync"

	"klogfs/batch"
	"klogfs/index"
)

// textInterval is the least distance of two entries of a text index, in bytes
// of text: a read at any position decodes no more than this for nothing.
const textInterval = 64 << 10

// segmentText is what is known of the text of one segment in one format. It is
// brought up to date by whoever looks; append goes on with it only where that
// needs no waiting.
type segmentText struct {
	mu      sync.Mutex
	index   index.Text
	damaged []textDamage
	loaded  bool
}

// textDamage is a stretch of the log that has no text, and why.
type textDamage struct {
	text int64
	err  error
}

// textSize brings the text index up to what is published, and returns the
// length of the segment's text in bytes.
func (s *segment) textSize(f Format) (int64, error) {
	t := &s.texts[f]
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.loaded {
		t.loaded = true
		s.loadText(f, t)
	}
	end, err := s.readableSize()
	if err != nil || t.index.Covered() >= end {
		return t.index.Size(), err
	}
	if err := s.coverText(f, t, end); err != nil {
		return 0, err
	}
	if !s.p.own && s.sealed.Load() {
		s.keepText(f, t)
	}
	return t.index.Size(), nil
}

// finalText is textSize, and whether that can't change any more.
func (s *segment) finalText(f Format) (final bool, size int64, err error) {
	final = s.sealed.Load()
	if final && s.p.committed() {
		end, err := s.readableSize()
		if err != nil {
			return false, 0, err
		}
		final = end == s.size.Load()
	}
	size, err = s.textSize(f)
	return final, size, err
}

// coverText reads on where the text index ends. The caller holds t.mu.
func (s *segment) coverText(f Format, t *segmentText, end int64) error {
	w := s.walkTo(t.index.Covered(), end, math.MaxInt64)
	defer w.close()
	d := decodings.Get().(*decoding)
	defer d.release()
	for w.next() {
		size, err := s.batchText(f, w, d)
		if w.ioErr != nil {
			return w.ioErr
		}
		if err != nil {
			s.p.countCorruption(err)
			t.damaged = append(t.damaged, textDamage{t.index.Size(), err})
		}
		t.index.Add(w.stop-w.pos, size)
	}
	if w.ioErr == nil && t.index.Covered() < w.end {
		t.index.Add(w.end-t.index.Covered(), 0) // zeros of a preallocated file
	}
	return w.ioErr
}

// batchText is the length of the text of a walk's present step.
func (s *segment) batchText(f Format, w *walker, d *decoding) (int64, error) {
	if w.err != nil {
		return 0, w.err
	}
	if err := w.decode(&d.dec, &d.recs); err != nil || s.p.hidden(&d.recs.Header) {
		return 0, err
	}
	var size int64
	var err error
	if f == FormatValues {
		size, _, err = d.recs.ValuesSize(0)
	} else {
		size, err = s.recordsText(f, d)
	}
	d.dec.Trim(keptDecoded)
	if err != nil {
		return 0, s.corrupt(w.pos, err)
	}
	return size, nil
}

// recordsText is the length of the text of all records of a decoded batch.
func (s *segment) recordsText(f Format, d *decoding) (int64, error) {
	var size int64
	var r batch.Record
	for d.recs.Next(&r) {
		size += s.recordText(f, d, &r)
	}
	err := d.recs.Err()
	d.recs.Reset()
	return size, err
}

// appendedText tells the text index of batches just published: their length
// in the log from a position on, and the length of their values' text.
func (s *segment) appendedText(pos int64, batches []preparedBatch) {
	t := &s.texts[FormatValues]
	if s.p.committed() || !t.mu.TryLock() {
		return // whoever holds it, or comes next, reads them from the log
	}
	defer t.mu.Unlock()
	if t.index.Covered() != pos {
		return
	}
	for _, b := range batches {
		t.index.Add(int64(b.size), b.text)
	}
}

// textAt is where to begin reading for a byte of the text.
func (s *segment) textAt(f Format, text int64) index.TextEntry {
	t := &s.texts[f]
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.index.Search(text)
}

// textBefore is the length of the text of the records below an offset.
func (s *segment) textBefore(f Format, offset int64) (int64, error) {
	if _, err := s.textSize(f); err != nil || offset <= s.base {
		return 0, err
	}
	pos, err := s.floor(offset)
	if err != nil {
		return 0, err
	}
	t := &s.texts[f]
	t.mu.Lock()
	entry := t.index.SearchPosition(pos)
	t.mu.Unlock()
	return s.textUntil(f, entry, offset)
}

func (s *segment) textUntil(f Format, entry index.TextEntry, offset int64) (int64, error) {
	w := s.walk(entry.Position)
	defer w.close()
	d := decodings.Get().(*decoding)
	defer d.release()
	text := entry.Text
	for w.next() {
		if w.err == nil && w.header.LeastOffset() >= offset {
			break
		}
		size, err := s.batchText(f, w, d)
		if w.ioErr != nil {
			return 0, w.ioErr
		}
		if err != nil || w.header.LastOffset() < offset || size == 0 {
			text += size
			continue
		}
		// The offset is inside this batch.
		before, err := s.textInside(f, w, d, offset)
		return text + before, err
	}
	return text, w.ioErr
}

// textInside is the length of the text of a walk's batch below an offset.
func (s *segment) textInside(f Format, w *walker, d *decoding, offset int64) (int64, error) {
	if err := w.decode(&d.dec, &d.recs); err != nil {
		return 0, err
	}
	var text int64
	var r batch.Record
	for d.recs.Next(&r) && r.Offset < offset {
		text += s.recordText(f, d, &r)
	}
	return text, nil
}

func (s *segment) recordText(f Format, d *decoding, r *batch.Record) int64 {
	switch f {
	case FormatJSONL, FormatTSV:
		d.buf = f.appendRecord(d.buf[:0], s.p.tp, &d.recs.Header, r)
		return int64(len(d.buf))
	case FormatValues, formatCount:
	}
	return int64(len(r.Value)) + 1
}
