package fs

import (
	"context"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"klogfs/logstore"
)

// viewNode is the records of a partition as one text. It grows, so neither
// its size nor its bytes are the kernel's to keep.
type viewNode struct {
	node
	p *logstore.Partition
	v *logstore.View
}

// Getattr shows how long the text is now.
func (n *viewNode) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.attr(&out.Attr)
}

func (n *viewNode) attr(a *fuse.Attr) syscall.Errno {
	err := n.p.Refresh()
	var size int64
	if err == nil {
		size, err = n.v.Size()
	}
	if err != nil {
		return n.m.errno("stat view", n.p.Name(), err)
	}
	n.m.fileAttr(a, size, n.p.ModTime())
	a.Blksize = optimalIO
	return 0
}

// Open opens the view.
func (n *viewNode) Open(_ context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, syscall.EROFS
	}
	if err := n.p.Refresh(); err != nil {
		return nil, 0, n.m.errno("open view", n.p.Name(), err)
	}
	return &viewHandle{n.v.Open(), n}, fuse.FOPEN_DIRECT_IO, 0
}

// viewHandle is a view that is open.
type viewHandle struct {
	r *logstore.Reader
	n *viewNode
}

// Read reads the text.
func (h *viewHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	b, err := h.r.Read(off, len(dest))
	if err == nil && len(b.B) < len(dest) && !h.n.p.Writable() {
		err = h.more(b, dest, off)
	}
	if err != nil {
		return nil, h.n.m.errno("read view", h.n.p.Name(), err)
	}
	return reply{b.B, b.Release}, 0
}

// more looks, at the end of what was known, for what another process has
// appended since.
func (h *viewHandle) more(b *logstore.Bytes, dest []byte, off int64) error {
	if err := h.n.p.Refresh(); err != nil {
		b.Release()
		return err
	}
	have := int64(len(b.B))
	rest, err := h.r.Read(off+have, len(dest)-int(have))
	if err == nil { // else the next read meets the error: what there is goes first
		b.B = append(b.B, rest.B...)
		rest.Release()
	}
	return nil
}

// Release closes the view.
func (h *viewHandle) Release(context.Context) syscall.Errno {
	h.r.Close()
	return 0
}
