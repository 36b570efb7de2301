// Package disk is the one door through which a store reaches a file system.
//
// The interface is small on purpose: whatever can be said through it can also
// be said by a twin that fails on command or loses what was not synced, so
// the rules of durability can be tested without a machine that loses power.
package disk

import (
	"io"
	"time"
)

// FS is a file system below a store. Names are paths as the os package takes
// them. All methods may be called by several goroutines at once.
// Errors wrap the errno of the system, so errors.Is works with fs.ErrNotExist
// and with syscall.ENOSPC alike.
type FS interface {
	// Open opens a file for reading only. It never changes the file, its
	// access time included where the system allows that.
	Open(name string) (File, error)
	// Edit opens a file that is there for reading and writing.
	Edit(name string) (File, error)
	// Create opens a file for reading and writing, and makes it when it is
	// not there. What it holds is kept. The directory is not synced.
	Create(name string) (File, error)
	// Mkdir makes a directory and its missing parents.
	Mkdir(name string) error
	// Rename replaces newName by oldName in one step.
	Rename(oldName, newName string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// List returns what a directory holds, sorted by name.
	List(name string) ([]Info, error)
	// Stat describes a file without following a symbolic link.
	Stat(name string) (Info, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// Lock takes the advisory write lock that a broker takes on the file
	// (fcntl, the whole file), and makes the file when it is not there.
	// ErrLocked is returned when another process holds it. Closing gives the
	// lock back.
	Lock(name string) (io.Closer, error)
}

// File is one open file. ReadAt may be called by several goroutines at once;
// writes are the caller's to order.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes the content and the size durable.
	Sync() error
	// Truncate cuts the file to size bytes.
	Truncate(size int64) error
	// Stat describes the open file.
	Stat() (Info, error)
	// Fd is the descriptor, valid until Close, for the kernel to read from
	// without a copy; -1 when there is none.
	Fd() int
}

// Info describes a file or directory.
type Info struct {
	// Name is the last element of the path.
	Name string
	// Size is in bytes.
	Size int64
	// ModTime is the time of the last change of content.
	ModTime time.Time
	// Kind tells regular files and directories from everything else.
	Kind Kind
	// Inode is the number of the file in its file system.
	Inode uint64
}

// Kind is what a directory entry is.
type Kind int8

// The kinds of directory entries that a store tells apart.
const (
	KindOther Kind = iota
	KindFile
	KindDir
)
