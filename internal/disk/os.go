package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrLocked is returned when another process holds the lock of a directory.
var ErrLocked = errors.New("locked by another process")

// OS is the machine's own file system.
type OS struct{}

var _ FS = OS{}

// Open opens a file for reading only. A symbolic link is no file of a log, and
// a pipe, which would wait for its writer, is not waited for.
func (OS) Open(name string) (File, error) {
	return wrap(openQuietly(name, unix.O_NOFOLLOW|unix.O_NONBLOCK))
}

// openQuietly opens a file or directory for reading and leaves the time of its
// last access alone. That is for the owner and for root; others read without.
func openQuietly(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOATIME|flags, 0)
	if errors.Is(err, fs.ErrPermission) {
		return os.OpenFile(name, os.O_RDONLY|flags, 0)
	}
	return f, err
}

// Edit opens a file that is there for reading and writing.
func (OS) Edit(name string) (File, error) { return wrap(os.OpenFile(name, os.O_RDWR, 0)) }

// Create opens a file for reading and writing and makes it when missing.
func (OS) Create(name string) (File, error) {
	return wrap(os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644))
}

// Mkdir makes a directory and its missing parents.
func (OS) Mkdir(name string) error { return os.MkdirAll(name, 0o755) }

// Rename replaces newName by oldName in one step.
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// Remove removes a file or an empty directory.
func (OS) Remove(name string) error { return os.Remove(name) }

// List returns what a directory holds, sorted by name.
func (OS) List(name string) ([]Info, error) {
	d, err := openQuietly(name, 0)
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	infos := make([]Info, 0, len(entries))
	for _, e := range entries {
		fi, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since it was listed
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, describe(fi))
	}
	return infos, nil
}

// Stat describes a file without following a symbolic link.
func (OS) Stat(name string) (Info, error) {
	fi, err := os.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return describe(fi), nil
}

// SyncDir makes the names in a directory durable.
func (OS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// Lock takes the lock that a broker takes on the file.
//
// A broker's lock is one of POSIX: per process, and lost as soon as the
// process closes any descriptor of the file. The kernel's locks of open file
// descriptions conflict with it just the same and lack that trap.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock)
	if err == nil {
		return f, nil
	}
	_ = f.Close() // nothing was written through it
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, ErrLocked
	}
	return nil, fmt.Errorf("lock %s: %w", name, err)
}

type osFile struct{ *os.File }

func wrap(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Sync makes the content and the size durable.
func (f osFile) Sync() error {
	for {
		err := unix.Fdatasync(f.Fd())
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Stat describes the open file.
func (f osFile) Stat() (Info, error) {
	fi, err := f.File.Stat()
	if err != nil {
		return Info{}, err
	}
	return describe(fi), nil
}

// Fd is the descriptor.
func (f osFile) Fd() int { return int(f.File.Fd()) }

func describe(fi fs.FileInfo) Info {
	info := Info{Name: fi.Name(), Size: fi.Size(), ModTime: fi.ModTime()}
	switch {
	case fi.Mode().IsRegular():
		info.Kind = KindFile
	case fi.IsDir():
		info.Kind = KindDir
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.Inode = st.Ino
	}
	return info
}
