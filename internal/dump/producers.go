package dump

import (
	"errors"
	"fmt"
	"os"

	"klogfs/index"
)

// txnIndex prints a transaction index.
func (d *dumper) txnIndex(name string) error {
	file, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var txns []index.AbortedTxn
	whole := len(file) - len(file)%index.AbortedTxnSize
	for at := 0; at < whole; at += index.AbortedTxnSize {
		txn, err := index.ParseAbortedTxn(file[at:])
		if err != nil {
			return fmt.Errorf("%w: position %d: %w", ErrDamaged, at, err)
		}
		txns = append(txns, txn)
	}
	if whole < len(file) {
		d.damage.found(name, "the last %d bytes, from position %d, are half an entry", len(file)-whole, whole)
	}
	for i := range txns {
		d.abortedTxn(name, &txns[i])
		if err := d.out.spill(); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) abortedTxn(name string, txn *index.AbortedTxn) {
	out := &d.out
	if d.JSON {
		out.object(name)
		out.int(`,"version":0,"producerId":`, txn.ProducerID)
		out.int(`,"firstOffset":`, txn.FirstOffset)
		out.int(`,"lastOffset":`, txn.LastOffset)
		out.int(`,"lastStableOffset":`, txn.LastStableOffset)
		out.b = append(out.b, "}\n"...)
		return
	}
	out.int("version: 0 producerId: ", txn.ProducerID)
	out.int(" firstOffset: ", txn.FirstOffset)
	out.int(" lastOffset: ", txn.LastOffset)
	out.int(" lastStableOffset: ", txn.LastStableOffset)
	out.b = append(out.b, '\n')
}

// snapshot prints a snapshot of the producers' state. One that is corrupt is
// told of, and the next file follows, as in Kafka.
func (d *dumper) snapshot(name string) error {
	file, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	entries, err := index.ParseProducers(file)
	if err != nil {
		d.damage.found(name, "%v", err)
		_, werr := fmt.Fprintln(d.errs, snapshotMessage(err))
		return werr
	}
	for i := range entries {
		if d.JSON {
			d.producerJSON(name, &entries[i])
		} else {
			d.producerLine(&entries[i])
		}
		if err := d.out.spill(); err != nil {
			return err
		}
	}
	return nil
}

// snapshotMessage is what Kafka says of a snapshot that is corrupt.
func snapshotMessage(err error) string {
	var version *index.SnapshotVersionError
	var crc *index.SnapshotCRCError
	switch {
	case errors.As(err, &version):
		return fmt.Sprintf("Snapshot failed schema validation: Snapshot contained an unknown file version %d", version.Version)
	case errors.As(err, &crc):
		return fmt.Sprintf("Snapshot is corrupt (CRC is no longer valid). Stored crc: %d. Computed crc: %d", crc.Stored, crc.Computed)
	}
	return fmt.Sprintf("Snapshot failed schema validation: %v", err)
}

func (d *dumper) producerLine(e *index.ProducerEntry) {
	out := &d.out
	out.int("producerId: ", e.ProducerID)
	out.int(" producerEpoch: ", int64(e.ProducerEpoch))
	out.int(" coordinatorEpoch: ", int64(e.CoordinatorEpoch))
	out.b = append(out.b, " currentTxnFirstOffset: "...)
	out.optional(e.CurrentTxnFirstOffset, e.CurrentTxnFirstOffset >= 0)
	out.int(" lastTimestamp: ", e.Timestamp)
	if e.LastOffset >= 0 {
		out.int(" firstSequence: ", int64(subSequence(e.LastSequence, e.OffsetDelta)))
		out.int(" lastSequence: ", int64(e.LastSequence))
		out.int(" lastOffset: ", e.LastOffset)
		out.int(" offsetDelta: ", int64(e.OffsetDelta))
		out.int(" timestamp: ", e.Timestamp)
	}
	out.b = append(out.b, '\n')
}

func (d *dumper) producerJSON(name string, e *index.ProducerEntry) {
	out := &d.out
	out.object(name)
	out.int(`,"producerId":`, e.ProducerID)
	out.int(`,"producerEpoch":`, int64(e.ProducerEpoch))
	out.int(`,"coordinatorEpoch":`, int64(e.CoordinatorEpoch))
	out.nullable(`,"currentTxnFirstOffset":`, e.CurrentTxnFirstOffset, e.CurrentTxnFirstOffset >= 0)
	out.int(`,"lastTimestamp":`, e.Timestamp)
	some := e.LastOffset >= 0
	out.nullable(`,"firstSequence":`, int64(subSequence(e.LastSequence, e.OffsetDelta)), some)
	out.nullable(`,"lastSequence":`, int64(e.LastSequence), some)
	out.nullable(`,"lastOffset":`, e.LastOffset, some)
	out.nullable(`,"offsetDelta":`, int64(e.OffsetDelta), some)
	out.b = append(out.b, "}\n"...)
}
