package fs

import (
	"context"
	"log/slog"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// node is what all nodes have. Its methods are the answers of a file that
// nobody may change.
type node struct {
	gofs.Inode
	m *Mount
}

// Setattr refuses to change anything. Truncation of what can't be written is
// refused by the mode before it comes here, but for root.
func (n *node) Setattr(_ context.Context, _ gofs.FileHandle, in *fuse.SetAttrIn, _ *fuse.AttrOut) syscall.Errno {
	if _, ok := in.GetSize(); ok {
		return syscall.EROFS
	}
	return syscall.EPERM
}

// Statfs shows the file system that the first log directory is on.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	var st unix.Statfs_t
	if err := unix.Statfs(n.m.store.LogDirs()[0], &st); err != nil {
		return toErrno(err)
	}
	*out = fuse.StatfsOut{
		Blocks: st.Blocks, Bfree: st.Bfree, Bavail: st.Bavail, Files: st.Files, Ffree: st.Ffree,
		Bsize: uint32(st.Bsize), Frsize: uint32(st.Frsize), NameLen: 255,
	}
	return 0
}

// errno maps an error, and tells the operator why: the caller has a number
// only.
func (m *Mount) errno(operation, name string, err error) syscall.Errno {
	errno := toErrno(err)
	level := slog.LevelWarn
	switch errno {
	case 0, syscall.ENOENT, syscall.EEXIST:
		return errno
	case syscall.EIO, syscall.ENOSPC, syscall.EDQUOT:
		level = slog.LevelError
	}
	m.log.Log(context.Background(), level, operation, slog.String("name", name), slog.Any("cause", err), slog.String("errno", errno.Error()))
	return errno
}

// dirNode is a directory. What it holds differs, what stat shows does not.
type dirNode struct{ node }

// Getattr shows a directory.
func (n *dirNode) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.m.dirAttr(&out.Attr)
	out.SetTimeout(nameTimeout)
	return 0
}

// Create refuses: files come from the store alone.
func (n *dirNode) Create(context.Context, string, uint32, uint32, *fuse.EntryOut) (*gofs.Inode, gofs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EPERM
}

// Mkdir refuses, where no directory can be made.
func (n *dirNode) Mkdir(context.Context, string, uint32, *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

// Rmdir refuses, where no directory can be removed.
func (n *dirNode) Rmdir(context.Context, string) syscall.Errno { return syscall.EPERM }

// Unlink refuses.
func (n *dirNode) Unlink(context.Context, string) syscall.Errno { return syscall.EPERM }

// Mknod refuses.
func (n *dirNode) Mknod(context.Context, string, uint32, uint32, *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

// Symlink refuses.
func (n *dirNode) Symlink(context.Context, string, string, *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

// Link refuses.
func (n *dirNode) Link(context.Context, gofs.InodeEmbedder, string, *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

// Rename refuses.
func (n *dirNode) Rename(context.Context, string, gofs.InodeEmbedder, string, uint32) syscall.Errno {
	return syscall.EPERM
}

// enter makes a directory the answer of a lookup.
func (n *node) enter(ctx context.Context, dir gofs.InodeEmbedder, id gofs.StableAttr, out *fuse.EntryOut) *gofs.Inode {
	n.m.dirAttr(&out.Attr)
	out.SetEntryTimeout(nameTimeout)
	out.SetAttrTimeout(nameTimeout)
	return n.NewInode(ctx, dir, id)
}

// linkNode is a symbolic link that is resolved at every look.
type linkNode struct {
	node
	target func() (string, error)
}

// Readlink resolves the link.
func (n *linkNode) Readlink(context.Context) ([]byte, syscall.Errno) {
	target, err := n.target()
	return []byte(target), n.m.errno("read link", n.Path(nil), err)
}

// Getattr shows the link.
func (n *linkNode) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	target, err := n.target()
	n.m.linkAttr(&out.Attr, target)
	return n.m.errno("stat link", n.Path(nil), err)
}

// link makes a symbolic link the answer of a lookup. id may be empty.
func (n *node) link(ctx context.Context, id gofs.StableAttr, target func() (string, error), out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	to, err := target()
	if err != nil {
		return nil, n.m.errno("look up link", n.Path(nil), err)
	}
	n.m.linkAttr(&out.Attr, to)
	id.Mode = syscall.S_IFLNK
	return n.NewInode(ctx, &linkNode{node{m: n.m}, target}, id), 0
}

func fixed(target string) func() (string, error) {
	return func() (string, error) { return target, nil }
}

// names lists a directory of a few names.
func names(entries ...fuse.DirEntry) (gofs.DirStream, syscall.Errno) {
	return gofs.NewListDirStream(entries), 0
}

func entry(name string, id gofs.StableAttr) fuse.DirEntry {
	return fuse.DirEntry{Name: name, Mode: id.Mode, Ino: id.Ino}
}
