package fs

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"klogfs/logstore"
)

// writeNode produces to a partition: each line written becomes a record.
type writeNode struct {
	node
	p *logstore.Partition
}

func (m *Mount) writeAttr(a *fuse.Attr, p *logstore.Partition) {
	m.owner(a)
	a.Mode = syscall.S_IFREG
	if p.Writable() {
		a.Mode |= 0o222 &^ m.opts.Umask
	}
	a.Nlink = 1
	a.Blksize = optimalIO
	setTime(a, p.ModTime())
}

// Getattr shows an empty file: what is written becomes records elsewhere.
func (n *writeNode) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.m.writeAttr(&out.Attr, n.p)
	return 0
}

// Setattr takes what shells and touch do to a file that they are to write, a
// truncation to nothing and new times, and does nothing.
func (n *writeNode) Setattr(_ context.Context, _ gofs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if !n.p.Writable() {
		return syscall.EROFS
	}
	if size, ok := in.GetSize(); ok && size != 0 {
		return syscall.EINVAL
	}
	const owners = fuse.FATTR_MODE | fuse.FATTR_UID | fuse.FATTR_GID
	if in.Valid&owners != 0 {
		return syscall.EPERM
	}
	n.m.writeAttr(&out.Attr, n.p)
	return 0
}

// Open opens the file for writing. It can't be read.
func (n *writeNode) Open(_ context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	switch {
	case !n.p.Writable() && flags&syscall.O_ACCMODE != syscall.O_RDONLY:
		return nil, 0, syscall.EROFS
	case flags&syscall.O_ACCMODE == syscall.O_RDONLY:
		return nil, 0, syscall.EACCES
	case n.p.Deleted():
		return nil, 0, syscall.ESTALE
	}
	h := &writeHandle{n: n, w: n.p.NewLineWriter(), sync: flags&(syscall.O_DSYNC|syscall.O_SYNC) != 0}
	return h, fuse.FOPEN_DIRECT_IO, 0
}

// writeHandle is one open of the file. It keeps its own unfinished line.
type writeHandle struct {
	n    *writeNode
	sync bool

	mu sync.Mutex
	w  *logstore.LineWriter
	// writer is the thread that wrote last: its process ends the line that it
	// left unfinished by closing the file.
	writer uint32
}

// Write appends the lines that end in data. Where in the file the kernel
// would put them means nothing.
func (h *writeHandle) Write(ctx context.Context, data []byte, _ int64) (uint32, syscall.Errno) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writer = caller(ctx)
	n, err := h.w.Write(data)
	if err == nil && h.sync {
		err = h.n.p.Sync()
	}
	if err != nil {
		return 0, h.n.m.errno("append", h.n.p.Name(), err)
	}
	return uint32(n), 0
}

// Read refuses.
func (h *writeHandle) Read(context.Context, []byte, int64) (fuse.ReadResult, syscall.Errno) {
	return nil, syscall.EBADF
}

// Fsync makes what was appended durable.
func (h *writeHandle) Fsync(context.Context, uint32) syscall.Errno {
	return h.n.m.errno("fsync", h.n.p.Name(), h.n.p.Sync())
}

// Flush is a close(2). When it is by the process that wrote last, its
// unfinished line becomes a record; any other is a copy of the descriptor that
// a child process had.
func (h *writeHandle) Flush(ctx context.Context) syscall.Errno {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.w.Pending() || !sameProcess(caller(ctx), h.writer) {
		return 0
	}
	return h.flush()
}

// Release is the end of the handle: what is unfinished now, nobody finishes.
func (h *writeHandle) Release(context.Context) syscall.Errno {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.flush()
}

func (h *writeHandle) flush() syscall.Errno {
	err := h.w.Flush()
	if err == nil && h.sync {
		err = h.n.p.Sync()
	}
	return h.n.m.errno("append at close", h.n.p.Name(), err)
}

func caller(ctx context.Context) uint32 {
	c, ok := fuse.FromContext(ctx)
	if !ok {
		return 0
	}
	return c.Pid
}

// sameProcess reports whether two threads, which are what the kernel names,
// are of one process. A thread that is gone or out of sight is of none.
func sameProcess(a, b uint32) bool {
	if a == 0 || b == 0 {
		return false
	}
	if a == b {
		return true
	}
	pa, pb := process(a), process(b)
	return pa != "" && pa == pb
}

func process(thread uint32) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(status), "\nTgid:")
	id, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(id)
}
