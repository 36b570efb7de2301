package coordinator

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// goldens are records of every type and version with the JSON that Kafka's own
// converters make of them: topic, key, its JSON, version, value, its JSON.
func goldens(tb testing.TB) [][]string {
	tb.Helper()
	f, err := os.Open("testdata/golden.tsv")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	var all [][]string
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		all = append(all, strings.Split(s.Text(), "\t"))
	}
	if s.Err() != nil || len(all) < 100 {
		tb.Fatalf("%d records, %v", len(all), s.Err())
	}
	return all
}

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// decoders make the JSON of Kafka's converters.
func decoders(topic string) (keyFunc, valueFunc) {
	return func(key []byte) (string, bool) { return keyJSON(topic, key) },
		func(key, value []byte) (string, bool) { return valueJSON(topic, key, value) }
}

func TestGolden(t *testing.T) {
	for _, g := range goldens(t) {
		key, value := unhex(t, g[1]), unhex(t, g[4])
		keyOf, valueOf := decoders(g[0])
		got, ok := keyOf(key)
		if want := `","data":` + g[2] + "}"; !ok || !strings.HasSuffix(got, want) {
			t.Errorf("key %s is %s, %t, want %s", g[1], got, ok, want)
		}
		got, ok = valueOf(key, value)
		if want := `{"version":"` + g[3] + `","data":` + g[5] + "}"; !ok || got != want {
			t.Errorf("key %s value %s is %s, %t, want %s", g[1], g[4], got, ok, want)
		}
	}
}

// A record that ends early is none; no byte makes more of it than it is.
func TestCut(t *testing.T) {
	for _, g := range goldens(t) {
		key, value := unhex(t, g[1]), unhex(t, g[4])
		keyOf, valueOf := decoders(g[0])
		for i := range key {
			if got, ok := keyOf(key[:i]); ok {
				t.Errorf("key %s cut at %d is %s", g[1], i, got)
			}
		}
		for i := range value {
			if got, ok := valueOf(key, value[:i]); ok {
				t.Errorf("value %s cut at %d is %s", g[4], i, got)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, g := range goldens(f) {
		if i%5 == 1 {
			f.Add(unhex(f, g[1]), unhex(f, g[4]))
		}
	}
	for i, p := range printed(f) {
		if i%5 == 1 && p[2] != "-" {
			f.Add(unhex(f, p[1]), unhex(f, p[2]))
		}
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for _, topic := range []string{offsets, transactions, shares} {
			keyOf, valueOf := printers(topic)
			k, ok1 := keyOf(key)
			v, ok2 := valueOf(key, value)
			const most = 40 // bytes of JSON that one byte can make: a field of a struct with its name
			if ok1 && !json.Valid([]byte(k)) || ok2 && !json.Valid([]byte(v)) {
				t.Errorf("no JSON: %s %s", k, v)
			}
			if ok1 && len(k) > 100+most*len(key) || ok2 && len(v) > 200+most*len(value)+most*len(key) {
				t.Errorf("%d bytes of key make %d, %d of value %d", len(key), len(k), len(value), len(v))
			}
		}
		if c, ok := ParseOffsetCommit(key, value); ok && len(c.Group)+len(c.Topic)+len(c.Metadata) > len(key)+len(value) {
			t.Errorf("%+v", c)
		}
	})
}
