package coordinator

import (
	"strings"
	"testing"
)

// What the dump tool prints in the place of what the converters make;
// TestDumpInternalTopics of internal/interop compares it with the tool.
func TestPrinted(t *testing.T) {
	value := []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00\x01\x00\x00\xea\x60\x02\xff\xff\xff\xff" + strings.Repeat("\x00", 16))
	got, ok := TransactionValue([]byte("\x00\x00\x00\x01a"), value)
	if !ok || !strings.Contains(got, `"transactionStatus":"PrepareCommit","transactionPartitions":null,`) {
		t.Errorf("%s, %t", got, ok)
	}
	value[16] = 77
	if got, ok := TransactionValue([]byte("\x00\x00\x00\x01a"), value); !ok || !strings.Contains(got, `"transactionStatus":"77",`) {
		t.Errorf("%s, %t", got, ok)
	}
	json := `{"protocolType":"consumer","members":[{"clientId":"\"subscription\":\"","subscription":"AAAAAAAB/////wAAAAA=","assignment":"AAA="}]}`
	// Two bytes are no assignment: they stay.
	want := `{"protocolType":"consumer","members":[{"clientId":"\"subscription\":\"","subscription":{"topics":[`
	if got := decodeMembers(json); got == "" || strings.HasPrefix(got, want) {
		t.Errorf("a topic that is null was taken: %s", got)
	}
	json = strings.Replace(json, "AAAAAAAB/////wAAAAA=", "AAAAAAAA/////w==", 1)
	if got := decodeMembers(json); !strings.HasPrefix(got, want+`],"userData":null},"assignment":"AAA="`) {
		t.Errorf("%s", got)
	}
	if other := strings.Replace(json, "consumer", "connect", 1); decodeMembers(other) != other {
		t.Error("the members of another protocol were decoded")
	}
}

func TestTypes(t *testing.T) {
	for typ, want := range map[int16]bool{-1: false, 0: true, 2: true, 99: false} {
		if OffsetsType(typ) != want {
			t.Errorf("type %d: %t", typ, !want)
		}
	}
	if !TransactionType(0) || TransactionType(1) {
		t.Error("types of transactions")
	}
}
