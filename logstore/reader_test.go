package logstore

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The text is the same in whatever sizes it is read, growing and shrinking, and
// after jumps.
func TestReadSizes(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	p := newTopic(t, s, "p", map[string]string{"compression.type": "zstd"})
	var all strings.Builder
	for i := range 40 {
		lines := make([]string, 200)
		for j := range lines {
			lines[j] = strings.Repeat("x", (i*j)%90)
		}
		produce(t, p, lines...)
		all.WriteString(strings.Join(lines, "\n") + "\n")
	}
	want := all.String()
	random := rand.New(rand.NewPCG(3, 4))
	r := p.View(FormatValues).Open()
	defer r.Close()
	for range 20 {
		pos := random.IntN(len(want))
		for range 30 {
			size := 1 << random.IntN(18)
			b, err := r.Read(int64(pos), size)
			if err != nil {
				t.Fatal(err)
			}
			if got := want[pos:min(pos+size, len(want))]; string(b.B) != got {
				t.Fatalf("%d bytes at %d differ", size, pos)
			}
			pos += len(b.B)
			b.Release()
		}
	}
}
