package fs

import (
	"context"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// content is a small file's bytes and when they last changed.
type content struct {
	data     []byte
	modified time.Time
}

// contentNode is a small file that is made when it is looked at. Who opens it
// reads what it was at that moment.
type contentNode struct {
	node
	make func() (content, error)
}

// Getattr shows the file as it is now, or as it was opened.
func (n *contentNode) Getattr(_ context.Context, f gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	c, ok := f.(*contentHandle)
	if !ok {
		made, err := n.make()
		if err != nil {
			return n.m.errno("stat", n.Path(nil), err)
		}
		c = &contentHandle{made}
	}
	n.m.fileAttr(&out.Attr, int64(len(c.data)), c.modified)
	return 0
}

// Open makes the file's content.
func (n *contentNode) Open(_ context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, syscall.EROFS
	}
	c, err := n.make()
	if err != nil {
		return nil, 0, n.m.errno("open", n.Path(nil), err)
	}
	return &contentHandle{c}, fuse.FOPEN_DIRECT_IO, 0
}

// contentHandle is content that is open.
type contentHandle struct{ content }

// Read reads it.
func (h *contentHandle) Read(_ context.Context, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	return slice(h.data, b, off), 0
}

// file makes a small file the answer of a lookup.
func (n *node) file(ctx context.Context, id gofs.StableAttr, make func() (content, error), out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	c, err := make()
	if err != nil {
		return nil, n.m.errno("look up", n.Path(nil), err)
	}
	n.m.fileAttr(&out.Attr, int64(len(c.data)), c.modified)
	return n.NewInode(ctx, &contentNode{node{m: n.m}, make}, id), 0
}
