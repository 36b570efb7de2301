package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"klogfs/logstore"
)

// errDamaged is returned when something was checked and found damaged.
var errDamaged = errors.New("damage was found")

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "verify every batch, index and checkpoint of log directories, and change nothing",
		ArgsUsage: "LOGDIR...",
		Description: `  klogfs check /var/lib/klogfs
  klogfs check --json /var/lib/kafka/data | jq 'select(.damage)'

A line is what is wrong, where, and what a start for writing would do about it.
Lines that begin with "note" are of files that are only made again or ignored.
A log that grows meanwhile is checked as far as it was. Exit code 3: damage was
found.`,
		OnUsageError: usageError,
		Action:       checkAction,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print a JSON object a line"},
			&cli.BoolFlag{Name: "quiet", Usage: "print damage only, no notes and no summary"},
		},
	}
}

func checkAction(c *cli.Context) error {
	var dirs []string
	for _, arg := range c.Args().Slice() {
		dirs = append(dirs, splitDirs(arg)...)
	}
	if len(dirs) == 0 {
		return usage("check takes LOGDIR...")
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	out := bufio.NewWriter(c.App.Writer)
	summary, err := runCheck(ctx, c, dirs, out)
	if err := errors.Join(err, out.Flush()); err != nil {
		return hint(err)
	}
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "klogfs: %d partitions, %d segments, %d batches, %d records, %s: %d findings, %d of damage\n",
			summary.Partitions, summary.Segments, summary.Batches, summary.Records, humanize.IBytes(uint64(summary.Bytes)), summary.Findings, summary.Damage)
	}
	if summary.Damage > 0 {
		return errDamaged
	}
	return nil
}

func runCheck(ctx context.Context, c *cli.Context, dirs []string, out io.Writer) (logstore.CheckSummary, error) {
	progress, done := progressTo(c.App.ErrWriter, "check")
	defer done()
	var failed error
	summary, err := logstore.Check(ctx, dirs, logstore.CheckOptions{
		Progress: progress,
		Found: func(f logstore.Finding) {
			if c.Bool("quiet") && !f.Damage {
				return
			}
			if err := printFinding(out, f, c.Bool("json")); err != nil {
				failed = err
			}
		},
	})
	return summary, errors.Join(err, failed)
}

func printFinding(w io.Writer, f logstore.Finding, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(f)
	}
	kind, place := "note", ""
	if f.Damage {
		kind = "damage"
	}
	if f.Position >= 0 {
		place = fmt.Sprintf(" at position %d", f.Position)
	}
	name := f.LogDir + "/"
	if f.TopicPartition != "" {
		name += f.TopicPartition + "/"
	}
	_, err := fmt.Fprintf(w, "%s: %s%s%s: %s; a start: %s\n", kind, name, f.File, place, f.Problem, f.Recovery)
	return err
}

// progressTo shows bytes as they are done, where w is a terminal.
func progressTo(w io.Writer, what string) (progress func(done, all int64), end func()) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, func() {}
	}
	var bar atomic.Pointer[progressbar.ProgressBar]
	progress = func(done, all int64) {
		if bar.Load() == nil {
			bar.CompareAndSwap(nil, progressbar.DefaultBytes(all, what))
		}
		_ = bar.Load().Set64(min(done, all)) // a bar that can't be drawn is no reason to stop
	}
	return progress, func() {
		if b := bar.Load(); b != nil {
			_ = b.Finish()
		}
	}
}
