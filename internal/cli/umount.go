package cli

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/urfave/cli/v2"

	"klogfs/fs"
)

func umountCommand() *cli.Command {
	return &cli.Command{
		Name:      "umount",
		Usage:     "end a mount",
		ArgsUsage: "MOUNTPOINT",
		Description: `  klogfs umount /mnt/log
  klogfs umount --force /mnt/log       although files are open`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "detach the mount although files in it are open"},
		},
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage("umount takes MOUNTPOINT")
			}
			err := fs.Unmount(c.Args().First(), c.Bool("force"))
			if errors.Is(err, syscall.EBUSY) {
				return fmt.Errorf("%w: files in it are open (fuser -vm %s names who has them); close them, or use --force", err, c.Args().First())
			}
			return err
		},
	}
}
