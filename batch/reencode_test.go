package batch_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klogfs/batch"
	"klogfs/internal/fixture"
)

type plainRecord struct {
	Offset, Timestamp int64
	Key, Value        []byte
	Headers           []batch.RecordHeader
}

func plainRecords(t *testing.T, raw []byte) (batch.Header, []plainRecord) {
	t.Helper()
	var d batch.Decoder
	var rs batch.Records
	if err := d.Decode(raw, &rs); err != nil {
		t.Fatal(err)
	}
	rs = rs.Clone()
	var all []plainRecord
	var r batch.Record
	for rs.Next(&r) {
		all = append(all, plainRecord{r.Offset, r.Timestamp, r.Key, r.Value, r.AppendHeaders(nil)})
	}
	if rs.Err() != nil {
		t.Fatal(rs.Err())
	}
	return rs.Header, all
}

// rebuilt makes the batch again from its records.
func rebuilt(t *testing.T, b *batch.Builder, h batch.Header, records []plainRecord) []byte {
	t.Helper()
	b.Begin(nil, batch.BuilderOptions{
		Codec:         h.Attributes.Codec(),
		Producer:      &batch.Producer{ID: h.ProducerID, Epoch: h.ProducerEpoch, BaseSequence: h.BaseSequence},
		Transactional: h.Attributes.Transactional(), Control: h.Attributes.Control(),
	})
	for _, r := range records {
		b.Append(r.Timestamp, r.Key, r.Value, r.Headers)
	}
	out, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	batch.SetBaseOffset(out, h.BaseOffset)
	batch.SetPartitionLeaderEpoch(out, h.PartitionLeaderEpoch)
	return out
}

// made reports whether the batch is as a producer made it: the broker neither
// cleaned it nor stamped it with its own time.
func made(h batch.Header) bool {
	return h.Count == h.LastOffsetDelta+1 && !h.Attributes.HasDeleteHorizon() &&
		h.Attributes.TimestampType() == batch.CreateTime
}

// TestBrokerBatchesBuiltAgain decodes batches of Java's and librdkafka's
// producers and of the broker, and builds them again: the same bytes where
// they are not compressed, the same records where they are.
func TestBrokerBatchesBuiltAgain(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(fixture.Unpack(t, "logs"), "*", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	var b batch.Builder
	same, byCodec := 0, map[batch.Codec]int{}
	for _, log := range logs {
		name := filepath.Base(filepath.Dir(log))
		if strings.HasPrefix(name, "legacy-") {
			continue
		}
		content, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		s := batch.NewScanner(bytes.NewReader(content), 0, int64(len(content)))
		for s.Next() {
			raw, err := s.Batch()
			if err != nil {
				t.Fatal(err)
			}
			h, records := plainRecords(t, raw)
			if !made(h) {
				continue
			}
			again := rebuilt(t, &b, h, records)
			byCodec[h.Attributes.Codec()]++
			if h.Attributes.Codec() == batch.CodecNone {
				if !bytes.Equal(again, raw) {
					t.Fatalf("%s, offset %d: other bytes\n%x\n%x", name, h.BaseOffset, again[:batch.HeaderSize], raw[:batch.HeaderSize])
				}
				same++
				continue
			}
			h2, records2 := plainRecords(t, again)
			h2.CRC, h2.Length = h.CRC, h.Length
			if diff := cmp.Diff(records, records2); diff != "" || h2 != h {
				t.Fatalf("%s, offset %d: %+v, want %+v %s", name, h.BaseOffset, h2, h, diff)
			}
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
	}
	t.Logf("%d the same byte for byte; by codec %v", same, byCodec)
	if len(byCodec) != 5 || same < 100 {
		t.Errorf("too few batches: %d, %v", same, byCodec)
	}
}
