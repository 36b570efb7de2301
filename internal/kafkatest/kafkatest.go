// Package kafkatest runs a real Apache Kafka for tests: one KRaft node on
// loopback ports, the command line tools of the release, and kcat.
//
// The release comes from Maven Central, once, into a cache directory that
// later runs and other test processes use: $KLOGFS_KAFKA_DIR, or
// klogfs-test/kafka-<version> in the user's cache directory.
//
// Where something is missing, tests are skipped. KLOGFS_REQUIRE, a list of
// names with commas between them, turns that into a failure.
package kafkatest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Version is the release of Kafka that runs.
const Version = "4.4.0"

// toolTimeout is how long a command line tool may take.
const toolTimeout = 3 * time.Minute

// Kafka is a release of Kafka that is on this machine.
type Kafka struct {
	// dir holds the jars.
	dir string
}

// installed is what the first Require of this process found.
var installed = sync.OnceValues(func() (string, error) {
	for _, program := range []string{"java", "mvn", "kcat"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", err
		}
	}
	return install()
})

// Require returns Kafka. Where it is not to be had it ends the test as Missing
// does for "kafka".
func Require(tb testing.TB) *Kafka {
	tb.Helper()
	dir, err := installed()
	if err != nil {
		Missing(tb, "kafka", err.Error())
	}
	return &Kafka{dir}
}

// Missing ends a test that needs what is not there: it is skipped, or failed
// when KLOGFS_REQUIRE names what is needed.
func Missing(tb testing.TB, name, reason string) {
	tb.Helper()
	if slices.ContainsFunc(strings.Split(os.Getenv("KLOGFS_REQUIRE"), ","), func(s string) bool {
		return strings.TrimSpace(s) == name
	}) {
		tb.Fatalf("%s is required, and not there: %s", name, reason)
	}
	tb.Skipf("no %s: %s", name, reason)
}

// Run runs the main method of a class of the release to its end, and returns
// what it wrote to standard output. Any exit code but 0 ends the test.
func (k *Kafka) Run(tb testing.TB, class string, args ...string) []byte {
	tb.Helper()
	return output(tb, "java", k.java("-Xmx256m", class, args...)...)
}

// Try is Run for a method that may fail. An exit code but 0 is an error with
// what it wrote to standard error.
func (k *Kafka) Try(tb testing.TB, class string, args ...string) ([]byte, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	out, stderr, err := run(ctx, "java", k.java("-Xmx256m", class, args...)...)
	if ctx.Err() != nil {
		tb.Fatalf("%s %s: %v", class, strings.Join(args, " "), err)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", class, err, tail(stderr))
	}
	return out, err
}

// java is the command line of a class after java itself.
func (k *Kafka) java(heap, class string, args ...string) []string {
	return append([]string{
		heap, "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
		"-cp", filepath.Join(k.dir, "*"), class,
	}, args...)
}

// output runs a program to its end and returns its standard output.
func output(tb testing.TB, program string, args ...string) []byte {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	out, stderr, err := run(ctx, program, args...)
	if err != nil {
		tb.Fatalf("%s %s: %v\nstdout: %s\nstderr: %s",
			program, strings.Join(args, " "), err, tail(out), tail(stderr))
	}
	return out
}

// run runs a program that ends with this process at the latest.
func run(ctx context.Context, program string, args ...string) (out, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.SysProcAttr = endsWithUs()
	cmd.WaitDelay = 5 * time.Second
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", err, ctx.Err())
	}
	return o.Bytes(), e.Bytes(), err
}

// tailSize is how much of a long output is printed, from its end.
const tailSize = 6 << 10

func tail(b []byte) []byte {
	if len(b) <= tailSize {
		return b
	}
	return append([]byte("[...]"), b[len(b)-tailSize:]...)
}
