package interop

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"klogfs/batch"
)

// backup copies raw/ as people do, and expects whole batches in the copy.
func (r *liveReader) backup() {
	out, err := exec.Command("rsync", "-a", "--delete", r.m.point+"/raw/", r.copied).CombinedOutput()
	const vanished = 24 // some files went away meanwhile
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == vanished {
		err = nil
		r.counts.add("rsync: 24")
	}
	if err != nil && !staleOnly(out) {
		r.t.Errorf("%s: rsync: %v\n%s", r.isolation, err, out)
		return
	}
	logs, err := filepath.Glob(filepath.Join(r.copied, "*", "*.log"))
	if err != nil || len(logs) == 0 {
		r.t.Errorf("%d segments were copied, %v", len(logs), err)
	}
	for _, name := range logs {
		if err := wholeBatches(name); err != nil {
			r.t.Errorf("%s: copy of raw/%s: %v", r.isolation, strings.TrimPrefix(name, r.copied+"/"), err)
		}
	}
	r.counts.add("rsync")
}

// staleOnly reports whether all that rsync complains of are topics that were
// deleted while it was in their directories: these answer with ESTALE.
func staleOnly(out []byte) bool {
	for line := range strings.Lines(string(out)) {
		stale := strings.Contains(line, "/raw/passing") && strings.Contains(line, "Stale file handle")
		summary := strings.Contains(line, "(code 23)") || strings.HasPrefix(line, "IO error encountered")
		vanished := strings.HasPrefix(line, "file has vanished")
		if !stale && !summary && !vanished {
			return false
		}
	}
	return true
}

// wholeBatches is nil for a log of nothing but whole, right batches.
func wholeBatches(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	r, next := bytes.NewReader(b), int64(0)
	s := batch.NewScanner(r, 0, int64(len(b)))
	for s.Next() {
		right, err := batch.CheckCRC(r, s.Pos(), s.Header())
		if err != nil || !right || s.Header().BaseOffset < next {
			return fmt.Errorf("the batch at %d is not right: offset %d after %d, %w", s.Pos(), s.Header().BaseOffset, next, err)
		}
		next = s.Header().NextOffset()
	}
	if s.Err() != nil || s.End() != int64(len(b)) {
		return fmt.Errorf("%d of %d bytes are batches: %w", s.End(), len(b), s.Err())
	}
	return nil
}
