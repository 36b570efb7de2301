package fs

import (
	"bytes"
	"fmt"
	"os/exec"
)

// fusermount unmounts for who is not root.
func fusermount(flag, point string) error {
	out, err := exec.Command("fusermount3", flag, point).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fusermount3 %s %s: %s: %w", flag, point, bytes.TrimSpace(out), err)
	}
	return nil
}
