package index

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"klogfs/internal/fixture"
)

func TestAbortedTxn(t *testing.T) {
	b := make([]byte, AbortedTxnSize)
	for i := range 4 {
		binary.BigEndian.PutUint64(b[2+8*i:], uint64(i+1))
	}
	got, err := ParseAbortedTxn(b)
	if want := (AbortedTxn{1, 2, 3, 4}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ParseAbortedTxn(b[:AbortedTxnSize-1]); !errors.Is(err, ErrTxnIndex) {
		t.Errorf("half an entry: %v", err)
	}
	b[1] = 1
	if _, err := ParseAbortedTxn(b); !errors.Is(err, ErrTxnIndex) {
		t.Errorf("version 1: %v", err)
	}
}

// producers is a snapshot with a count and as many bytes of entries.
func producers(version uint16, count uint32, body int) []byte {
	b := make([]byte, producerHeader+body)
	for i := producerHeader; i < len(b); i++ {
		b[i] = byte(i)
	}
	binary.BigEndian.PutUint16(b, version)
	binary.BigEndian.PutUint32(b[producerCRCEnd:], count)
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[producerCRCEnd:], castagnoli))
	return b
}

func TestProducers(t *testing.T) {
	got, err := ParseProducers(producers(1, 2, 2*producerEntrySize))
	if err != nil || len(got) != 2 {
		t.Fatalf("%d, %v", len(got), err)
	}
	want := ProducerEntry{
		ProducerID: 0x0a0b0c0d0e0f1011, ProducerEpoch: 0x1213, LastSequence: 0x14151617, LastOffset: 0x18191a1b1c1d1e1f,
		OffsetDelta: 0x20212223, Timestamp: 0x2425262728292a2b, CoordinatorEpoch: 0x2c2d2e2f, CurrentTxnFirstOffset: 0x3031323334353637,
	}
	if got[0] != want {
		t.Errorf("%+v", got[0])
	}
	if got, err := ParseProducers(producers(1, 0, 0)); err != nil || len(got) != 0 {
		t.Errorf("none: %v, %v", got, err)
	}
}

func TestWrongProducers(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty":           nil,
		"half a header":   producers(1, 0, 0)[:9],
		"version 2":       producers(2, 0, 0),
		"one more":        producers(1, 3, 2*producerEntrySize),
		"count 2³¹−1":     producers(1, 1<<31-1, producerEntrySize),
		"count below 0":   producers(1, 1<<31, producerEntrySize),
		"half an entry":   producers(1, 1, producerEntrySize-1),
		"another CRC":     append(producers(1, 1, producerEntrySize), 0),
		"version of zero": producers(0, 0, 0),
	} {
		if got, err := ParseProducers(b); !errors.Is(err, ErrSnapshot) || got != nil || err.Error() == "" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzProducers(f *testing.F) {
	f.Add(producers(1, 2, 2*producerEntrySize))
	f.Add(producers(1, 1<<31-1, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := ParseProducers(b)
		if len(entries)*producerEntrySize > len(b) || err == nil && entries == nil {
			t.Errorf("%d entries, %v", len(entries), err)
		}
	})
}

// The worked examples of docs/format/transactions.md decode to what they say.
func TestTransactionsDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/format/transactions.md")
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.ReplaceAll(fixture.Hex(string(text)), " ", ""))
	if err != nil || len(b) != AbortedTxnSize+producerHeader+producerEntrySize {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	txn, err := ParseAbortedTxn(b)
	if want := (AbortedTxn{8, 0, 16, 1}); err != nil || txn != want {
		t.Errorf("%+v, %v", txn, err)
	}
	producers, err := ParseProducers(b[AbortedTxnSize:])
	want := ProducerEntry{ProducerID: 8, LastSequence: 7, LastOffset: 14, Timestamp: 1750000000075, CoordinatorEpoch: -1}
	if err != nil || len(producers) != 1 || producers[0] != want {
		t.Errorf("%+v, %v", producers, err)
	}
}
