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

// timesNode is time/: links to the first record at or after a time. No time is
// listed, every one can be asked for.
type timesNode struct {
	dirNode
	p *logstore.Partition
}

// Lookup finds the record of a time.
func (n *timesNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	if _, ok := parseTime(name, n.m.started); !ok {
		return nil, syscall.ENOENT
	}
	found, errno := n.find(name)
	if errno != 0 {
		return nil, errno
	}
	// Readlink comes next, and is answered with what was just found.
	l := &timeLink{node{m: n.m}, found}
	n.m.linkAttr(&out.Attr, found)
	return n.NewInode(ctx, l, gofs.StableAttr{Mode: syscall.S_IFLNK}), 0
}

func (n *timesNode) find(name string) (string, syscall.Errno) {
	if err := n.p.Refresh(); err != nil {
		return "", n.m.errno("look up time", name, err)
	}
	ms, _ := parseTime(name, time.Now())
	loc, err := n.p.OffsetForTime(ms)
	if err != nil {
		return "", n.m.errno("look up time", n.p.Name()+"/time/"+name, err)
	}
	return "../offset/" + strconv.FormatInt(loc.Offset, 10), 0
}

// Readdir lists nothing.
func (n *timesNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) { return names() }

// timeLink is what a time was found to be. The next look finds anew.
type timeLink struct {
	node
	target string
}

// Readlink is the record.
func (n *timeLink) Readlink(context.Context) ([]byte, syscall.Errno) { return []byte(n.target), 0 }

// Getattr shows the link.
func (n *timeLink) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.m.linkAttr(&out.Attr, n.target)
	return 0
}

// parseTime takes milliseconds since 1970, RFC 3339, or a negative duration
// from now.
func parseTime(name string, now time.Time) (int64, bool) {
	if isDigits(name) {
		ms, err := strconv.ParseInt(name, 10, 64)
		return ms, err == nil
	}
	if strings.HasPrefix(name, "-") {
		d, err := time.ParseDuration(name)
		return now.Add(d).UnixMilli(), err == nil && !isDigits(name[1:])
	}
	t, err := time.Parse(time.RFC3339Nano, name)
	if err != nil {
		return 0, false
	}
	// A record of this very millisecond is not before it.
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms, true
}

func isDigits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}
