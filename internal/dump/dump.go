package dump

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"klogfs/batch"
)

// ErrDamaged is returned when a file holds bytes that are not what they should
// be. What could be printed was printed.
var ErrDamaged = errors.New("damage was found")

// ErrUnknownFile is returned when a file's name does not say what it is.
var ErrUnknownFile = errors.New("not a file of a partition")

// NoLimit is the MaxBytes of a dump of whole segments.
const NoLimit = math.MaxInt32

// DefaultMaxMessageSize is the MaxMessageSize of Kafka's tool.
const DefaultMaxMessageSize = 5 << 20

// Offsets that no record is below, and none at.
const (
	FirstOffset = math.MinInt64
	NoOffset    = math.MaxInt64
)

// Options say what is printed and how. The fields that have a flag of Kafka's
// mean what it means there.
type Options struct {
	PrintDataLog       bool
	DeepIteration      bool
	IndexSanityCheck   bool
	VerifyIndexOnly    bool
	SkipRecordMetadata bool
	// MaxBytes is how much of a segment is read, NoLimit for all of it.
	MaxBytes int32
	// MaxMessageSize is how much of a segment is looked at for the batch of an
	// entry of the offset index.
	MaxMessageSize int32

	// Key and Value say how keys and values are printed, unless Messages is
	// set.
	Key, Value Bytes
	// Messages decodes keys and values of an internal topic; nil for none.
	Messages *Messages

	// JSON is one object a line instead of Kafka's text.
	JSON bool
	// From and To leave out records below From, and from To on: all of them are
	// printed from FirstOffset to NoOffset.
	From, To int64
}

// dumper prints files, one after the other.
type dumper struct {
	Options

	out      output
	errs     io.Writer
	decoder  batch.Decoder
	file     reader
	findings findings
	damage   damage

	record record
}

// Files prints files to out, and what is wrong with them to errs. An error
// ends it, as it ends Kafka's tool. A reader of out that went away does too,
// and is no error.
func Files(out, errs io.Writer, names []string, o Options) error {
	d := &dumper{Options: o, out: newOutput(out), errs: errs}
	err := d.files(names)
	if cerr := d.out.close(); err == nil || cerr != nil {
		err = cerr
	}
	if errors.Is(err, errClosedPipe) {
		return nil
	}
	if rerr := d.findings.report(errs); rerr != nil {
		err = errors.Join(err, rerr)
	}
	if err == nil {
		err = d.damage.err()
	}
	return err
}

func (d *dumper) files(names []string) error {
	var unknown error
	for _, name := range names {
		err := d.one(cleanName(name))
		if errors.Is(err, ErrUnknownFile) {
			unknown = errors.Join(unknown, err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return unknown
}

// one prints one file.
func (d *dumper) one(name string) error {
	if !d.JSON {
		d.out.line("Dumping ", name)
	}
	var print func(name string) error
	switch filepath.Ext(name) {
	case ".log", ".checkpoint":
		print = d.segment
	case ".index":
		print = d.offsetIndex
	case ".timeindex":
		print = d.timeIndex
	case ".txnindex":
		print = d.txnIndex
	case ".snapshot":
		print = d.snapshot
	default:
		return fmt.Errorf("dump %s: %w: its name ends in none of .log, .index, .timeindex, .txnindex, .snapshot and .checkpoint",
			name, ErrUnknownFile)
	}
	if err := print(name); err != nil {
		return fmt.Errorf("dump %s: %w", name, err)
	}
	return d.out.err
}

// cleanName is a name as java.io.File shows it: no slash twice, none at the
// end.
func cleanName(name string) string {
	for strings.Contains(name, "//") {
		name = strings.ReplaceAll(name, "//", "/")
	}
	if len(name) > 1 {
		name = strings.TrimSuffix(name, "/")
	}
	return name
}

// absolute is a file's name as Kafka's reports have it.
func absolute(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	return cleanName(dir + "/" + name), nil
}
