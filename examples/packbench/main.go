// Packbench measures how fast package packer packs on this machine and how far
// its plans are from the best at most, beside what the package promises for two
// cores. The cases are packer's own benchmarks; run it in the module's folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

const help = `packbench packs tasks on GPUs that are not there and prints, for each case, the
shortest time of some repeats, other figures, and what they must be on two cores
that do nothing else.

  exact pairs, pairs   at most two tasks on a GPU, n tasks on n/2 GPUs. The gap is
                       how much more the best plan can do at most, in per cent,
                       as the certificate proves.
  sets of 3, 4         larger sets: by local search, whose gap is to a bound that
                       column generation proves, and by column generation; and
                       10,000 tasks of 56 types, with all that was allocated.
  arrival              a scheduler of 1,000 GPUs that does not look ahead sees one task off and
                       finds a place for another.
  LEMON                how many times longer LEMON's MaxWeightedMatching takes for the
                       exact pairs, where g++ and its headers are found (Debian: liblemon-dev).

Speeds come from tables, without -data the first two:

  random   every pair has speeds of its own, from 0.5 to 1
  tied     a few kinds of job in slightly different copies: many pairs are
           nearly equal, as in measurements, which is what makes packing slow
  lucid    with -data: pairs measured for Lucid, in interference_lucid.csv
  gavel    with -data: pairs measured on V100 for Gavel, interference_gavel.csv
           (both with columns gpu, job_a, job_b, norm_speed_a, norm_speed_b)

usage: packbench [flags]

`

// promise is a case, the benchmark that measures it, and what it must come to.
type promise struct {
	name, folder, benchmark string // with the table of speeds for %s
	time                    time.Duration
	gap, bytes              float64 // per cent, allocated; 0 is no promise
	large                   bool    // left out by -quick
}

const solver, scheduler = "./packer/solve", "./packer/online"

// promises are all cases.
func promises() []promise {
	return []promise{
		{name: "exact pairs/%s/n=100", folder: solver, benchmark: "Matching/weights=%s/n=100", time: 1500 * time.Microsecond},
		{name: "exact pairs/%s/n=1000", folder: solver, benchmark: "Matching/weights=%s/n=1000", time: 60 * time.Millisecond},
		{name: "exact pairs/%s/n=2000", folder: solver, benchmark: "Matching/weights=%s/n=2000", time: 400 * time.Millisecond, large: true},
		{name: "pairs within 0.15%%/%s/n=5000", folder: solver, benchmark: "MatchingTol/weights=%s/n=5000", time: 1500 * time.Millisecond, gap: 0.15, large: true},
		{name: "pairs, 3 kinds of GPU/%s/n=600", folder: solver, benchmark: "Types/n=600/weights=%s", time: time.Second, gap: 0.05},
		{name: "sets of 3, search/%s/n=100", folder: solver, benchmark: "LocalSearch/k=3/n=100/weights=%s", time: 20 * time.Millisecond, gap: 1},
		{name: "sets of 3, proved/%s/n=100", folder: solver, benchmark: "ColumnGen/k=3/n=100/weights=%s", time: 2 * time.Second, gap: 1},
		{name: "sets of 4, search/%s/n=100", folder: solver, benchmark: "LocalSearch/k=4/n=100/weights=%s", time: 20 * time.Millisecond, gap: 1},
		{name: "sets of 4, proved/%s/n=100", folder: solver, benchmark: "ColumnGen/k=4/n=100/weights=%s"},
		{name: "sets of 4, 56 types/%s/n=10000", folder: solver, benchmark: "Typed/tasks=10000/weights=%s", time: 3 * time.Second, gap: 0.1, bytes: 1 << 30},
		{name: "arrival/%s/gpus=1000", folder: scheduler, benchmark: "Arrival/weights=%s", time: 5 * time.Millisecond},
		{name: "LEMON/%s/n=100", folder: solver, benchmark: "LEMON/weights=%s/n=100"},
		{name: "LEMON/%s/n=1000", folder: solver, benchmark: "LEMON/weights=%s/n=1000", large: true},
	}
}

// options are the command line.
type options struct {
	quick         bool
	pattern, data string
	repeats       int
}

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
	flags.IntVar(&o.repeats, "repeats", 5, "measure each case that often")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0 || o.repeats < 1:
		_, _ = fmt.Fprintln(stderr, "packbench: want no arguments but flags, and -repeats from 1; see -h")
		return 2
	}
	if err := o.measure(ctx, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "packbench:", err)
		return 1
	}
	return 0
}

