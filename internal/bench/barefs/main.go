// Command barefs is the floor that looking a record up is measured against: a
// file system that serves d/o/<n> for every n, a file of 98 bytes made of
// nothing, through the same library and with the same mount options as klogfs.
// What it takes is what the kernel and the library take.
//
//	barefs MOUNTPOINT
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const (
	// size is the length of a record of the reference data.
	size = 98
	// nameTimeout and recordTimeout are klogfs's.
	nameTimeout   = time.Second
	recordTimeout = time.Hour
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: barefs MOUNTPOINT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "barefs:", err)
		os.Exit(1)
	}
}

// run serves until the file system is unmounted or a signal comes.
func run(point string) error {
	server, err := fuse.NewServer(gofs.NewNodeFS(&dir{depth: 0}, &gofs.Options{NullPermissions: true}), point, &fuse.MountOptions{
		FsName: "barefs", Name: "barefs", DirectMount: true, MaxWrite: 1 << 20, MaxBackground: 64,
		DisableReadDirPlus: true, IgnoreSecurityLabels: true, DisableXAttrs: true,
		ExtraCapabilities: fuse.CAP_DIRECT_IO_ALLOW_MMAP,
	})
	if err != nil {
		return fmt.Errorf("mount on %s: %w", point, err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for range signals {
			if err := server.Unmount(); err != nil {
				fmt.Fprintln(os.Stderr, "barefs:", err)
			}
		}
	}()
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		return fmt.Errorf("mount on %s: %w", point, err)
	}
	fmt.Fprintf(os.Stderr, "barefs: mounted on %s\n", point)
	server.Wait()
	return nil
}

// dir is the root, d or o: as many levels as a record of klogfs is below its
// mount.
type dir struct {
	gofs.Inode
	depth int
}

var (
	_ gofs.NodeLookuper = (*dir)(nil)
	_ gofs.NodeOpener   = (*file)(nil)
	_ gofs.FileReader   = (*handle)(nil)
)

// Lookup finds a directory by its one name, or a file by any number.
func (d *dir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	if d.depth < 2 {
		if name != [...]string{"d", "o"}[d.depth] {
			return nil, syscall.ENOENT
		}
		out.Mode = syscall.S_IFDIR | 0o755
		out.SetEntryTimeout(nameTimeout)
		out.SetAttrTimeout(nameTimeout)
		child := &dir{depth: d.depth + 1}
		return d.NewInode(ctx, child, gofs.StableAttr{Mode: syscall.S_IFDIR, Ino: uint64(child.depth) + 1}), 0
	}
	n, err := strconv.ParseUint(name, 10, 62)
	if err != nil {
		return nil, syscall.ENOENT
	}
	out.Mode, out.Size = syscall.S_IFREG|0o444, size
	out.SetAttrTimeout(recordTimeout)
	return d.NewInode(ctx, &file{n: n}, gofs.StableAttr{Mode: syscall.S_IFREG, Ino: n + 16}), 0
}

// file is one of the numbered files.
type file struct {
	gofs.Inode
	n uint64
}

// Getattr shows the file.
func (f *file) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = syscall.S_IFREG|0o444, size
	out.SetTimeout(recordTimeout)
	return 0
}

// Open makes the content.
func (f *file) Open(context.Context, uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	b := make([]byte, size)
	for i := copy(b, strconv.FormatUint(f.n, 10)); i < size; i++ {
		b[i] = '.'
	}
	return &handle{b}, 0, 0
}

// handle is a file that is open.
type handle struct{ b []byte }

// Read reads it.
func (h *handle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	off = min(off, size)
	return fuse.ReadResultData(h.b[off:min(off+int64(len(dest)), size)]), 0
}
