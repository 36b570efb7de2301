package dump

import (
	"fmt"

	"klogfs/batch"
)

// batchLine prints the line of a batch. In JSON a batch has none: its fields
// are with each record.
func (d *dumper) batchLine(h *head, b []byte, name string) error {
	valid := h.valid(b)
	if h.Magic < 0 {
		if !d.JSON {
			d.out.int("offset: ", h.BaseOffset)
		}
		return fmt.Errorf("%w: the bytes at position %d are no batch: magic %d", ErrDamaged, h.pos, h.Magic)
	}
	if !valid {
		d.damage.found(name, "the checksum of the batch at position %d (offset %d) is wrong", h.pos, h.BaseOffset)
	}
	if d.JSON {
		d.record.batchJSON(h, valid, name)
		return nil
	}
	out := &d.out
	if h.legacy() {
		out.int("offset: ", h.BaseOffset)
	} else {
		d.batchFields(h)
	}
	codec := h.Attributes.Codec()
	if codec > batch.CodecZstd {
		return fmt.Errorf("%w: the batch at position %d has codec %d, which there is not", ErrDamaged, h.pos, int8(codec))
	}
	out.int(" position: ", h.pos)
	out.b = append(append(append(out.b, ' '), h.TimestampType().String()...), ": "...)
	out.int("", h.MaxTimestamp)
	out.int(" size: ", int64(h.Size()))
	out.int(" magic: ", int64(h.Magic))
	out.b = append(append(out.b, " compresscodec: "...), codec.String()...)
	out.int(" crc: ", int64(h.CRC))
	out.bool(" isvalid: ", valid)
	out.b = append(out.b, '\n')
	return nil
}

// batchFields prints what only a batch of format 2 has.
func (d *dumper) batchFields(h *head) {
	out := &d.out
	lastSequence := h.BaseSequence
	if lastSequence != -1 {
		lastSequence = addSequence(h.BaseSequence, h.LastOffsetDelta)
	}
	out.int("baseOffset: ", h.BaseOffset)
	out.int(" lastOffset: ", h.LastOffset())
	out.int(" count: ", int64(h.Count))
	out.int(" baseSequence: ", int64(h.BaseSequence))
	out.int(" lastSequence: ", int64(lastSequence))
	out.int(" producerId: ", h.ProducerID)
	out.int(" producerEpoch: ", int64(h.ProducerEpoch))
	out.int(" partitionLeaderEpoch: ", int64(h.PartitionLeaderEpoch))
	out.bool(" isTransactional: ", h.Attributes.Transactional())
	out.bool(" isControl: ", h.Attributes.Control())
	out.b = append(out.b, " deleteHorizonMs: "...)
	horizon := int64(-1)
	if h.Attributes.HasDeleteHorizon() {
		horizon = h.BaseTimestamp
	}
	out.optional(horizon, h.Attributes.HasDeleteHorizon())
}
