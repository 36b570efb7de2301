package fs

import (
	"context"
	"log/slog"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"klogfs/logstore"
)

const (
	nameReadme = "README"
	nameStatus = "status.json"
	nameRaw    = "raw"
	nameTopics = "topics"
	nameGroups = "groups"
)

// rootNode is the mount's root: the topic-partitions, and what is about all
// of them.
type rootNode struct{ dirNode }

var (
	idReadme     = inode(syscall.S_IFREG, 0, kindReadme, 0)
	idRootStatus = inode(syscall.S_IFREG, 0, kindRootStatus, 0)
	idRaw        = inode(syscall.S_IFDIR, 0, kindRaw, 0)
	idTopics     = inode(syscall.S_IFDIR, 0, kindTopics, 0)
	idGroups     = inode(syscall.S_IFDIR, 0, kindGroups, 0)
)

func idPartition(p *logstore.Partition) gofs.StableAttr {
	return inode(syscall.S_IFDIR, p.ID(), kindPartition, 0)
}

// Lookup finds an entry of the root.
func (n *rootNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	switch name {
	case nameReadme:
		return n.file(ctx, idReadme, n.m.readme, out)
	case nameStatus:
		return n.file(ctx, idRootStatus, n.m.rootStatus, out)
	case nameRaw:
		return n.enter(ctx, &rawNode{dirNode{node{m: n.m}}}, idRaw, out), 0
	case nameGroups:
		return n.enter(ctx, &groupsNode{dirNode{node{m: n.m}}}, idGroups, out), 0
	case nameTopics:
		return n.enter(ctx, &topicsNode{dirNode{node{m: n.m}}}, idTopics, out), 0
	}
	p, errno := n.m.partition(name)
	if errno != 0 {
		return nil, errno
	}
	return n.enter(ctx, newPartitionNode(n.m, p), idPartition(p), out), 0
}

// partition is the partition of a directory's name, ENOENT for whatever is
// none.
func (m *Mount) partition(name string) (*logstore.Partition, syscall.Errno) {
	tp, err := logstore.ParseTopicPartition(name)
	if err != nil {
		return nil, syscall.ENOENT
	}
	p, err := m.store.Partition(tp)
	return p, m.errno("look up", name, err)
}

// Readdir lists the root.
func (n *rootNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	entries := []fuse.DirEntry{
		entry(nameReadme, idReadme), entry(nameStatus, idRootStatus), entry(nameRaw, idRaw), entry(nameTopics, idTopics), entry(nameGroups, idGroups),
	}
	for _, p := range n.m.store.Partitions() {
		entries = append(entries, entry(p.Name(), idPartition(p)))
	}
	return names(entries...)
}

// Mkdir makes a partition: the next one of its topic, or number 0 of a new
// topic.
func (n *rootNode) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	tp, err := logstore.ParseTopicPartition(name)
	if err == nil {
		err = n.m.store.AddPartition(tp)
	}
	if err != nil {
		return nil, n.m.errno("mkdir", name, err)
	}
	return n.Lookup(ctx, name, out)
}

// Rmdir deletes a partition, where the mount allows that.
func (n *rootNode) Rmdir(_ context.Context, name string) syscall.Errno {
	p, errno := n.m.partition(name)
	if errno != 0 {
		return errno
	}
	return n.m.deletion(name, func() error { return n.m.store.DeletePartition(p.TopicPartition()) })
}

// deletion runs what deletes something, if the mount allows that.
func (m *Mount) deletion(name string, remove func() error) syscall.Errno {
	if !m.store.Writable() {
		return syscall.EROFS
	}
	if !m.opts.AllowDelete {
		m.log.Warn("rmdir refused: mount with --allow-delete to delete topics and partitions", slog.String("name", name))
		return syscall.EPERM
	}
	errno := m.errno("rmdir", name, remove())
	go m.forgetDeleted()
	return errno
}

// forgetDeleted makes the kernel forget the directories of partitions that are
// gone, wherever it has them. The kernel waits for the answer of the rmdir
// with a directory locked, so this may not run within.
func (m *Mount) forgetDeleted() {
	for _, dir := range []*gofs.Inode{m.root.EmbeddedInode(), m.root.GetChild(nameRaw), m.root.GetChild(nameTopics)} {
		if dir == nil {
			continue
		}
		for name, child := range dir.Children() {
			p, ok := child.Operations().(interface{ deleted() bool })
			if ok && p.deleted() {
				_ = dir.NotifyEntry(name) // ENOENT: the kernel has forgotten it already
			}
		}
	}
}
