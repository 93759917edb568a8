package simulate

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/measured"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// How often a measured day is played, each time with lengths drawn anew: as it was run, and
// as it would have been.
const ranTimes, wouldTimes = 20, 5

// isMeasured reports whether a folder holds days that ran on real GPUs.
func isMeasured(dir string) bool {
	days, err := filepath.Glob(filepath.Join(dir, "day_*.csv"))
	return err == nil && len(days) > 0
}

// readMeasured reads one day of a folder as a trace of described tasks.
func readMeasured(name string) (*trace.Trace, error) {
	days, err := measured.Open(os.DirFS(filepath.Dir(name)))
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	for i := range days {
		if filepath.Base(name) == "day_"+days[i].Name+".csv" {
			return &trace.Trace{Layout: described, Tasks: days[i].Tasks}, nil
		}
	}
	return nil, cli.Usage("%s: a day of trainings is a file day_NAME.csv", name)
}

// playing is a policy on a measured day, under one truth.
type playing struct {
	day     *measured.Day
	policy  measured.Policy
	machine measured.Machine
	figures [3]figure // makespan, mean JCT, mean execution, in seconds
	deaths  float64
	times   int
}

// figure is a mean over repetitions, with the least and the most.
type figure struct{ mean, lo, hi float64 }

func (f *figure) add(x float64, first bool, times int) {
	if first {
		f.lo, f.hi = x, x
	}
	f.mean, f.lo, f.hi = f.mean+x/float64(times), min(f.lo, x), max(f.hi, x)
}

// printMeasured plays the days of a folder as they were run, and as they would have been.
func printMeasured(ctx context.Context, w io.Writer, dir string) error {
	days, err := measured.Open(os.DirFS(dir))
	if err != nil {
		return cli.Usage("-published: %w", err)
	}
	fitted, err := pretrained.Interference()
	if err != nil {
		return err
	}
	told := speed.Fitted{Interference: fitted}
	under := func(mech profile.Mechanism, left float64) sim.Model {
		return speed.MPS{Model: speed.By{Model: told, Mechanism: mech}, Left: left, Always: true}
	}
	turns := measured.Machine{Truth: under(profile.TimeSlice, 1), Predicted: told}
	mps := measured.Machine{Truth: under(profile.MPS, 1), Predicted: told}
	truths := []truth{{"as predicted", turns.Truth}, {"MPS", mps.Truth}, {"slowdowns x 2", under(profile.TimeSlice, 2)}}
	var ran, would []*playing
	for i := range days {
		d := &days[i]
		for _, p := range turns.Policies() {
			if slices.ContainsFunc(d.Runs, ofPolicy(p.Name)) {
				ran = append(ran, &playing{day: d, policy: p, machine: turns, times: ranTimes}, &playing{day: d, policy: p, machine: mps, times: ranTimes})
			}
		}
		for _, unknown := range []bool{false, true} {
			for _, p := range rivals() {
				for _, t := range truths {
					m := measured.Machine{Truth: t.model, Predicted: told, Unknown: unknown}
					would = append(would, &playing{day: d, policy: measured.Policy{Name: p.Name(), Policy: p}, machine: m, times: wouldTimes})
				}
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range slices.Concat(ran, would) {
		group.Go(func() error { return p.play(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := printRan(w, ran); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return printWould(w, would, truths)
}

// play plays all repetitions.
func (p *playing) play(ctx context.Context) error {
	for seed := range p.times {
		r, err := p.day.Play(ctx, p.machine, p.policy, uint64(seed))
		if err != nil {
			return err
		}
		for i, x := range [...]float64{r.Makespan.Seconds(), r.MeanJCT.Seconds(), measured.Execution(r).Seconds()} {
			p.figures[i].add(x, seed == 0, p.times)
		}
		p.deaths += float64(r.OutOfMemory) / float64(p.times)
	}
	return nil
}

// printRan prints measured beside simulated; pairs of playings are one under turns and one
// under MPS.
func printRan(w io.Writer, ran []*playing) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "day\tpolicy\tfigure\tmeasured\tin turns\t\tby MPS\t\t")
	for i := 0; i < len(ran); i += 2 {
		a, b := ran[i], ran[i+1]
		run := a.day.Runs[slices.IndexFunc(a.day.Runs, ofPolicy(a.policy.Name))]
		for k, want := range [...]float64{run.Makespan.Seconds(), run.MeanJCT.Seconds(), run.MeanExecution.Seconds()} {
			name := [...]string{"makespan, s", "mean JCT, s", "mean execution, s"}[k]
			fmt.Fprintf(t, "%s\t%s\t%s\t%.0f\t%.0f\t%+.1f %%\t%.0f\t%+.1f %%\t\n", a.day.Name, a.policy.Name, name, want,
				a.figures[k].mean, 100*(a.figures[k].mean/want-1), b.figures[k].mean, 100*(b.figures[k].mean/want-1))
		}
		fmt.Fprintf(t, "%s\t%s\tout of memory\t%d\t%.1f\t\t%.1f\t\t\n", a.day.Name, a.policy.Name, run.OutOfMemory, a.deaths, b.deaths)
	}
	return t.Flush()
}

// truth is how tasks may slow each other down.
type truth struct {
	label string
	model sim.Model
}

// rivals are the policies that would have run a measured day.
func rivals() []sim.Policy {
	return []sim.Policy{
		policy.Greedy{MaxSet: 4},
		policy.Greedy{MaxSet: 4, Overtake: true},
		policy.Greedy{MaxSet: 4, Shortest: true},
		policy.Colloc{NoStop: true},
		policy.Colloc{},
	}
}

// printWould prints what others would have come to, under each truth.
func printWould(w io.Writer, would []*playing, truths []truth) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "day\tlengths\tpolicy\tfigure\t")
	for i := range truths {
		fmt.Fprintf(t, "%s\t", truths[i].label)
	}
	fmt.Fprintln(t)
	for i := 0; i < len(would); i += len(truths) {
		lengths := "known"
		if would[i].machine.Unknown {
			lengths = "unknown"
		}
		for k, name := range [...]string{"makespan, s", "mean JCT, s"} {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t", would[i].day.Name, lengths, would[i].policy.Name, name)
			for _, p := range would[i : i+len(truths)] {
				fmt.Fprintf(t, "%.0f (%.0f-%.0f)\t", p.figures[k].mean, p.figures[k].lo, p.figures[k].hi)
			}
			fmt.Fprintln(t)
		}
	}
	return t.Flush()
}

// ofPolicy finds the run of a policy.
func ofPolicy(name string) func(trace.Run) bool {
	return func(r trace.Run) bool { return r.Policy == name }
}
