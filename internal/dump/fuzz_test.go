package dump

import (
	"os"
	"path/filepath"
	"testing"

	"klogfs/batch"
)

// Whatever a segment and its indexes hold, a dump ends, and does not panic.
func FuzzFiles(f *testing.F) {
	sound := batchAt(f, 0, batch.BuilderOptions{}, "one", "two")
	packed := batchAt(f, 2, batch.BuilderOptions{Codec: batch.CodecSnappy}, "three")
	control := batchAt(f, 3, batch.BuilderOptions{}, "x")
	control[22] |= 0x20
	f.Add(append(sound, packed...), []byte{0, 0, 0, 2, 0, 0, 0, 90}, true)
	f.Add(control, []byte{}, false)
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x16\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x01vxxxxx"), []byte{1}, true)
	base := filepath.Join(f.TempDir(), "00000000000000000000")
	f.Fuzz(func(t *testing.T, segment, index []byte, text bool) {
		var names []string
		for _, suffix := range []string{".log", ".index", ".timeindex", ".txnindex", ".snapshot"} {
			b := index
			if suffix == ".log" {
				b = segment
			}
			if err := os.WriteFile(base+suffix, b, 0o600); err != nil {
				t.Fatal(err)
			}
			names = append(names, base+suffix)
		}
		o := all()
		o.PrintDataLog, o.JSON = true, !text
		for _, name := range names {
			// What is wrong is told, whatever it is.
			_ = Files(discard{}, discard{}, []string{name}, o)
		}
	})
}
