package fs

import (
	"context"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"klogfs/logstore"
)

// partitionNode is the directory of a topic-partition.
type partitionNode struct {
	dirNode
	p *logstore.Partition
}

func newPartitionNode(m *Mount, p *logstore.Partition) *partitionNode {
	return &partitionNode{dirNode{node{m: m}}, p}
}

func (n *partitionNode) deleted() bool { return n.p.Deleted() }

// Opendir refuses a deleted partition: the kernel then looks its name up anew.
func (n *partitionNode) Opendir(context.Context) syscall.Errno { return staleIf(n.p.Deleted()) }

func staleIf(deleted bool) syscall.Errno {
	if deleted {
		return syscall.ESTALE
	}
	return 0
}

// id is the identity of one of the partition's own files.
func (n *partitionNode) id(mode uint32, k kind) gofs.StableAttr { return inode(mode, n.p.ID(), k, 0) }

// partitionEntries are the names in a partition directory.
var partitionEntries = []struct {
	name string
	mode uint32
	kind kind
}{
	{"write", syscall.S_IFREG, kindWrite},
	{"values", syscall.S_IFREG, kindValues},
	{"records.jsonl", syscall.S_IFREG, kindJSONL},
	{"records.tsv", syscall.S_IFREG, kindTSV},
	{"offset", syscall.S_IFDIR, kindOffsets},
	{"time", syscall.S_IFDIR, kindTimes},
	{"segments", syscall.S_IFLNK, kindSegments},
	{nameStatus, syscall.S_IFREG, kindPartitionStatus},
}

// Readdir lists the directory.
func (n *partitionNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	entries := make([]fuse.DirEntry, 0, len(partitionEntries))
	for _, e := range partitionEntries {
		entries = append(entries, entry(e.name, n.id(e.mode, e.kind)))
	}
	return names(entries...)
}

// Lookup finds an entry of the directory.
func (n *partitionNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	if n.p.Deleted() {
		return nil, syscall.ESTALE
	}
	for _, e := range partitionEntries {
		if e.name == name {
			return n.lookup(ctx, e.kind, n.id(e.mode, e.kind), out)
		}
	}
	return nil, syscall.ENOENT
}

func (n *partitionNode) lookup(ctx context.Context, k kind, id gofs.StableAttr, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	switch k {
	case kindWrite:
		n.m.writeAttr(&out.Attr, n.p)
		out.SetEntryTimeout(nameTimeout)
		return n.NewInode(ctx, &writeNode{node{m: n.m}, n.p}, id), 0
	case kindOffsets:
		return n.enter(ctx, &offsetsNode{dirNode{node{m: n.m}}, n.p}, id, out), 0
	case kindTimes:
		return n.enter(ctx, &timesNode{dirNode{node{m: n.m}}, n.p}, id, out), 0
	case kindSegments:
		return n.link(ctx, id, fixed("../"+nameRaw+"/"+n.p.Name()), out)
	case kindPartitionStatus:
		return n.file(ctx, id, func() (content, error) { return n.m.partitionStatus(n.p) }, out)
	case kindValues:
		return n.view(ctx, logstore.FormatValues, id, out)
	case kindJSONL:
		return n.view(ctx, logstore.FormatJSONL, id, out)
	default:
		return n.view(ctx, logstore.FormatTSV, id, out)
	}
}

// view makes a view of the records the answer of a lookup.
func (n *partitionNode) view(ctx context.Context, f logstore.Format, id gofs.StableAttr, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	v := &viewNode{node{m: n.m}, n.p, n.p.View(f)}
	if errno := v.attr(&out.Attr); errno != 0 {
		return nil, errno
	}
	return n.NewInode(ctx, v, id), 0
}
