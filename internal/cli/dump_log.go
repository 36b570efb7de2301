package cli

import (
	"errors"
	"math"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"klogfs/internal/coordinator"
	"klogfs/internal/dump"
)

func dumpLogCommand() *cli.Command {
	return &cli.Command{
		Name:  "dump-log",
		Usage: "print segments and indexes as kafka-dump-log.sh does",
		Description: `  klogfs dump-log --files data/orders-0/00000000000000000000.log --print-data-log
  klogfs dump-log --files 00000000000000000000.index,00000000000000000000.timeindex --verify-index-only
  klogfs dump-log --files 00000000000000000000.log --json --from 500 | jq .value

The text is that of Kafka's tool. Exit code 3: damage was found.`,
		OnUsageError: usageError,
		Action:       dumpLog,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "files", Usage: "the `FILES` to print, with commas between them (required)"},
			&cli.BoolFlag{Name: "print-data-log", Usage: "print keys and values too"},
			&cli.BoolFlag{Name: "deep-iteration", Usage: "print each record, not only each batch"},
			&cli.BoolFlag{Name: "skip-record-metadata", Usage: "print of a record its key and value alone"},
			&cli.BoolFlag{Name: "index-sanity-check", Usage: "check an index as a broker does when it starts, print no entries"},
			&cli.BoolFlag{Name: "verify-index-only", Usage: "compare an index with its segment, print no entries"},
			&cli.Int64Flag{Name: "max-bytes", Value: dump.NoLimit, Usage: "read at most `N` bytes of a segment"},
			&cli.Int64Flag{Name: "max-message-size", Value: dump.DefaultMaxMessageSize, Usage: "the size of the largest batch, in bytes"},
			&cli.StringFlag{Name: "key-decoder-class", Value: "string", Usage: "print keys as string, hex or base64"},
			&cli.StringFlag{Name: "value-decoder-class", Value: "string", Usage: "print values as string, hex or base64"},
			&cli.BoolFlag{Name: "offsets-decoder", Usage: "print records as those of __consumer_offsets"},
			&cli.BoolFlag{Name: "transaction-log-decoder", Usage: "print records as those of __transaction_state"},
			&cli.BoolFlag{Name: "share-group-state-decoder", Usage: "print records as those of __share_group_state"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object a line, for each record or entry"},
			&cli.Int64Flag{Name: "from", Value: dump.FirstOffset, DefaultText: "the start", Usage: "leave out records below this `OFFSET`"},
			&cli.Int64Flag{Name: "to", Value: dump.NoOffset, DefaultText: "the end", Usage: "leave out records from this `OFFSET` on"},
		},
	}
}

func dumpLog(c *cli.Context) error {
	if c.NArg() > 0 {
		return usage("dump-log takes no argument %q: name files with --files", c.Args().First())
	}
	names := fileList(c.String("files"))
	if len(names) == 0 {
		return usage("dump-log needs --files, as in --files 00000000000000000000.log")
	}
	o, err := dumpOptions(c)
	if err != nil {
		return err
	}
	// A reader that goes away, as head does, is an error of write and not the
	// end of the process.
	signal.Ignore(syscall.SIGPIPE)
	return dump.Files(c.App.Writer, c.App.ErrWriter, names, o)
}

// fileList takes the list of files apart as Kafka's tool does: names may be
// empty but at the end.
func fileList(s string) []string {
	if s = strings.TrimRight(s, ","); s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func dumpOptions(c *cli.Context) (dump.Options, error) {
	o := dump.Options{
		PrintDataLog:       c.Bool("print-data-log") || c.IsSet("key-decoder-class") || c.IsSet("value-decoder-class"),
		DeepIteration:      c.Bool("deep-iteration"),
		IndexSanityCheck:   c.Bool("index-sanity-check"),
		VerifyIndexOnly:    c.Bool("verify-index-only"),
		SkipRecordMetadata: c.Bool("skip-record-metadata"),
		JSON:               c.Bool("json"),
		From:               c.Int64("from"),
		To:                 c.Int64("to"),
	}
	messages, errs := messageDecoder(c)
	if messages != nil {
		o.Messages, o.PrintDataLog = messages, true
	}
	var err error
	if o.Key, err = dump.ParseBytes(c.String("key-decoder-class")); err != nil {
		errs = errors.Join(errs, usage("--key-decoder-class: %v", err))
	}
	if o.Value, err = dump.ParseBytes(c.String("value-decoder-class")); err != nil {
		errs = errors.Join(errs, usage("--value-decoder-class: %v", err))
	}
	if o.MaxBytes, err = positiveInt32(c, "max-bytes"); err != nil {
		errs = errors.Join(errs, err)
	}
	if o.MaxMessageSize, err = positiveInt32(c, "max-message-size"); err != nil {
		errs = errors.Join(errs, err)
	}
	return o, errs
}

// messageDecoders are the decoders of internal topics, by their flags.
var messageDecoders = map[string]dump.Messages{
	"offsets-decoder":           {Known: coordinator.OffsetsType, Key: coordinator.OffsetsKey, Value: coordinator.OffsetsValue},
	"transaction-log-decoder":   {Known: coordinator.TransactionType, Key: coordinator.TransactionKey, Value: coordinator.TransactionValue},
	"share-group-state-decoder": {Known: coordinator.ShareType, Key: coordinator.ShareKey, Value: coordinator.ShareValue},
}

// messageDecoder is the decoder of an internal topic that is asked for, nil for
// none.
func messageDecoder(c *cli.Context) (*dump.Messages, error) {
	var asked *dump.Messages
	for flag, decoder := range messageDecoders {
		if !c.Bool(flag) {
			continue
		}
		if asked != nil {
			return nil, usage("--offsets-decoder, --transaction-log-decoder and --share-group-state-decoder are for different topics: give one")
		}
		asked = &decoder
	}
	return asked, nil
}

func positiveInt32(c *cli.Context, name string) (int32, error) {
	v := c.Int64(name)
	if v < 0 || v > math.MaxInt32 {
		return 0, usage("--%s %d is not from 0 to %d", name, v, math.MaxInt32)
	}
	return int32(v), nil
}
