// Packbench measures how fast package packer packs on this machine and how far
// its plans are from the best at most, beside what the package promises for two
// cores. Where the LEMON library is installed (liblemon-dev) it times LEMON's
// matching on the same pairs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

const help = `packbench packs tasks on GPUs that are not there and prints, for each case, the
shortest time of some repeats, other figures, and what they must be on two cores
that do nothing else. A plan that takes more than 20 s is stopped.

  exact pairs, pairs   at most two tasks on a GPU, n tasks on n/2 GPUs. The gap is
                       how much more the best plan can do at most, in per cent,
                       as the certificate proves.
  sets of 3, 4         larger sets: by local search, whose gap is to a bound that
                       column generation proves, and by column generation; and
                       10,000 tasks of 56 types, with all that was allocated.
  arrival              a scheduler of 1,000 GPUs that does not look ahead sees one task off and
                       finds a place for another.

Speeds come from tables, without -data the first two:

  random   every pair has speeds of its own, from 0.5 to 1
  tied     a few kinds of job in slightly different copies: many pairs are
           nearly equal, as in measurements, which is what makes packing slow
  lucid    with -data: pairs measured for Lucid, in interference_lucid.csv
  gavel    with -data: pairs measured on V100 for Gavel, interference_gavel.csv
           (both with columns gpu, job_a, job_b, norm_speed_a, norm_speed_b)

Where g++ and LEMON's headers are found (Debian: liblemon-dev), a small program
is compiled and the exact pairs are given to LEMON's MaxWeightedMatching too; the
last columns are its time and how many times longer that is.

usage: packbench [flags]

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program but for the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("packbench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, help)
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.quick, "quick", false, "leave the large cases out")
	flags.StringVar(&o.pattern, "case", "", "measure the cases whose name contains `TEXT` only")
	flags.StringVar(&o.data, "data", "", "read measured pairs from `DIR`")
	flags.IntVar(&o.repeats, "repeats", 5, "measure each case that often, slow ones less")
	flags.DurationVar(&o.lemon, "lemon", 10*time.Second, "stop LEMON after this time for a case; 0 does not run it")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0 || o.repeats < 1 || o.lemon < 0:
		_, _ = fmt.Fprintln(stderr, "packbench: want no arguments but flags, -repeats from 1 and -lemon from 0; see -h")
		return 2
	}
	if err := bench(ctx, o, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "packbench:", err)
		return 1
	}
	return 0
}
