// Package cli holds klogfs's commands, a file each: flags, examples and action
// together. Errors are returned, and become an exit code in Run alone.
package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"klogfs/internal/dump"
)

// Exit codes.
const (
	// exitFailed: what was asked could not be done.
	exitFailed = 1
	// exitUsage: what was asked is not clear.
	exitUsage = 2
	// exitDamaged: what was asked was done, and what was read is damaged.
	exitDamaged = 3
)

// errUsage is returned when flags or arguments are not what a command takes.
var errUsage = errors.New("usage")

func usage(format string, a ...any) error {
	return fmt.Errorf("%w: %s", errUsage, fmt.Sprintf(format, a...))
}

// Run runs a command line and returns the exit code.
func Run(args []string, stdout, stderr io.Writer) int {
	app := &cli.App{
		Name:            "klogfs",
		Usage:           "topic-partitions in Apache Kafka's on-disk format, as files",
		UsageText:       "klogfs mount LOGDIR MOUNTPOINT\nklogfs COMMAND --help",
		HideHelpCommand: true,
		HideVersion:     true,
		Writer:          stdout,
		ErrWriter:       stderr,
		Commands:        []*cli.Command{mountCommand(), umountCommand(), topicCommand(), dumpLogCommand(), checkCommand(), logDirsCommand()},
		Description: "Exit codes: 0 done, 1 failed, 2 the command line is wrong, 3 damage was found.\n" +
			"What a program reads goes to stdout, everything else to stderr.",
		CommandNotFound: func(*cli.Context, string) {},
		Action:          noCommand,
		OnUsageError:    usageError,
		ExitErrHandler:  func(*cli.Context, error) {},
	}
	return exitCode(app.Run(args), stderr)
}

func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	message := strings.TrimPrefix(err.Error(), errUsage.Error()+": ")
	if errors.Is(err, errUsage) {
		fmt.Fprintf(stderr, "klogfs: %s (see klogfs --help)\n", message)
		return exitUsage
	}
	fmt.Fprintf(stderr, "klogfs: %s\n", message)
	if errors.Is(err, dump.ErrDamaged) || errors.Is(err, errDamaged) {
		return exitDamaged
	}
	return exitFailed
}

// noCommand is what runs when no command of ours was named.
func noCommand(c *cli.Context) error {
	if name := c.Args().First(); name != "" {
		return usage("there is no command %q", name)
	}
	return cli.ShowAppHelp(c)
}

func usageError(_ *cli.Context, err error, _ bool) error { return usage("%v", err) }

// newLogger makes the logger that --log-level and --log-format ask for.
func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usage("--log-level %q is not one of debug, info, warn, error", level)
	}
	opts := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, usage("--log-format %q is not one of text, json", format)
}

// splitDirs takes a list of log directories apart.
func splitDirs(s string) []string {
	var dirs []string
	for _, dir := range strings.Split(s, ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
