package dump

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"klogfs/batch"
)

// Places and sizes in a batch, in bytes. A message of format 0 or 1 begins as
// a batch does, up to its magic.
const (
	logOverhead  = 12
	magicEnd     = 17
	smallestBody = 14 // a message of format 0 without key and value
	legacyBody   = 16 // its magic, where its checksum starts
	offsetCRC2   = 17
	attributes2  = 21
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head is the header of a batch, or of a message of format 0 or 1, whatever
// its fields say. Of a message the shallow offset is BaseOffset.
type head struct {
	batch.Header
	pos int64
}

// walker goes over the batches of a segment by the rules of Kafka's
// FileLogInputStream: only the length of a batch has to be sound.
type walker struct {
	r    *reader
	next int64
	end  int64
	head head
}

// step goes to the next batch; false where Kafka sees none.
func (w *walker) step() (bool, error) {
	at := w.next
	if at >= w.end-magicEnd {
		return false, nil
	}
	b, err := w.r.view(at, magicEnd)
	if err != nil {
		return false, fmt.Errorf("read position %d: %w", at, err)
	}
	length := int32(binary.BigEndian.Uint32(b[8:]))
	if length < smallestBody {
		return false, fmt.Errorf("%w: the bytes at position %d are no batch: length %d is below %d; all batches before were printed",
			ErrDamaged, at, length, smallestBody)
	}
	if at > w.end-logOverhead-int64(length) {
		return false, nil
	}
	w.head = head{Header: batch.Header{Magic: int8(b[16])}, pos: at}
	if b, err = w.r.view(at, w.head.headerSize()); err != nil {
		return false, fmt.Errorf("%w: the header at position %d is cut off: %w", ErrDamaged, at, err)
	}
	w.head.parse(b)
	w.next = at + logOverhead + int64(length)
	return true, nil
}

// bytes are those of the present batch, valid until the next step.
func (w *walker) bytes() ([]byte, error) {
	b, err := w.r.view(w.head.pos, w.head.Size())
	if err != nil {
		return nil, fmt.Errorf("read the batch at position %d: %w", w.head.pos, err)
	}
	return b, nil
}

// headerSize is how long the header of its format is, in bytes.
func (h *head) headerSize() int {
	switch {
	case h.Magic < 0:
		return magicEnd
	case h.Magic == 0:
		return 18
	case h.Magic == 1:
		return 26
	}
	return batch.HeaderSize
}

func (h *head) parse(b []byte) {
	be := binary.BigEndian
	h.BaseOffset = int64(be.Uint64(b))
	h.Length = int32(be.Uint32(b[8:]))
	if h.Magic < 0 {
		return
	}
	if h.Magic < 2 {
		h.CRC = be.Uint32(b[12:])
		h.Attributes = batch.Attributes(b[17])
		h.MaxTimestamp = -1
		if h.Magic == 1 {
			h.MaxTimestamp = int64(be.Uint64(b[18:]))
		}
		return
	}
	h.PartitionLeaderEpoch = int32(be.Uint32(b[12:]))
	h.CRC = be.Uint32(b[offsetCRC2:])
	h.Attributes = batch.Attributes(be.Uint16(b[attributes2:]))
	h.LastOffsetDelta = int32(be.Uint32(b[23:]))
	h.BaseTimestamp = int64(be.Uint64(b[27:]))
	h.MaxTimestamp = int64(be.Uint64(b[35:]))
	h.ProducerID = int64(be.Uint64(b[43:]))
	h.ProducerEpoch = int16(be.Uint16(b[51:]))
	h.BaseSequence = int32(be.Uint32(b[53:]))
	h.Count = int32(be.Uint32(b[57:]))
}

// legacy reports whether it is a message of format 0 or 1.
func (h *head) legacy() bool { return h.Magic < 2 }

// valid reports whether the checksum is that of the bytes.
func (h *head) valid(b []byte) bool {
	if h.legacy() {
		return crc32.ChecksumIEEE(b[legacyBody:]) == h.CRC
	}
	return len(b) >= batch.HeaderSize && crc32.Checksum(b[attributes2:], castagnoli) == h.CRC
}

// addSequence is DefaultRecordBatch.incrementSequence: after the largest
// sequence number comes 0.
func addSequence(sequence, delta int32) int32 {
	const largest = 1<<31 - 1
	if sequence > largest-delta {
		return delta - (largest - sequence) - 1
	}
	return sequence + delta
}

// subSequence is DefaultRecordBatch.decrementSequence.
func subSequence(sequence, delta int32) int32 {
	const largest = 1<<31 - 1
	if sequence < delta {
		return largest - (delta - sequence) + 1
	}
	return sequence - delta
}
