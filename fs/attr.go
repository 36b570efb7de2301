package fs

import (
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// kind is what a node is; with a partition and a number it makes an inode
// number that no other file of the mount has.
type kind uint64

const (
	kindRoot kind = iota
	kindReadme
	kindRootStatus
	kindPartition
	kindWrite
	kindValues
	kindJSONL
	kindTSV
	kindOffsets
	kindRecord
	kindRecordJSON
	kindRecordKey
	kindEarliest
	kindLatest
	kindTimes
	kindSegments
	kindPartitionStatus
	kindRaw
	kindRawRootFile
	kindRawPartition
	kindRawGrowing
	kindRawSealed
	kindTopics
	kindTopic
	kindTopicPartition
	kindTopicConfig
	kindGroups
)

// inode makes the identity of a node: what stat shows as its number, and a
// generation that keeps nodes apart whose numbers do not fit.
func inode(mode uint32, partition uint32, k kind, n int64) gofs.StableAttr {
	const numberBits, kindBits = 40, 6
	const partitionBits = 63 - numberBits - kindBits
	u := uint64(n)
	ino := uint64(partition)<<(numberBits+kindBits)&(1<<63-1) | uint64(k)<<numberBits | u&(1<<numberBits-1)
	gen := u>>numberBits<<16 | uint64(partition)>>partitionBits
	return gofs.StableAttr{Mode: mode, Ino: ino + 2, Gen: gen + 1}
}

// How long the kernel may believe what it was told. Names of directories hold
// for a moment; sizes of what grows not at all.
const (
	nameTimeout   = time.Second
	recordTimeout = time.Hour // a record does not change; its name is not kept
)

// optimalIO is what stat advises programs to read and write at a time: cat
// takes it, and fewer, larger requests are faster.
const optimalIO = 1 << 20

func (m *Mount) owner(a *fuse.Attr) {
	a.Uid, a.Gid = m.opts.UID, m.opts.GID
}

// dirAttr fills in what stat shows of a directory.
func (m *Mount) dirAttr(a *fuse.Attr) {
	m.owner(a)
	a.Mode = syscall.S_IFDIR | 0o755&^m.opts.Umask
	a.Nlink = 2
	setTime(a, m.started)
}

// fileAttr fills in what stat shows of a file that can be read.
func (m *Mount) fileAttr(a *fuse.Attr, size int64, modified time.Time) {
	m.owner(a)
	a.Mode = syscall.S_IFREG | 0o444&^m.opts.Umask
	a.Nlink = 1
	setSize(a, size)
	setTime(a, modified)
}

// linkAttr fills in what stat shows of a symbolic link.
func (m *Mount) linkAttr(a *fuse.Attr, target string) {
	m.owner(a)
	a.Mode = syscall.S_IFLNK | 0o777
	a.Nlink = 1
	a.Size = uint64(len(target))
	setTime(a, m.started)
}

func setSize(a *fuse.Attr, size int64) {
	const block = 512
	a.Size = uint64(size)
	a.Blocks = (a.Size + block - 1) / block
}

func setTime(a *fuse.Attr, t time.Time) {
	a.SetTimes(&t, &t, &t)
}