// measure runs the benchmarks of the cases that o asks for.
func (o *options) measure(ctx context.Context, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "packbench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tables := []string{"random", "tied"}
	if o.data != "" {
		tables = []string{"random", "lucid", "gavel"}
		if o.data, err = filepath.Abs(o.data); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%s, %s/%s, %d cores\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "case\ttime\tmust\tmeasured\tmust\t")
	met, judged := 0, 0
	for _, table := range tables {
		for _, p := range promises() {
			name := fmt.Sprintf(p.name, table)
			if o.quick && p.large || !strings.Contains(name, o.pattern) {
				continue
			}
			figures, err := o.benchmark(ctx, dir, &p, table)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			row, missed := p.judge(figures)
			if p.time > 0 {
				judged++
				if !missed {
					met++
				}
			}
			fmt.Fprintf(out, "%s\t%s\n", name, row)
		}
	}
	if judged > 0 {
		fmt.Fprintf(out, "\n%d of %d met\n", met, judged)
	}
	return out.Flush()
}

// benchmark returns the smallest of each figure that a benchmark prints, by its unit; none of one that skips.
func (o *options) benchmark(ctx context.Context, dir string, p *promise, table string) (map[string]float64, error) {
	folder, err := filepath.Abs(p.folder)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, filepath.Base(folder))
	if _, err := os.Stat(program); err != nil {
		if out, err := exec.CommandContext(ctx, "go", "test", "-vet=off", "-c", "-o", program, folder).CombinedOutput(); err != nil { //nolint:gosec // our own package
			return nil, fmt.Errorf("%s does not compile, is this the module's folder? %w\n%s", p.folder, err, out)
		}
	}
	only := "^Benchmark" + strings.ReplaceAll(fmt.Sprintf(p.benchmark, table), "/", "$/^") + "$"
	test := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", only, "-test.benchtime", "1x", "-test.count", strconv.Itoa(o.repeats)) //nolint:gosec // what was just compiled
	test.Dir, test.Env = folder, append(os.Environ(), "COLLOC_DATA="+o.data)
	text, err := test.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return smallest(string(text)), nil
}

// smallest reads what benchmarks print: "BenchmarkX-2  1  1234 ns/op  0.5 gap_pct".
func smallest(text string) map[string]float64 {
	figures := map[string]float64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "Benchmark") || len(words) < 4 {
			continue
		}
		for i := 2; i+1 < len(words); i += 2 {
			x, err := strconv.ParseFloat(words[i], 64)
			if old, ok := figures[words[i+1]]; err == nil && (!ok || x < old) {
				figures[words[i+1]] = x
			}
		}
	}
	return figures
}

// judge is the row of a case, behind its name, and whether it missed what it must come to.
func (p *promise) judge(figures map[string]float64) (row string, missed bool) {
	nanoseconds, ran := figures["ns/op"]
	if !ran {
		return "does not run here\t\t\t\t", p.time > 0
	}
	took := time.Duration(nanoseconds)
	must, verdict := "", ""
	if p.time > 0 {
		must, verdict, missed = "<"+p.time.String(), "met", took >= p.time
	}
	var measured, musts []string
	for _, f := range []struct {
		unit, format, limit string
		most, scale         float64
	}{{"gap_pct", "gap %.4f %%", "<=%g %%", p.gap, 1}, {"B/op", "%.3g GiB", "<%g GiB", p.bytes, 1 << 30}, {"ratio", "%.1f times as long", "", 0, 1}} {
		x, ok := figures[f.unit]
		if !ok || f.unit == "B/op" && f.most == 0 {
			continue
		}
		measured = append(measured, fmt.Sprintf(f.format, x/f.scale))
		if p.time > 0 && f.limit != "" {
			musts, missed = append(musts, fmt.Sprintf(f.limit, f.most/f.scale)), missed || x > f.most+1e-9
		}
	}
	if missed {
		verdict = "missed"
	}
	return strings.Join([]string{took.Round(took / 1000).String(), must, strings.Join(measured, ", "), strings.Join(musts, ", "), verdict}, "\t"), missed
}
