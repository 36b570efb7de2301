// Command klogfs keeps topic-partitions in Apache Kafka's on-disk format and
// mounts them as files.
package main

import (
	"os"

	"klogfs/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args, os.Stdout, os.Stderr))
}
