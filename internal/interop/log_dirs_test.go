package interop

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klogfs/internal/cli"
	"klogfs/internal/kafkatest"
)

// TestLogDirsIsKafkas compares log-dirs --describe with what Kafka's tool says
// of a broker that runs.
func TestLogDirsIsKafkas(t *testing.T) {
	k := kafkatest.Require(t)
	b := k.NewBroker(t, filepath.Join(t.TempDir(), "logs"), nil)
	b.Start()
	b.CreateTopic("r", 2, map[string]string{"segment.bytes": "1048576"})
	if err := produce(b, "none", bytes.Repeat([]byte("a line of some length\n"), 100_000)); err != nil {
		t.Fatal(err)
	}
	kafkas := k.Run(t, "org.apache.kafka.tools.LogDirsCommand", "--bootstrap-server", b.Addr(), "--describe")
	var ours, errs bytes.Buffer
	if code := cli.Run([]string{"klogfs", "log-dirs", "--describe", "--log-dirs", b.LogDir()}, &ours, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	want := logDirs(t, kafkas[bytes.IndexByte(kafkas, '{'):])
	if diff := cmp.Diff(want, logDirs(t, ours.Bytes())); diff != "" {
		t.Errorf("Kafka's and ours differ:\n%s", diff)
	}
}

// logDirs decodes what the tool prints, with the partitions in order.
func logDirs(t *testing.T, b []byte) any {
	t.Helper()
	var report struct {
		Version any
		Brokers []struct {
			Broker  any
			LogDirs []struct {
				LogDir     string
				Error      any
				Partitions []map[string]any
			}
		}
	}
	if err := json.Unmarshal(b, &report); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	for i := range report.Brokers {
		for j := range report.Brokers[i].LogDirs {
			d := &report.Brokers[i].LogDirs[j]
			sort.Slice(d.Partitions, func(a, b int) bool {
				return d.Partitions[a]["partition"].(string) < d.Partitions[b]["partition"].(string)
			})
		}
	}
	return report
}
