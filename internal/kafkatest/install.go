package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// installTimeout is how long the copy of the release may take.
const installTimeout = 10 * time.Minute

// pom names the release and what it needs.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>klogfs</groupId>
  <artifactId>kafkatest</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>` + Version + `</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>` + Version + `</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`

// cacheDir is where the release is kept.
func cacheDir() (string, error) {
	if dir := os.Getenv("KLOGFS_KAFKA_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "klogfs-test", "kafka-"+Version), err
}

// install returns the directory with the release's jars, and copies them there
// if that was not done before. A directory under its name is complete.
func install() (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	if complete(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if complete(dir) {
		return dir, nil // another process was first
	}
	return dir, fetch(dir)
}

func complete(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "kafka_2.13-"+Version+".jar"))
	return err == nil
}

// fetch copies the release into a new directory and gives that its name.
func fetch(dir string) (err error) {
	work, err := os.MkdirTemp(filepath.Dir(dir), ".kafka-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	file, jars := filepath.Join(work, "pom.xml"), filepath.Join(work, "jars")
	if err := os.WriteFile(file, []byte(pom), 0o644); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	out, stderr, err := run(ctx, "mvn", "-B", "-q", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory="+jars)
	if err != nil {
		return fmt.Errorf("copy Kafka %s with mvn: %w\n%s%s", Version, err, tail(out), tail(stderr))
	}
	if !complete(jars) {
		return fmt.Errorf("copy Kafka %s with mvn: its jar is not among what was copied", Version)
	}
	// An empty directory, which a test may have been given, may be there.
	return os.Rename(jars, dir)
}

// lock waits until no other process holds the file.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// endsWithUs makes a program end when the test process is killed, which runs
// no Cleanup.
func endsWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
