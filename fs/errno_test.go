package fs

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"syscall"
	"testing"

	"klogfs/batch"
	"klogfs/logstore"
)

func TestToErrno(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want syscall.Errno
	}{
		{nil, 0},
		{logstore.ErrNoRecord, syscall.ENOENT},
		{logstore.ErrUnknownTopic, syscall.ENOENT},
		{logstore.ErrInvalidTopic, syscall.EINVAL},
		{logstore.ErrNameTooLong, syscall.ENAMETOOLONG},
		{logstore.ErrTopicExists, syscall.EEXIST},
		{logstore.ErrPartitionOrder, syscall.EPERM},
		{logstore.ErrInvalidConfig, syscall.EINVAL},
		{logstore.ErrReadOnly, syscall.EROFS},
		{logstore.ErrTooLarge, syscall.EMSGSIZE},
		{logstore.ErrInvalidBatch, syscall.EINVAL},
		{logstore.ErrDeleted, syscall.ESTALE},
		{fmt.Errorf("%w: %w", logstore.ErrOffline, syscall.ENOSPC), syscall.EIO},
		{logstore.ErrClosed, syscall.EIO},
		{logstore.ErrNotLogDir, syscall.EINVAL},
		{logstore.ErrLocked, syscall.EBUSY},
		{&batch.CorruptionError{Cause: batch.ErrCRC}, syscall.EIO},
		{&batch.CorruptionError{Cause: syscall.ENOENT}, syscall.EIO},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, syscall.ENOSPC},
		{syscall.EDQUOT, syscall.EDQUOT},
		{iofs.ErrNotExist, syscall.ENOENT},
		{&os.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, syscall.ENOENT},
		{io.ErrUnexpectedEOF, syscall.EIO},
		{errors.New("anything else"), syscall.EIO},
	} {
		for _, err := range []error{tc.err, fmt.Errorf("wrapped: %w", tc.err)} {
			if tc.err == nil {
				err = nil
			}
			if got := toErrno(err); got != tc.want {
				t.Errorf("%v: %v, want %v", err, got, tc.want)
			}
		}
	}
}

// TestInodesDiffer holds numbers and generations of files that must not be
// taken for each other against each other.
func TestInodesDiffer(t *testing.T) {
	seen := map[[2]uint64]string{}
	for _, partition := range []uint32{0, 1, 2, 1 << 17, 1<<17 + 1, 1<<32 - 1} {
		for k := kindRoot; k <= kindTopicConfig; k++ {
			for _, n := range []int64{0, 1, 7, 1 << 39, 1 << 40, 1<<40 + 1, 1 << 41, 1<<63 - 1} {
				id := inode(syscall.S_IFREG, partition, k, n)
				name := fmt.Sprint(partition, k, n)
				key := [2]uint64{id.Ino, id.Gen}
				if other, ok := seen[key]; ok {
					t.Fatalf("%s and %s are both %v", name, other, key)
				}
				if id.Ino < 2 || id.Gen == 0 {
					t.Fatalf("%s has %v", name, key)
				}
				seen[key] = name
			}
		}
	}
}

func TestParseOffset(t *testing.T) {
	for name, want := range map[string]int64{
		"0": 0, "17": 17, "9223372036854775807": 1<<63 - 1,
		"": -1, "-1": -1, "+1": -1, "01": -1, "1x": -1, "9223372036854775808": -1, " 1": -1, "0x1": -1,
	} {
		got, ok := parseOffset(name)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v", name, got, ok)
		}
	}
}
