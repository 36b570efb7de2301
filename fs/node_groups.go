package fs

import (
	"context"
	"fmt"
	"net/url"
	"sort"
	"strings"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"klogfs/logstore"
)

// groupsNode is groups/: the consumer groups, each a directory.
type groupsNode struct{ dirNode }

// Lookup finds a group.
func (n *groupsNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	group, ok := unescapeName(name)
	if !ok {
		return nil, syscall.ENOENT
	}
	if _, err := n.m.store.Group(group); err != nil {
		return nil, n.m.errno("look up group", name, err)
	}
	dir := &groupNode{dirNode{node{m: n.m}}, group}
	return n.enter(ctx, dir, gofs.StableAttr{Mode: syscall.S_IFDIR}, out), 0
}

// Readdir lists the groups whose names fit a file's.
func (n *groupsNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	groups, err := n.m.store.Groups()
	if err != nil {
		return nil, n.m.errno("list groups", nameGroups, err)
	}
	var entries []fuse.DirEntry
	for _, group := range groups {
		if name, ok := escapeName(group); ok {
			entries = append(entries, fuse.DirEntry{Name: name, Mode: syscall.S_IFDIR})
		}
	}
	return names(entries...)
}

// groupNode is a consumer group: the partitions that it committed offsets of.
type groupNode struct {
	dirNode
	group string
}

// Lookup finds a partition.
func (n *groupNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	tp, err := logstore.ParseTopicPartition(name)
	if err != nil {
		return nil, syscall.ENOENT
	}
	dir := &committedNode{dirNode{node{m: n.m}}, n.group, tp}
	if _, err := dir.committed(); err != nil {
		return nil, n.m.errno("look up partition of group", n.group+"/"+name, err)
	}
	return n.enter(ctx, dir, gofs.StableAttr{Mode: syscall.S_IFDIR}, out), 0
}

// Readdir lists the partitions.
func (n *groupNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	all, err := n.m.store.Group(n.group)
	if err != nil {
		return nil, n.m.errno("list group", n.group, err)
	}
	var entries []fuse.DirEntry
	for tp := range all {
		entries = append(entries, fuse.DirEntry{Name: tp.String(), Mode: syscall.S_IFDIR})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name < entries[j].Name })
	return names(entries...)
}

// committedNode is what a group committed for a partition.
type committedNode struct {
	dirNode
	group string
	tp    logstore.TopicPartition
}

const (
	nameOffset = "offset"
	nameLag    = "lag"
)

func (n *committedNode) committed() (logstore.Committed, error) {
	all, err := n.m.store.Group(n.group)
	if err != nil {
		return logstore.Committed{}, err
	}
	c, ok := all[n.tp]
	if !ok {
		return c, fmt.Errorf("%s of group %q: %w", n.tp, n.group, logstore.ErrUnknownTopic)
	}
	return c, nil
}

// Lookup finds a file.
func (n *committedNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	switch name {
	case nameOffset:
		return n.file(ctx, gofs.StableAttr{Mode: syscall.S_IFREG}, n.offset, out)
	case nameLag:
		return n.file(ctx, gofs.StableAttr{Mode: syscall.S_IFREG}, n.lag, out)
	}
	return nil, syscall.ENOENT
}

// Readdir lists the files. The lag of a partition that is not here is not
// known.
func (n *committedNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	entries := []fuse.DirEntry{{Name: nameOffset, Mode: syscall.S_IFREG}}
	if _, err := n.m.store.Partition(n.tp); err == nil {
		entries = append(entries, fuse.DirEntry{Name: nameLag, Mode: syscall.S_IFREG})
	}
	return names(entries...)
}

// offset is the committed offset, a number and a newline.
func (n *committedNode) offset() (content, error) {
	c, err := n.committed()
	return number(c.Offset, c), err
}

// lag is how many offsets the group has before it.
func (n *committedNode) lag() (content, error) {
	c, err := n.committed()
	if err != nil {
		return content{}, err
	}
	p, err := n.m.store.Partition(n.tp)
	if err != nil {
		return content{}, err
	}
	lag, err := p.Lag(c.Offset)
	return number(lag, c), err
}

func number(v int64, c logstore.Committed) content {
	return content{fmt.Appendf(nil, "%d\n", v), time.UnixMilli(max(c.Timestamp, 0))}
}

// escapeName makes a file's name of any name: what a name can't have is
// percent-encoded, and the percent sign. It is false where that does not fit.
func escapeName(name string) (string, bool) {
	const longest = 255
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c < ' ' || c == 0x7f || c == '/' || c == '%' || (name == "." || name == "..") {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String(), name != "" && b.Len() <= longest
}

// unescapeName is the name that a file's name stands for, in its one spelling.
func unescapeName(escaped string) (string, bool) {
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return "", false
	}
	again, ok := escapeName(name)
	return name, ok && again == escaped
}
