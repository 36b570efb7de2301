package kafkatest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// startTimeout is how long a broker may take until it answers.
	startTimeout = 2 * time.Minute
	// stopTimeout is how long a broker may take to stop cleanly.
	stopTimeout = time.Minute
	// pollInterval is how often a condition is looked at.
	pollInterval = 100 * time.Millisecond
)

// Broker is one KRaft node, a broker and a controller, with a log directory.
// Its methods end the test when they fail, and are for one goroutine.
type Broker struct {
	tb testing.TB
	*node
}

// node is the broker itself, whatever test talks about it.
type node struct {
	k      *Kafka
	logDir string
	work   string
	addr   string
	output *os.File
	cmd    *exec.Cmd
	// exited is closed when cmd has ended.
	exited chan struct{}
}

// NewBroker makes a broker of a log directory, which it formats unless one was
// there before, and does not start it. Properties go before those of the
// package. When the test ends the broker is killed, and after a failure the
// end of its log is printed.
func (k *Kafka) NewBroker(tb testing.TB, logDir string, props map[string]string) *Broker {
	tb.Helper()
	b := &Broker{tb, &node{k: k, logDir: logDir, work: tb.TempDir()}}
	ports := freePorts(tb, 2)
	b.addr = ports[0]
	b.writeProperties(ports[1], props)
	var err error
	if b.output, err = os.OpenFile(b.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		b.Kill()
		_ = b.output.Close() // what it holds was read
		if tb.Failed() {
			tb.Logf("the end of the broker's log:\n%s", b.logTail())
		}
	})
	if _, err := os.Stat(filepath.Join(logDir, "meta.properties")); errors.Is(err, os.ErrNotExist) {
		k.Run(tb, "kafka.tools.StorageTool", "format", "--standalone", "-t", clusterID(), "-c", b.properties())
	}
	return b
}

// In is the broker with methods that end a subtest instead of the test that
// made it. It ends with the latter.
func (b *Broker) In(tb testing.TB) *Broker { return &Broker{tb, b.node} }

func (b *Broker) properties() string { return filepath.Join(b.work, "server.properties") }
func (b *Broker) logFile() string    { return filepath.Join(b.work, "broker.log") }

func (b *Broker) logTail() []byte {
	log, err := os.ReadFile(b.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	return tail(log)
}

func (b *Broker) writeProperties(controller string, props map[string]string) {
	all := map[string]string{
		"process.roles":                                    "broker,controller",
		"node.id":                                          "1",
		"listeners":                                        "PLAINTEXT://" + b.addr + ",CONTROLLER://" + controller,
		"advertised.listeners":                             "PLAINTEXT://" + b.addr + ",CONTROLLER://" + controller,
		"controller.listener.names":                        "CONTROLLER",
		"controller.quorum.bootstrap.servers":              controller,
		"log.dirs":                                         b.logDir,
		"offsets.topic.replication.factor":                 "1",
		"offsets.topic.num.partitions":                     "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"group.initial.rebalance.delay.ms":                 "0",
		"auto.create.topics.enable":                        "false",
	}
	maps.Copy(all, props)
	var s strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&s, "%s=%s\n", key, all[key])
	}
	if err := os.WriteFile(b.properties(), []byte(s.String()), 0o644); err != nil {
		b.tb.Fatal(err)
	}
}

// clusterID is a new UUID as Kafka spells them.
func clusterID() string {
	var id [16]byte
	rand.Read(id[:])
	id[0] &= 0x7f // one that begins with a dash looks like a flag
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// freePorts are loopback addresses that nothing listens on.
func freePorts(tb testing.TB, n int) []string {
	tb.Helper()
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = l.Close() }() // frees the port
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

// Addr is the address that clients connect to, from one start to the next.
func (b *Broker) Addr() string { return b.addr }

// LogDir is the broker's log directory.
func (b *Broker) LogDir() string { return b.logDir }

// Start starts the broker, and returns when all partitions have a leader.
func (b *Broker) Start() {
	b.tb.Helper()
	if b.cmd != nil {
		b.tb.Fatal("the broker runs already")
	}
	cmd := exec.Command("java", b.k.java("-Xmx512m", "kafka.Kafka", b.properties())...)
	cmd.SysProcAttr = endsWithUs()
	cmd.Stdout, cmd.Stderr = b.output, b.output
	if err := cmd.Start(); err != nil {
		b.tb.Fatal(err)
	}
	exited := make(chan struct{})
	b.cmd, b.exited = cmd, exited
	go func() {
		_ = cmd.Wait() // the log says how it ended
		close(exited)
	}()
	b.waitReady()
}

// waitReady returns when kcat gets the metadata it asks for.
func (b *Broker) waitReady() {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := b.ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-b.exited:
			b.tb.Fatalf("the broker ended: %v", b.cmd.ProcessState)
		case <-ctx.Done():
			b.tb.Fatalf("the broker is not ready after %v: %v", startTimeout, err)
		case <-time.After(pollInterval):
		}
	}
}

// ready is nil when the broker answers and every partition has a leader.
func (b *Broker) ready(ctx context.Context) error {
	out, stderr, err := run(ctx, "kcat", "-L", "-J", "-m", "2", "-b", b.addr)
	if err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	var metadata struct {
		Brokers []struct{ ID int }
		Topics  []struct {
			Topic      string
			Partitions []struct{ Leader int }
		}
	}
	if err := json.Unmarshal(out, &metadata); err != nil {
		return fmt.Errorf("the metadata: %w", err)
	}
	if len(metadata.Brokers) == 0 {
		return errors.New("there is no broker in the metadata")
	}
	for _, t := range metadata.Topics {
		for i, p := range t.Partitions {
			if p.Leader < 0 {
				return fmt.Errorf("%s-%d has no leader", t.Topic, i)
			}
		}
	}
	return nil
}

// Stop stops the broker cleanly, by SIGTERM, and returns when it has ended.
func (b *Broker) Stop() {
	b.tb.Helper()
	if b.cmd == nil {
		return
	}
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.tb.Fatalf("stop the broker: %v", err)
	}
	select {
	case <-b.exited:
		b.cmd = nil
	case <-time.After(stopTimeout):
		b.tb.Fatalf("the broker runs on %v after SIGTERM", stopTimeout)
	}
}

// Kill kills the broker, and returns when it has ended.
func (b *Broker) Kill() {
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Kill() // it may have ended
	<-b.exited
	b.cmd = nil
}

// CreateTopic creates a topic, and returns when its partitions have leaders.
func (b *Broker) CreateTopic(name string, partitions int, configs map[string]string) {
	b.tb.Helper()
	args := []string{
		"--bootstrap-server", b.addr, "--create", "--topic", name,
		"--partitions", fmt.Sprint(partitions), "--replication-factor", "1",
	}
	for _, key := range slices.Sorted(maps.Keys(configs)) {
		args = append(args, "--config", key+"="+configs[key])
	}
	b.k.Run(b.tb, "org.apache.kafka.tools.TopicCommand", args...)
	b.waitReady()
}

// Kcat runs kcat with this broker, and returns its standard output.
func (b *Broker) Kcat(args ...string) []byte {
	b.tb.Helper()
	return output(b.tb, "kcat", append([]string{"-b", b.addr}, args...)...)
}
