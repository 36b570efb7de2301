// Command lookup times looking a record up by its path: open, read and close,
// at offsets in random order.
//
//	lookup [-n COUNT] [-max N] [-base B] [-step S] [-seed SEED] PATTERN
//
// PATTERN is a path with one %d in it, for which B + S*i is put in, with i
// random below N. It prints the median and the 99th percentile in µs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// bufferSize is more than any record of the reference data has.
const bufferSize = 4096

// work is what is looked up.
type work struct {
	pattern           string
	count             int
	limit, base, step int64
	seed              uint64
}

func main() {
	var w work
	flag.IntVar(&w.count, "n", 20000, "how many look-ups")
	flag.Int64Var(&w.limit, "max", 1000000, "the random numbers are below it")
	flag.Int64Var(&w.base, "base", 0, "what is put into the path for number 0")
	flag.Int64Var(&w.step, "step", 1, "how much more it is for the next number")
	flag.Uint64Var(&w.seed, "seed", 7, "the same seed gives the same numbers")
	flag.Parse()
	w.pattern = flag.Arg(0)
	if err := w.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lookup:", err)
		os.Exit(1)
	}
}

func (w work) run(out io.Writer) error {
	if strings.Count(w.pattern, "%d") != 1 || w.count < 1 || w.limit < 1 {
		return errors.New("usage: lookup [-n COUNT] [-max N] PATTERN, with one %d in PATTERN")
	}
	random := rand.New(rand.NewPCG(w.seed, w.seed))
	paths := make([]string, w.count)
	for i := range paths {
		paths[i] = strings.Replace(w.pattern, "%d", fmt.Sprint(w.base+w.step*random.Int64N(w.limit)), 1)
	}
	took := make([]time.Duration, w.count)
	buffer := make([]byte, bufferSize)
	for i, path := range paths {
		start := time.Now()
		if err := readOnce(path, buffer); err != nil {
			return err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	fmt.Fprintf(out, "%.1f %.1f\n", micros(took[w.count/2]), micros(took[w.count*99/100]))
	return nil
}

// readOnce makes the system calls itself: the os package adds an fstat to
// every open, which is no part of what is measured.
func readOnce(path string, buffer []byte) error {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	n, err := syscall.Read(fd, buffer)
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err := errors.Join(err, syscall.Close(fd)); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
