package fs

import "github.com/hanwen/go-fuse/v2/fuse"

// reply is bytes that answer a read. They are written as they are: of what is
// in memory already, a pipe would only make a detour.
type reply struct {
	b    []byte
	done func() // may be nil
}

var (
	_ fuse.ReadResult = reply{}
	_ interface {
		Slices() ([][]byte, fuse.Status)
	} = reply{}
)

// Bytes is the reply.
func (r reply) Bytes([]byte) ([]byte, fuse.Status) { return r.b, fuse.OK }

// Slices is the reply, for go-fuse to write without a copy.
func (r reply) Slices() ([][]byte, fuse.Status) { return [][]byte{r.b}, fuse.OK }

// Size is its length in bytes.
func (r reply) Size() int { return len(r.b) }

// Done is called once the reply is written.
func (r reply) Done() {
	if r.done != nil {
		r.done()
	}
}

// slice is the reply to a read of a file that is in memory.
func slice(file []byte, dest []byte, off int64) reply {
	rest := file[min(off, int64(len(file))):]
	return reply{b: rest[:min(len(dest), len(rest))]}
}
