package fs

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"klogfs/logstore"
)

// offsetsNode is offset/: the records by offset.
type offsetsNode struct {
	dirNode
	p *logstore.Partition
}

const (
	nameEarliest = "earliest"
	nameLatest   = "latest"
	suffixJSON   = ".json"
	suffixKey    = ".key"
)

// Lookup finds a record by the name of a file.
func (n *offsetsNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	if err := n.p.Refresh(); err != nil {
		return nil, n.m.errno("look up", name, err)
	}
	switch name {
	case nameEarliest:
		return n.end(ctx, kindEarliest, n.p.Earliest, out)
	case nameLatest:
		return n.end(ctx, kindLatest, n.p.Latest, out)
	}
	number, k := name, kindRecord
	if s, ok := strings.CutSuffix(name, suffixJSON); ok {
		number, k = s, kindRecordJSON
	} else if s, ok := strings.CutSuffix(name, suffixKey); ok {
		number, k = s, kindRecordKey
	}
	offset, ok := parseOffset(number)
	if !ok {
		return nil, syscall.ENOENT
	}
	loc, err := n.p.Locate(offset)
	if err != nil {
		return nil, n.m.errno("look up record", n.p.Name()+"/offset/"+name, err)
	}
	r := &recordNode{node: node{m: n.m}, p: n.p, kind: k, loc: loc}
	if errno := r.attr(&out.Attr); errno != 0 {
		return nil, errno
	}
	out.SetAttrTimeout(recordTimeout)
	return n.NewInode(ctx, r, inode(syscall.S_IFREG, n.p.ID(), k, offset)), 0
}

// end is the link to the first or the last record.
func (n *offsetsNode) end(ctx context.Context, k kind, find func() (logstore.Location, error), out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	target := func() (string, error) {
		if err := n.p.Refresh(); err != nil {
			return "", err
		}
		loc, err := find()
		return strconv.FormatInt(loc.Offset, 10), err
	}
	return n.link(ctx, inode(syscall.S_IFLNK, n.p.ID(), k, 0), target, out)
}

// parseOffset takes the one spelling of an offset that there is.
func parseOffset(s string) (int64, bool) {
	offset, err := strconv.ParseInt(s, 10, 64)
	return offset, err == nil && offset >= 0 && strconv.FormatInt(offset, 10) == s
}

// Readdir lists the newest offsets, as many as the mount's limit says.
func (n *offsetsNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	if err := n.p.Refresh(); err != nil {
		return nil, n.m.errno("list", n.p.Name(), err)
	}
	from, err := n.p.NewestOffsets(n.m.opts.ListLimit)
	if err != nil {
		return nil, n.m.errno("list", n.p.Name(), err)
	}
	d := &offsetStream{n: n, offsets: n.p.Offsets(from)}
	d.advance()
	if d.more {
		d.links = []fuse.DirEntry{
			entry(nameEarliest, inode(syscall.S_IFLNK, n.p.ID(), kindEarliest, 0)),
			entry(nameLatest, inode(syscall.S_IFLNK, n.p.ID(), kindLatest, 0)),
		}
	}
	return d, 0
}

// offsetStream lists offsets as they are asked for.
type offsetStream struct {
	n       *offsetsNode
	links   []fuse.DirEntry
	offsets *logstore.Offsets
	more    bool
}

func (d *offsetStream) advance() { d.more = d.offsets.Next() }

// HasNext reports whether there is another entry.
func (d *offsetStream) HasNext() bool { return len(d.links) > 0 || d.more || d.offsets.Err() != nil }

// Next is the next entry.
func (d *offsetStream) Next() (fuse.DirEntry, syscall.Errno) {
	if len(d.links) > 0 {
		e := d.links[0]
		d.links = d.links[1:]
		return e, 0
	}
	if err := d.offsets.Err(); err != nil {
		return fuse.DirEntry{}, d.n.m.errno("list", d.n.p.Name(), err)
	}
	offset := d.offsets.Offset()
	d.advance()
	return entry(strconv.FormatInt(offset, 10), inode(syscall.S_IFREG, d.n.p.ID(), kindRecord, offset)), 0
}

// Close ends the listing.
func (d *offsetStream) Close() { d.offsets.Close() }

// recordNode is one record: its value, its key, or all of it as JSON. It was
// found when it was looked up, and does not change.
type recordNode struct {
	node
	p    *logstore.Partition
	kind kind
	loc  logstore.Location
}

// Getattr shows the record.
func (n *recordNode) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.SetTimeout(recordTimeout)
	return n.attr(&out.Attr)
}

func (n *recordNode) attr(a *fuse.Attr) syscall.Errno {
	size := n.loc.ValueSize
	if n.kind != kindRecord {
		b, err := n.bytes()
		if err != nil {
			return n.m.errno("stat record", n.p.Name(), err)
		}
		size = int64(len(b))
	}
	n.m.fileAttr(a, size, time.UnixMilli(max(n.loc.Timestamp, 0)))
	return 0
}

// place is where the record is now: its segment may have been replaced since
// it was looked up.
func (n *recordNode) place() (logstore.Location, error) {
	if !n.loc.Stale() || n.p.Deleted() {
		return n.loc, nil
	}
	return n.p.Locate(n.loc.Offset)
}

// bytes makes the whole content of the file.
func (n *recordNode) bytes() ([]byte, error) {
	loc, err := n.place()
	if err != nil {
		return nil, err
	}
	return n.read(loc)
}

func (n *recordNode) read(loc logstore.Location) ([]byte, error) {
	if n.kind == kindRecord {
		return loc.ReadValue(nil)
	}
	if n.kind == kindRecordKey {
		return loc.AppendKey(nil)
	}
	return loc.AppendJSON(nil)
}

// From spliceFrom bytes on the kernel takes a reply out of the segment by
// itself: below, a copy is faster than a pipe. spliceTo and its header are
// what the pipe holds.
const (
	spliceFrom = 64 << 10
	spliceTo   = optimalIO - 8<<10
)

// Open opens the record.
func (n *recordNode) Open(_ context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, syscall.EROFS
	}
	loc, err := n.place()
	if err == nil && n.kind == kindRecord && loc.ValueSize >= spliceFrom {
		v, ok, err := loc.Span()
		if err != nil {
			return nil, 0, n.m.errno("open record", n.p.Name(), err)
		}
		if ok {
			return &spanHandle{v}, 0, 0
		}
	}
	var b []byte
	if err == nil {
		b, err = n.read(loc)
	}
	if err != nil {
		return nil, 0, n.m.errno("open record", n.p.Name(), err)
	}
	return &recordHandle{b}, 0, 0
}

// recordHandle is a record that is open.
type recordHandle struct{ b []byte }

// Read reads it.
func (h *recordHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	return slice(h.b, dest, off), 0
}

// spanHandle is a large value that is open: a stretch of its segment's file.
type spanHandle struct{ v *logstore.Span }

// Read lets the kernel take the bytes from the file.
func (h *spanHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	size := min(int64(len(dest)), h.v.Size-off)
	if size <= 0 {
		return reply{}, 0
	}
	if size >= spliceFrom && size <= spliceTo {
		return fuse.ReadResultFd(uintptr(h.v.Fd()), h.v.Position+off, int(size)), 0
	}
	n, err := h.v.ReadAt(dest[:size], off)
	if n < int(size) {
		return nil, toErrno(err)
	}
	return reply{b: dest[:n]}, 0
}

// Release closes the file.
func (h *spanHandle) Release(context.Context) syscall.Errno {
	h.v.Close()
	return 0
}
