package fs

import (
	"context"
	"slices"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"klogfs/logstore"
)

// rawNode is raw/: the store as one log directory.
type rawNode struct{ dirNode }

// Lookup finds a file of the root of the log directory, or a partition.
func (n *rawNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	if i := slices.Index(n.m.store.RootFiles(), name); i >= 0 {
		return n.file(ctx, gofs.StableAttr{Mode: syscall.S_IFREG}, func() (content, error) {
			f, err := n.m.store.RootFile(name)
			return content{f.Content, f.ModTime}, err
		}, out)
	}
	p, errno := n.m.partition(name)
	if errno != 0 {
		return nil, errno
	}
	dir := &rawPartitionNode{dirNode{node{m: n.m}}, p}
	return n.enter(ctx, dir, inode(syscall.S_IFDIR, p.ID(), kindRawPartition, 0), out), 0
}

// Readdir lists the log directory.
func (n *rawNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	var entries []fuse.DirEntry
	for _, name := range n.m.store.RootFiles() {
		entries = append(entries, fuse.DirEntry{Name: name, Mode: syscall.S_IFREG})
	}
	for _, p := range n.m.store.Partitions() {
		entries = append(entries, entry(p.Name(), inode(syscall.S_IFDIR, p.ID(), kindRawPartition, 0)))
	}
	return names(entries...)
}

// rawPartitionNode is the directory of a partition with its segments.
type rawPartitionNode struct {
	dirNode
	p *logstore.Partition
}

func (n *rawPartitionNode) deleted() bool { return n.p.Deleted() }

// Opendir refuses a deleted partition.
func (n *rawPartitionNode) Opendir(context.Context) syscall.Errno { return n.gone() }

// gone is what a deleted partition is to who is in its directory still: nothing
// that there is, or, where its name is another's now, to be looked up anew.
func (n *rawPartitionNode) gone() syscall.Errno {
	if !n.p.Deleted() {
		return 0
	}
	if _, err := n.m.store.Partition(n.p.TopicPartition()); err != nil {
		return syscall.ENOENT
	}
	return syscall.ESTALE
}

// orGone is the errno of an error, unless the partition was deleted.
func (n *rawPartitionNode) orGone(operation, name string, err error) syscall.Errno {
	if errno := n.gone(); errno != 0 {
		return errno
	}
	return n.m.errno(operation, name, err)
}

// rawID is a file's identity by its name: segments are numbers with a suffix.
// A sealed file is another node than the growing one it was: the kernel reads
// the one from the disk and asks for the other. One that a broker's cleaner
// replaced is another node, too.
func (n *rawPartitionNode) rawID(f logstore.RawFile) gofs.StableAttr {
	k := kindRawGrowing
	if f.Sealed {
		k = kindRawSealed
	}
	id := inode(syscall.S_IFREG, n.p.ID(), k, f.Number())
	if f.Sealed {
		const free = 40 // what inode leaves of a generation
		id.Gen ^= f.Inode << free
	}
	return id
}

// Lookup finds a file.
func (n *rawPartitionNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	err := n.p.Refresh()
	var f logstore.RawFile
	if err == nil {
		f, err = n.p.RawFile(name)
	}
	if err != nil {
		return nil, n.orGone("look up", n.p.Name()+"/"+name, err)
	}
	n.m.rawAttr(&out.Attr, f.Size, f.ModTime)
	if f.Sealed {
		out.SetAttrTimeout(nameTimeout)
	}
	return n.NewInode(ctx, &rawFileNode{node{m: n.m}, n.p, name, f.Sealed, f.Inode}, n.rawID(f)), 0
}

// rawAttr fills in what stat shows of a raw file.
func (m *Mount) rawAttr(a *fuse.Attr, size int64, modified time.Time) {
	m.fileAttr(a, size, modified)
	a.Blksize = optimalIO
}

// Readdir lists the files.
func (n *rawPartitionNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	err := n.p.Refresh()
	var files []logstore.RawFile
	if err == nil {
		files, err = n.p.RawFiles()
	}
	if err != nil {
		return nil, n.orGone("list", n.p.Name(), err)
	}
	entries := make([]fuse.DirEntry, 0, len(files))
	for _, f := range files {
		entries = append(entries, entry(f.Name, n.rawID(f)))
	}
	return names(entries...)
}

// rawFileNode is a file of a partition as it should look on disk.
type rawFileNode struct {
	node
	p      *logstore.Partition
	name   string
	sealed bool
	disk   uint64 // the file's inode there
}

// Getattr shows the file as it is now.
func (n *rawFileNode) Getattr(_ context.Context, f gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if h, ok := f.(*rawHandle); ok {
		n.m.rawAttr(&out.Attr, h.r.Size(), h.r.ModTime())
		return 0
	}
	file, err := n.p.RawFile(n.name)
	if err != nil {
		return n.m.errno("stat", n.p.Name()+"/"+n.name, err)
	}
	n.m.rawAttr(&out.Attr, file.Size, file.ModTime)
	return 0
}

// Open opens the file. A sealed one is read by the kernel without us, where
// it can; else from its descriptor, and its pages are kept.
func (n *rawFileNode) Open(_ context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, syscall.EROFS
	}
	r, err := n.p.OpenRaw(n.name)
	if err != nil {
		return nil, 0, n.m.errno("open", n.p.Name()+"/"+n.name, err)
	}
	if !n.sealed {
		return &rawHandle{n, r}, fuse.FOPEN_DIRECT_IO, 0
	}
	if !r.Sealed() || r.Inode() != n.disk {
		r.Close() // the kernel looks the name up anew
		return nil, 0, syscall.ESTALE
	}
	h := &sealedHandle{rawHandle{n, r}}
	if n.m.noPassthrough[n.p.LogDir()] {
		return &h.rawHandle, fuse.FOPEN_KEEP_CACHE, 0
	}
	return h, fuse.FOPEN_KEEP_CACHE, 0
}

// rawHandle is a raw file that is open.
type rawHandle struct {
	n *rawFileNode
	r *logstore.RawReader
}

// Read reads the file.
func (h *rawHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	size := min(int64(len(dest)), h.r.Size()-off)
	if size <= 0 {
		return reply{}, 0
	}
	if fd := h.r.Fd(); fd >= 0 && size >= spliceFrom && size <= spliceTo {
		return fuse.ReadResultFd(uintptr(fd), off, int(size)), 0
	}
	n, err := h.r.ReadAt(dest[:size], off)
	if err != nil && n == 0 {
		return nil, h.n.m.errno("read", h.n.p.Name()+"/"+h.n.name, err)
	}
	return reply{b: dest[:n]}, 0
}

// Release closes the file.
func (h *rawHandle) Release(context.Context) syscall.Errno {
	h.r.Close()
	return 0
}

// sealedHandle is a file that the kernel may read by itself.
type sealedHandle struct{ rawHandle }

var _ gofs.FilePassthroughFder = (*sealedHandle)(nil)

// PassthroughFd is the descriptor for the kernel.
func (h *sealedHandle) PassthroughFd() (int, bool) { return h.r.Fd(), true }
