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
	number, k, part := name, kindRecord, logstore.PartValue
	if s, ok := strings.CutSuffix(name, suffixJSON); ok {
		number, k, part = s, kindRecordJSON, logstore.PartJSON
	} else if s, ok := strings.CutSuffix(name, suffixKey); ok {
		number, k, part = s, kindRecordKey, logstore.PartKey
	}
	offset, ok := parseOffset(number)
	if !ok {
		return nil, syscall.ENOENT
	}
	loc, err := n.p.Locate(offset)
	if err != nil {
		return nil, n.m.errno("look up record", n.p.Name()+"/offset/"+name, err)
	}
	r := &recordNode{node: node{m: n.m}, p: n.p, part: part, loc: loc}
	if r.size, err = loc.PartSize(part); err != nil {
		return nil, n.m.errno("look up record", n.p.Name()+"/offset/"+name, err)
	}
	r.attr(&out.Attr)
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
	part logstore.RecordPart
	loc  logstore.Location
	size int64
}

// Getattr shows the record.
func (n *recordNode) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.SetTimeout(recordTimeout)
	n.attr(&out.Attr)
	return 0
}

func (n *recordNode) attr(a *fuse.Attr) {
	n.m.fileAttr(a, n.size, time.UnixMilli(max(n.loc.Timestamp, 0)))
}

// place is where the record is now: its segment may have been replaced since
// it was looked up.
func (n *recordNode) place() (logstore.Location, error) {
	if !n.loc.Stale() || n.p.Deleted() {
		return n.loc, nil
	}
	return n.p.Locate(n.loc.Offset)
}

// read makes the whole content of the file.
func (n *recordNode) read(loc logstore.Location) ([]byte, error) {
	switch n.part {
	case logstore.PartKey:
		return loc.AppendKey(nil)
	case logstore.PartJSON:
		return loc.AppendJSON(nil)
	case logstore.PartValue:
	}
	return loc.ReadValue(nil)
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
	if err != nil {
		return nil, 0, n.m.errno("open record", n.p.Name(), err)
	}
	h, err := n.open(loc)
	if _, ok := h.(*largeHandle); ok {
		// Its text is made in order: the kernel shall not ask ahead of that.
		return h, fuse.FOPEN_DIRECT_IO, 0
	}
	return h, 0, n.m.errno("open record", n.p.Name(), err)
}

func (n *recordNode) open(loc logstore.Location) (gofs.FileHandle, error) {
	if n.part == logstore.PartValue && loc.ValueSize >= spliceFrom {
		if v, ok, err := loc.Span(); ok || err != nil {
			return &spanHandle{v}, err
		}
	}
	if loc.Large() {
		return &largeHandle{n, loc.Open(n.part)}, nil
	}
	b, err := n.read(loc)
	return &recordHandle{b}, err
}

// largeHandle is a large record that is open, and read out of its batch.
type largeHandle struct {
	n *recordNode
	r *logstore.RecordReader
}

// Read reads it.
func (h *largeHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := h.r.ReadAt(dest, off)
	return reply{b: dest[:n]}, h.n.m.errno("read record", h.n.p.Name(), err)
}

// Release closes it.
func (h *largeHandle) Release(context.Context) syscall.Errno {
	h.r.Close()
	return 0
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
