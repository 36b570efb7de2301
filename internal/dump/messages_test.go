package dump

import (
	"strings"
	"testing"

	"klogfs/batch"
)

// Records of an internal topic: what can be decoded, and Kafka's remarks for
// what can't.
func TestMessages(t *testing.T) {
	var b batch.Builder
	b.Begin(nil, batch.BuilderOptions{})
	b.Append(1, []byte("\x00\x01k"), []byte("v"), nil)
	b.Append(1, []byte("\x00\x01k"), nil, nil)
	b.Append(1, []byte("\x00\x01k"), []byte("bad"), nil)
	b.Append(1, []byte("\x00\x63k"), []byte("v"), nil)
	b.Append(1, []byte("\x00"), []byte("v"), nil)
	b.Append(1, nil, []byte("v"), nil)
	out, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	name := segmentOf(t, out)
	o := all()
	o.PrintDataLog, o.SkipRecordMetadata = true, true
	o.Messages = &Messages{
		Known: func(typ int16) bool { return typ == 1 },
		Key:   func(key []byte) (string, bool) { return `{"k":1}`, len(key) > 1 && key[1] == 1 },
		Value: func(_, value []byte) (string, bool) { return `{"v":2}`, string(value) == "v" },
	}
	stdout, _, err := printed([]string{name}, o)
	const want = `| key: {"k":1} payload: {"v":2}
| key: {"k":1} payload: <DELETE>
| key: Error at offset 2, skipping. Could not read record with version 25185 from value's buffer due to: null.
| key: Unknown record type 99 at offset 3, skipping.
| key: Error at offset 4, skipping. Could not read version from key's buffer.
`
	if !strings.HasSuffix(stdout, want) || err == nil || !strings.Contains(err.Error(), "offset 5: it has no key") {
		t.Errorf("%v\n%s", err, stdout)
	}
	o.JSON = true
	stdout, _, _ = printed([]string{name}, o)
	for _, part := range []string{`"key":{"k":1},"value":{"v":2},`, `"key":{"k":1},"value":null,`, `"key":"Unknown record type 99 at offset 3, skipping.","value":null,`} {
		if !strings.Contains(stdout, part) {
			t.Errorf("%s lacks %s", stdout, part)
		}
	}
}
