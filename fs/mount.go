package fs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"klogfs/logstore"
)

// Mounting.
var (
	// ErrNoFUSE is returned when the machine has no FUSE device or we may not
	// use it.
	ErrNoFUSE = errors.New("no FUSE")
	// ErrMountPoint is returned when a path can't be mounted on.
	ErrMountPoint = errors.New("not a mount point")
)

// Options are how a store is mounted. The zero value is right.
type Options struct {
	// AllowOther lets other users than the one who mounts see the mount, with
	// the kernel checking modes and owners.
	AllowOther bool
	// AllowDelete lets rmdir delete topics and partitions.
	AllowDelete bool
	// ListLimit is how many of the newest offsets offset/ lists, 0 for all.
	ListLimit int
	// UID and GID own all files.
	UID, GID uint32
	// Umask is taken off all modes.
	Umask uint32
	// Extra are options for the kernel or fusermount, as after mount -o.
	Extra []string
	// Debug logs every request.
	Debug bool
	// Log takes what an operator should know; nil for nothing.
	Log *slog.Logger
}

// Mount is a mounted store.
type Mount struct {
	store   *logstore.Store
	opts    Options
	log     *slog.Logger
	point   string
	started time.Time
	server  *fuse.Server
	root    *rootNode
	// noPassthrough are log directories on file systems that the kernel can't
	// stack under FUSE.
	noPassthrough map[string]bool
}

// New mounts a store. When it returns without an error, the mount answers.
// The store stays the caller's to close, after Wait.
func New(store *logstore.Store, mountPoint string, opts Options) (*Mount, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	point, err := checkMountPoint(mountPoint, store.LogDirs())
	if err != nil {
		return nil, err
	}
	if err := checkFUSE(); err != nil {
		return nil, err
	}
	m := &Mount{store: store, opts: opts, log: opts.Log, point: point, started: time.Now(), noPassthrough: map[string]bool{}}
	for _, dir := range store.LogDirs() {
		m.noPassthrough[dir] = stacked(dir)
	}
	m.root = &rootNode{dirNode{node{m: m}}}
	raw := gofs.NewNodeFS(m.root, &gofs.Options{
		NullPermissions: true, UID: opts.UID, GID: opts.GID,
	})
	m.server, err = fuse.NewServer(raw, point, m.mountOptions())
	if err != nil {
		return nil, fmt.Errorf("mount on %s: %w", point, err)
	}
	go m.server.Serve()
	if err := m.server.WaitMount(); err != nil {
		return nil, fmt.Errorf("mount on %s: %w", point, err)
	}
	return m, nil
}

func (m *Mount) mountOptions() *fuse.MountOptions {
	options := m.opts.Extra
	if m.opts.AllowOther {
		options = append(options[:len(options):len(options)], "default_permissions")
	}
	return &fuse.MountOptions{
		AllowOther: m.opts.AllowOther, Options: options, FsName: "klogfs", Name: "klogfs",
		MaxWrite: optimalIO, MaxBackground: 64, DirectMount: true, Debug: m.opts.Debug,
		// Listing a directory of millions must not look each name up.
		DisableReadDirPlus: true,
		// Without this the kernel asks for a security attribute on every write.
		IgnoreSecurityLabels: true, DisableXAttrs: true,
		// mmap works on files that grow, too.
		ExtraCapabilities: fuse.CAP_DIRECT_IO_ALLOW_MMAP,
	}
}

// passthrough reports whether the kernel may read a partition's sealed
// segments by itself.
func (m *Mount) passthrough(p *logstore.Partition) bool {
	return !m.noPassthrough[p.LogDir()] && os.Geteuid() == 0
}

// Wait returns when the mount has ended.
func (m *Mount) Wait() { m.server.Wait() }

// Point is where the store is mounted.
func (m *Mount) Point() string { return m.point }

// Unmount ends the mount. It fails with EBUSY while files are open.
func (m *Mount) Unmount() error { return m.server.Unmount() }

