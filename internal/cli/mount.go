package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/urfave/cli/v2"

	"klogfs/fs"
	"klogfs/logstore"
)

func mountCommand() *cli.Command {
	return &cli.Command{
		Name:      "mount",
		Usage:     "mount log directories; runs until it is unmounted or gets SIGINT or SIGTERM",
		ArgsUsage: "LOGDIR[,LOGDIR...] MOUNTPOINT",
		Description: `A directory that is missing or empty becomes a store of klogfs's own. One that a
broker wrote is only read: not a byte of it changes, and the broker may run.

  klogfs mount /var/lib/klogfs /mnt/log &
  mkdir /mnt/log/topics/orders
  echo hello >> /mnt/log/orders-0/write
  cat /mnt/log/orders-0/values

  klogfs mount -c log.segment.bytes=1048576 -c num.partitions=3 data /mnt/log
  klogfs mount /var/lib/kafka/data /mnt/kafka        look into a broker's disk`,
		Flags: append(configFlags(),
			&cli.BoolFlag{Name: "read-only", Usage: "write nothing, in a store of our own either"},
			&cli.BoolFlag{Name: "allow-delete", Usage: "let rmdir delete topics and partitions"},
			&cli.BoolFlag{Name: "allow-other", Usage: "let other users see the mount, by modes and owners"},
			&cli.IntFlag{Name: "list-limit", Value: 1000, Usage: "how many of the newest offsets offset/ lists, 0 for all"},
			&cli.StringFlag{Name: "isolation", Value: "read_uncommitted", Usage: "read_uncommitted or read_committed: whether records of aborted and open transactions are hidden"},
			&cli.Int64Flag{Name: "decode-memory", Value: 256 << 20, Usage: "how many bytes may be decompressed at a time, by all readers together"},
			&cli.StringFlag{Name: "cache-dir", Usage: "a `DIR` to keep text indexes of a broker's logs in, so that views of them have their size at once"},
			&cli.StringFlag{Name: "on-corrupt", Value: "stop", Usage: "what a view does at a damaged batch: stop or skip"},
			&cli.UintFlag{Name: "uid", Value: uint(os.Getuid()), Usage: "the owner of all files"},
			&cli.UintFlag{Name: "gid", Value: uint(os.Getgid()), Usage: "the group of all files"},
			&cli.StringFlag{Name: "umask", Value: "0", Usage: "taken off all modes, in octal"},
			&cli.StringSliceFlag{Name: "o", Usage: "`OPTIONS` as of mount -o"},
			&cli.StringFlag{Name: "log-level", Value: "info", Usage: "debug, info, warn or error"},
			&cli.StringFlag{Name: "log-format", Value: "text", Usage: "text or json"},
			&cli.BoolFlag{Name: "debug-fuse", Usage: "log every request of the kernel"},
		),
		OnUsageError: usageError,
		Action:       mountAction,
	}
}

func mountAction(c *cli.Context) error {
	if c.NArg() != 2 {
		return usage("mount takes LOGDIR[,LOGDIR...] and MOUNTPOINT, flags before them")
	}
	dirs := splitDirs(c.Args().Get(0))
	if len(dirs) == 0 {
		return usage("LOGDIR is empty")
	}
	log, err := newLogger(c.App.ErrWriter, c.String("log-level"), c.String("log-format"))
	if err != nil {
		return err
	}
	opts, err := mountOptions(c, log)
	if err != nil {
		return err
	}
	storeOpts, err := storeOptions(c, log)
	if err != nil {
		return err
	}
	// From here on a signal ends us in order, as soon as there is a mount to end.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	store, err := logstore.Open(dirs, storeOpts)
	if err != nil {
		return hint(err)
	}
	m, err := fs.New(store, c.Args().Get(1), opts)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	return serve(m, store, signals, log, c.App.ErrWriter)
}

func storeOptions(c *cli.Context, log *slog.Logger) (logstore.Options, error) {
	config, err := serverConfig(c)
	if err != nil {
		return logstore.Options{}, err
	}
	isolation, err := logstore.ParseIsolation(c.String("isolation"))
	if err != nil {
		return logstore.Options{}, usage("--isolation: %v", err)
	}
	const least = 1 << 20
	if c.Int64("decode-memory") < least {
		return logstore.Options{}, usage("--decode-memory is below %d bytes", least)
	}
	return logstore.Options{
		Log: log, Config: config, ReadOnly: c.Bool("read-only"), SkipCorrupt: c.String("on-corrupt") == "skip",
		CacheDir: c.String("cache-dir"), Isolation: isolation, DecodeBudget: c.Int64("decode-memory"),
	}, nil
}

func mountOptions(c *cli.Context, log *slog.Logger) (fs.Options, error) {
	umask, err := strconv.ParseUint(c.String("umask"), 8, 12)
	if err != nil {
		return fs.Options{}, usage("--umask %q is not an octal mode", c.String("umask"))
	}
	if v := c.String("on-corrupt"); v != "stop" && v != "skip" {
		return fs.Options{}, usage("--on-corrupt %q is not one of stop, skip", v)
	}
	if c.Int("list-limit") < 0 {
		return fs.Options{}, usage("--list-limit is below 0")
	}
	return fs.Options{
		AllowOther: c.Bool("allow-other"), AllowDelete: c.Bool("allow-delete"), ListLimit: c.Int("list-limit"),
		UID: uint32(c.Uint("uid")), GID: uint32(c.Uint("gid")), Umask: uint32(umask),
		Extra: c.StringSlice("o"), Debug: c.Bool("debug-fuse"), Log: log,
	}, nil
}

// hint says what to do about an error of opening a store.
func hint(err error) error {
	switch {
	case errors.Is(err, logstore.ErrLocked):
		return fmt.Errorf("%w: a klogfs mount or a broker has it open; end that, or mount with --read-only", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: run as the directory's owner, or mount with --read-only", err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: give the directory that holds the topic-partitions", err)
	}
	return err
}

// serve answers until the mount ends, and then closes the store.
func serve(m *fs.Mount, store *logstore.Store, signals <-chan os.Signal, log *slog.Logger, stderr io.Writer) error {
	mode := "read-only"
	if store.Writable() {
		mode = "writable"
	}
	fmt.Fprintf(stderr, "klogfs: mounted on %s (%s, %d partitions); try cat %s/README\n",
		m.Point(), mode, len(store.Partitions()), m.Point())

	ended := make(chan struct{})
	go func() {
		m.Wait()
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return store.Close()
		case s := <-signals:
			log.Info("unmounting", slog.String("signal", s.String()))
			if err := m.Detach(); err != nil {
				log.Error("unmount", slog.Any("cause", err))
				continue
			}
			// Files that are still open get errors from here on: the store is
			// closed, and the process ends.
			return store.Close()
		}
	}
}
