package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"klogfs/internal/kafkatest"
)

const (
	// patience is how long a mount may take to begin or to end.
	patience = 30 * time.Second
	// pollInterval is how often a condition is looked at.
	pollInterval = 20 * time.Millisecond
)

// binDir is where binary is, for as long as tests run.
var binDir string

// binary is klogfs, built once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	name := filepath.Join(binDir, "klogfs")
	out, err := exec.Command("go", "build", "-o", name, "klogfs").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build klogfs: %w\n%s", err, out)
	}
	return name, nil
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "klogfs-interop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// requireFUSE ends a test where nothing can be mounted, as kafkatest.Missing
// does for "fuse".
func requireFUSE(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		kafkatest.Missing(t, "fuse", err.Error())
	}
	f.Close()
}

// klogfs runs a command of klogfs to its end, which has to be a good one.
func klogfs(t *testing.T, args ...string) {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("klogfs %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// mount is a running klogfs mount. Its methods end the test when they fail.
type mount struct {
	t      *testing.T
	point  string
	cmd    *exec.Cmd
	exited chan struct{}
	stderr *syncBuffer
}

// in is the mount with methods that end a subtest.
func (m *mount) in(t *testing.T) *mount {
	sub := *m
	sub.t = t
	return &sub
}

// newMount mounts a log directory, and returns when the mount answers. It ends
// with the test at the latest, and prints its log when the test has failed.
func newMount(t *testing.T, logDir string, flags ...string) *mount {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	m := &mount{t: t, point: t.TempDir(), exited: make(chan struct{}), stderr: &syncBuffer{}}
	m.cmd = exec.Command(name, append(append([]string{"mount"}, flags...), logDir, m.point)...)
	m.cmd.Stderr = m.stderr
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		m.cmd.Wait()
		close(m.exited)
	}()
	t.Cleanup(m.cleanup)
	poll(t, patience, "the mount", func() error {
		select {
		case <-m.exited:
			t.Fatalf("klogfs mount ended: %v\n%s", m.cmd.ProcessState, m.stderr.String())
		default:
		}
		if !strings.Contains(m.stderr.String(), "mounted on") {
			return fmt.Errorf("it does not say that it is mounted: %s", m.stderr.String())
		}
		return nil
	})
	return m
}

func (m *mount) cleanup() {
	m.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.exited:
	case <-time.After(patience):
		m.cmd.Process.Kill()
		<-m.exited
	}
	if m.t.Failed() {
		m.t.Logf("klogfs mount said:\n%s", m.stderr.String())
	}
}

// umount ends the mount cleanly.
func (m *mount) umount() {
	m.t.Helper()
	klogfs(m.t, "umount", m.point)
	select {
	case <-m.exited:
	case <-time.After(patience):
		m.t.Fatal("klogfs mount runs on after umount")
	}
	if !m.cmd.ProcessState.Success() {
		m.t.Fatalf("klogfs mount: %v\n%s", m.cmd.ProcessState, m.stderr.String())
	}
}

// path is the path of a file in the mount.
func (m *mount) path(elem ...string) string {
	return filepath.Join(append([]string{m.point}, elem...)...)
}

// read is the content of a file in the mount.
func (m *mount) read(elem ...string) []byte {
	m.t.Helper()
	return readFile(m.t, m.path(elem...))
}

// cat writes lines to a partition the way a shell does.
func (m *mount) cat(partition string, lines []byte) {
	m.t.Helper()
	cmd := exec.Command("sh", "-c", `cat > "$1"`, "sh", m.path(partition, "write"))
	cmd.Stdin = bytes.NewReader(lines)
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("write to %s: %v\n%s", partition, err, out)
	}
}

// syncBuffer takes the output of a process while a test looks at it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// poll looks at a condition until it holds, or for so long.
func poll(t *testing.T, limit time.Duration, what string, condition func() error) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(pollInterval) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s, after %v: %v", what, limit, err)
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// same compares texts that are too long to print.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	t.Errorf("%s: %d bytes, want %d; they part at byte %d: %q, want %q",
		what, len(got), len(want), n, stretch(got, n), stretch(want, n))
}

func stretch(b []byte, at int) []byte { return b[max(at-20, 0):min(at+60, len(b))] }
