package fs

import (
	"context"
	"strconv"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"klogfs/logstore"
)

// topicsNode is topics/: the topics, each a directory.
type topicsNode struct{ dirNode }

// Lookup finds a topic.
func (n *topicsNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	t, err := n.m.store.Topic(name)
	if err != nil {
		return nil, n.m.errno("look up topic", name, err)
	}
	id, errno := n.topicID(t)
	if errno != 0 {
		return nil, errno
	}
	return n.enter(ctx, &topicNode{dirNode{node{m: n.m}}, name}, id, out), 0
}

// topicID is a topic's identity: that of its first partition.
func (n *topicsNode) topicID(t logstore.Topic) (gofs.StableAttr, syscall.Errno) {
	p, err := n.m.store.Partition(logstore.TopicPartition{Topic: t.Name, Partition: t.Partitions[0]})
	if err != nil {
		return gofs.StableAttr{}, n.m.errno("look up topic", t.Name, err)
	}
	return inode(syscall.S_IFDIR, p.ID(), kindTopic, 0), 0
}

// Readdir lists the topics.
func (n *topicsNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	var entries []fuse.DirEntry
	for _, t := range n.m.store.Topics() {
		if id, errno := n.topicID(t); errno == 0 {
			entries = append(entries, entry(t.Name, id))
		}
	}
	return names(entries...)
}

// Mkdir makes a topic with num.partitions partitions.
func (n *topicsNode) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	if err := n.m.store.CreateTopic(name, 0, nil); err != nil {
		return nil, n.m.errno("mkdir", name, err)
	}
	return n.Lookup(ctx, name, out)
}

// Rmdir deletes a topic, where the mount allows that.
func (n *topicsNode) Rmdir(_ context.Context, name string) syscall.Errno {
	if _, err := n.m.store.Topic(name); err != nil {
		return n.m.errno("rmdir", name, err)
	}
	return n.m.deletion(name, func() error { return n.m.store.DeleteTopic(name) })
}

// topicNode is the directory of a topic: its configuration, and links to its
// partitions.
type topicNode struct {
	dirNode
	topic string
}

const nameConfig = "config"

func (n *topicNode) deleted() bool {
	_, err := n.m.store.Topic(n.topic)
	return err != nil
}

// Opendir refuses a deleted topic, as a partition's directory does.
func (n *topicNode) Opendir(context.Context) syscall.Errno { return staleIf(n.deleted()) }

// Lookup finds an entry.
func (n *topicNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	switch name {
	case nameConfig:
		return n.configFile(ctx, out)
	case nameStatus:
		return n.file(ctx, gofs.StableAttr{Mode: syscall.S_IFREG}, n.status, out)
	}
	number, ok := parseOffset(name)
	if !ok {
		return nil, syscall.ENOENT
	}
	p, errno := n.m.partition(n.topic + "-" + strconv.FormatInt(number, 10))
	if errno != 0 {
		return nil, errno
	}
	id := inode(syscall.S_IFLNK, p.ID(), kindTopicPartition, 0)
	return n.link(ctx, id, fixed("../../"+p.Name()), out)
}

// Readdir lists the directory.
func (n *topicNode) Readdir(context.Context) (gofs.DirStream, syscall.Errno) {
	t, err := n.m.store.Topic(n.topic)
	if err != nil {
		return nil, n.m.errno("list topic", n.topic, err)
	}
	entries := []fuse.DirEntry{{Name: nameConfig, Mode: syscall.S_IFREG}, {Name: nameStatus, Mode: syscall.S_IFREG}}
	for _, number := range t.Partitions {
		entries = append(entries, fuse.DirEntry{Name: strconv.Itoa(int(number)), Mode: syscall.S_IFLNK})
	}
	return names(entries...)
}

// status is status.json of the topic.
func (n *topicNode) status() (content, error) {
	t, err := n.m.store.Topic(n.topic)
	if err != nil {
		return content{}, err
	}
	return n.m.json(t, n.m.started)
}