// Detach takes the mount out of the tree at once; it ends when the last file
// in it is closed.
func (m *Mount) Detach() error { return Detach(m.point) }

// Unmount ends the klogfs mount at a path, of whatever process. With force it
// is detached although files are open.
func Unmount(path string, force bool) error {
	point, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	found, err := isKlogfs(point)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%s is no klogfs mount: %w", path, ErrMountPoint)
	}
	if force {
		return Detach(point)
	}
	if err := unix.Unmount(point, 0); err != nil {
		if errors.Is(err, unix.EPERM) {
			return fusermount("-u", point)
		}
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	return nil
}

// Detach takes a mount out of the tree although files are open.
func Detach(point string) error {
	err := unix.Unmount(point, unix.MNT_DETACH)
	if errors.Is(err, unix.EPERM) {
		return fusermount("-uz", point)
	}
	return err
}

// isKlogfs reports whether a mount of ours, alive or dead, is at a path.
func isKlogfs(point string) (bool, error) {
	mounts, err := mountinfo.GetMounts(func(info *mountinfo.Info) (skip, stop bool) {
		return info.Mountpoint != point || info.FSType != "fuse.klogfs", false
	})
	return len(mounts) > 0, err
}

// checkMountPoint makes sure that a path can be mounted on. A dead mount of
// ours that is still there is cleared away.
func checkMountPoint(path string, logDirs []string) (string, error) {
	point, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(point)
	if errors.Is(err, syscall.ENOTCONN) {
		if found, err := isKlogfs(point); err != nil || !found {
			return "", fmt.Errorf("%s is a dead mount of another file system: unmount it first: %w", path, ErrMountPoint)
		}
		if err := Detach(point); err != nil {
			return "", fmt.Errorf("clear the dead mount at %s: %w", path, err)
		}
		info, err = os.Stat(point)
	}
	if errors.Is(err, os.ErrNotExist) {
		if err := checkNesting(point, logDirs); err != nil {
			return "", err
		}
		if err := os.MkdirAll(point, 0o755); err != nil {
			return "", fmt.Errorf("make mount point: %w", err)
		}
		info, err = os.Stat(point)
	}
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory: %w", path, ErrMountPoint)
	}
	if found, err := isKlogfs(point); err != nil || found {
		return "", errors.Join(err, fmt.Errorf("%s has a klogfs mount already: end it with klogfs umount: %w", path, ErrMountPoint))
	}
	return point, checkNesting(point, logDirs)
}

// checkNesting refuses a mount inside a log directory and a log directory
// inside the mount: each would look into itself.
func checkNesting(point string, logDirs []string) error {
	real, err := resolve(point)
	if err != nil {
		return err
	}
	for _, dir := range logDirs {
		realDir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		if within(real, realDir) {
			return fmt.Errorf("%s is inside the log directory %s: mount elsewhere: %w", point, dir, ErrMountPoint)
		}
		if within(realDir, real) {
			return fmt.Errorf("the log directory %s is inside %s: mount elsewhere: %w", dir, point, ErrMountPoint)
		}
	}
	return nil
}

// resolve follows the symbolic links of a path, of which the end may not be
// there yet.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) && filepath.Dir(path) != path {
		parent, err := resolve(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), err
	}
	return real, err
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func checkFUSE() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	switch {
	case err == nil:
		return f.Close()
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV):
		return fmt.Errorf("%w: /dev/fuse is not there: load the kernel module (modprobe fuse), or give the container the device", ErrNoFUSE)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: /dev/fuse may not be opened: ask for the right to, or give the container the device and CAP_SYS_ADMIN", ErrNoFUSE)
	}
	return fmt.Errorf("%w: %w", ErrNoFUSE, err)
}

// stacked reports whether a directory is on a file system that is itself made
// of others: the kernel does not pass reads through to those.
func stacked(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) != nil || st.Type == unix.OVERLAYFS_SUPER_MAGIC || st.Type == unix.FUSE_SUPER_MAGIC
}
