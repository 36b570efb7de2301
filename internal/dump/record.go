package dump

import (
	"errors"
	"fmt"
)

// record is one record, whatever its format.
type record struct {
	offset    int64
	timestamp int64
	sequence  int32
	// key and value are nil for null; their sizes are as they are stored.
	key, value         []byte
	keySize, valueSize int
	headers            []byte
	headerCount        int

	// legacyValid, legacyCRC and valueErr are of a message of format 0 or 1.
	legacyValid bool
	legacyCRC   uint32
	valueErr    error

	// batchFields are the JSON of the batch.
	batchFields []byte
}

// parse reads the next record of a batch of format 2.
func (r *record) parse(h *head, f *fields) error {
	size := int(f.varint(varintSize))
	if f.err == nil && size > len(f.b)-f.at {
		f.fail(errRecordEnd)
	}
	start := f.at
	f.at++ // attributes, of which none are in use
	r.timestamp = h.Timestamp(f.varint(varlongSize))
	delta := int32(f.varint(varintSize))
	r.offset = h.BaseOffset + int64(delta)
	r.sequence = -1
	if h.BaseSequence >= 0 {
		r.sequence = addSequence(h.BaseSequence, delta)
	}
	r.key, r.value, r.valueErr = f.bytes(), f.bytes(), nil
	r.keySize, r.valueSize = nullableSize(r.key), nullableSize(r.value)
	r.headerCount = int(f.varint(varintSize))
	r.headers = nil
	if r.headerCount != 0 && f.err == nil {
		r.skipHeaders(f)
	}
	if f.err == nil && f.at-start != size {
		f.fail(errRecordSize)
	}
	return f.err
}

func nullableSize(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// skipHeaders checks the headers and keeps where they are.
func (r *record) skipHeaders(f *fields) {
	if r.headerCount < 0 || r.headerCount > len(f.b)-f.at {
		f.fail(errCount)
		return
	}
	start := f.at
	for range r.headerCount {
		if f.bytes() == nil {
			f.fail(errRecordSize) // a header's name is never null
		}
		if f.bytes(); f.err != nil {
			return
		}
	}
	r.headers = f.b[start:f.at]
}

// records prints the records of a batch.
func (d *dumper) records(h *head, b []byte, gaps *offsetGaps) error {
	return d.eachRecord(h, b, func(r *record) error {
		if r.offset < d.From || r.offset >= d.To {
			return nil
		}
		gaps.next(r.offset)
		if d.JSON {
			return d.recordJSON(h, r)
		}
		return d.recordLine(h, r)
	})
}

// eachRecord goes over the records of a batch, up to the first that is none.
func (d *dumper) eachRecord(h *head, b []byte, each func(*record) error) error {
	var err error
	if h.legacy() {
		err = d.eachMessage(h, b, each)
	} else {
		err = d.eachOfBatch(h, b, each)
	}
	if err != nil && !errors.Is(err, errClosedPipe) && !errors.Is(err, errNoKey) {
		err = fmt.Errorf("%w: the batch at position %d (offset %d): %w", ErrDamaged, h.pos, h.BaseOffset, err)
	}
	return err
}
