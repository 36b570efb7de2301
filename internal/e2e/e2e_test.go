// Package e2e drives the klogfs command through real mounts with the tools
// that people use.
package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"klogfs/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"klogfs": func() { os.Exit(cli.Run(os.Args, os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	require(t, "/dev/fuse", "bash", "rsync", "busybox", "jq", "python3")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mounted": mounted,
			"bash":    bash,
			"daemon":  daemon,
		},
		Setup: func(env *testscript.Env) error {
			work := env.WorkDir
			env.Setenv("HOME", work)
			env.Defer(func() { detachAll(t, work) })
			return nil
		},
	})
}

// require skips the test where a device or a program is missing, and fails it
// where KLOGFS_REQUIRE says that it has to run.
func require(t *testing.T, needs ...string) {
	t.Helper()
	for _, need := range needs {
		_, err := os.Stat(need)
		if !strings.HasPrefix(need, "/") {
			_, err = exec.LookPath(need)
		}
		if err == nil {
			continue
		}
		if strings.Contains(os.Getenv("KLOGFS_REQUIRE"), "fuse") {
			t.Fatalf("%s is required: %v", need, err)
		}
		t.Skipf("%s is missing: %v", need, err)
	}
}

// mounted waits until a mount answers, or with ! until it is gone.
func mounted(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] mounted DIR")
	}
	path := ts.MkAbs(args[0])
	deadline := time.Now().Add(20 * time.Second)
	for isMounted(path) == neg {
		if time.Now().After(deadline) {
			ts.Fatalf("mounted %s is still %v", path, neg)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// bash runs a bash script given as its arguments, a line each, in the work
// directory. Its output is the script's.
func bash(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("bash", "-euo", "pipefail", "-c", strings.Join(args, "\n"))
	if neg == (err == nil) {
		ts.Fatalf("bash: unexpected result: %v", err)
	}
}

// daemon sets a variable to the process id of the klogfs of this script that
// serves a mount point.
func daemon(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: daemon VARIABLE MOUNTPOINT")
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	ts.Check(err)
	for _, dir := range dirs {
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		words := strings.Split(strings.Trim(string(line), "\x00"), "\x00")
		if cwd == ts.MkAbs(".") && len(words) > 3 && words[1] == "mount" && words[len(words)-1] == args[1] {
			ts.Setenv(args[0], filepath.Base(dir))
			return
		}
	}
	ts.Fatalf("no klogfs serves %s", args[1])
}

func isMounted(path string) bool {
	for _, m := range mountsUnder(path) {
		if m == path {
			_, err := os.Stat(filepath.Join(path, "README"))
			return err == nil
		}
	}
	return false
}

// mountsUnder lists the klogfs mounts at or below a directory.
func mountsUnder(dir string) []string {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return nil
	}
	defer f.Close()
	var found []string
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) > 2 && fields[2] == "fuse.klogfs" && (fields[1] == dir || strings.HasPrefix(fields[1], dir+"/")) {
			found = append(found, fields[1])
		}
	}
	return found
}

// detachAll ends what a failed script left mounted. A script that passed may
// leave nothing.
func detachAll(t *testing.T, dir string) {
	for _, m := range mountsUnder(dir) {
		if err := unix.Unmount(m, unix.MNT_DETACH); err != nil {
			t.Errorf("detach %s: %v", m, err)
		}
		fmt.Fprintf(os.Stderr, "left mounted: %s\n", m)
		t.Errorf("the script left %s mounted", m)
	}
}
