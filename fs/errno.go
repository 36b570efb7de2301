package fs

import (
	"errors"
	iofs "io/fs"
	"syscall"

	"klogfs/batch"
	"klogfs/logstore"
)

// errnos says which errno stands for which error. The first that matches is
// taken.
var errnos = []struct {
	err   error
	errno syscall.Errno
}{
	{logstore.ErrNoRecord, syscall.ENOENT},
	{logstore.ErrUnknownTopic, syscall.ENOENT},
	{logstore.ErrUnknownGroup, syscall.ENOENT},
	{logstore.ErrInvalidTopic, syscall.EINVAL},
	{logstore.ErrNameTooLong, syscall.ENAMETOOLONG},
	{logstore.ErrTopicExists, syscall.EEXIST},
	{logstore.ErrPartitionOrder, syscall.EPERM},
	{logstore.ErrInvalidConfig, syscall.EINVAL},
	{logstore.ErrReadOnly, syscall.EROFS},
	{logstore.ErrTooLarge, syscall.EMSGSIZE},
	{logstore.ErrInvalidBatch, syscall.EINVAL},
	{logstore.ErrDeleted, syscall.ESTALE},
	{logstore.ErrOffline, syscall.EIO},
	{logstore.ErrClosed, syscall.EIO},
	{logstore.ErrNotLogDir, syscall.EINVAL},
	{logstore.ErrLocked, syscall.EBUSY},
}

// toErrno is the errno of an error: from the table, else that of the system
// where it says something to the caller, else EIO. Damage is EIO whatever its
// cause.
func toErrno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var corrupt *batch.CorruptionError
	if errors.As(err, &corrupt) {
		return syscall.EIO
	}
	for _, e := range errnos {
		if errors.Is(err, e.err) {
			return e.errno
		}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	if errors.Is(err, iofs.ErrNotExist) {
		return syscall.ENOENT
	}
	return syscall.EIO
}
