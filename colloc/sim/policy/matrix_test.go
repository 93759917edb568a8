package policy_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/history"
	"example.com/colloc/colloc/sim/measured"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

var (
	matrixDays  = flag.Int("matrix.days", 0, "how many days of each kind TestMatrix plays; 0 is none")
	matrixFirst = flag.Uint64("matrix.first", 1, "the first seed")
	matrixOnly  = flag.String("matrix.only", "", "the kinds of days whose names hold one of these words, comma-separated")
	matrixWith  = flag.String("matrix.policies", "colloc,colloc-nostop,gsjf-4,gfill-4,greedy-4,lucid", "the policies; the others are compared with the first")
)

// kindOfDay draws days.
type kindOfDay struct {
	name    string
	gpus    string
	tasks   func(tb testing.TB, seed uint64) []sim.Task
	options sim.Options
	unknown bool // lengths
	most    int  // days; 0 is no limit
}

// slowThrees is a truth in which sets of three and more are slower.
type slowThrees struct {
	sim.Model
	by float64
}

func (m slowThrees) Speeds(gpu *sim.GPU, mech profile.Mechanism, set []*sim.Task, dst []float64) error {
	err := m.Model.Speeds(gpu, mech, set, dst)
	if len(set) > 2 {
		for i := range dst {
			dst[i] *= m.by
		}
	}
	return err
}

// drawn draws a day from CARMA's trace after its tasks were changed.
func drawn(day trace.Day, change func(i int, t *sim.Task)) func(testing.TB, uint64) []sim.Task {
	return func(tb testing.TB, seed uint64) []sim.Task {
		tb.Helper()
		base := slices.Clone(readTrace(tb, "carma_trace_t1.csv").Tasks)
		if change != nil {
			for i := range base {
				change(i, &base[i])
			}
		}
		day.Seed, day.GPUs = seed, 4
		tasks, err := day.Fresh(base)
		if err != nil {
			tb.Fatal(err)
		}
		return tasks
	}
}

// kindsOfDays are those on which a policy must not be worse than a plain rule.
func kindsOfDays(tb testing.TB) []kindOfDay {
	tb.Helper()
	const gpus = "4xA100-40GB"
	started := func(d time.Duration) func(int, *sim.Task) {
		return func(_ int, t *sim.Task) { t.Startup = d }
	}
	gangs := func(i int, t *sim.Task) {
		t.Startup = time.Minute
		if i%5 == 0 {
			t.GPUs = 2 + 2*(i/5%2)
		}
	}
	large := func(i int, t *sim.Task) {
		t.Startup = time.Minute
		if i%3 != 0 {
			t.Memory = min(38*profile.GiB, t.Memory*5/2)
		}
	}
	exact, wrong := sim.Options{Truth: speed.Contention{}}, sim.Options{Truth: speed.Contention{}, LengthError: 0.5}
	out := []kindOfDay{
		{name: "CARMA", gpus: gpus, tasks: drawn(trace.Day{}, started(time.Minute)), options: exact},
		{name: "CARMA, lengths wrong", gpus: gpus, tasks: drawn(trace.Day{}, started(time.Minute)), options: wrong},
		{name: "CARMA, lengths unknown", gpus: gpus, tasks: drawn(trace.Day{}, started(time.Minute)), options: exact, unknown: true},
		{name: "start-up 5 min", gpus: gpus, tasks: drawn(trace.Day{}, started(5*time.Minute)), options: exact},
		{name: "start-up 15 min", gpus: gpus, tasks: drawn(trace.Day{}, started(15*time.Minute)), options: exact},
		{name: "contention 2", gpus: gpus, tasks: drawn(trace.Day{}, started(time.Minute)), options: sim.Options{Truth: speed.Contention{Scale: 2}}},
		{
			name: "threes x .7", gpus: gpus, tasks: drawn(trace.Day{}, started(time.Minute)),
			options: sim.Options{Truth: slowThrees{speed.Contention{}, 0.7}, Predicted: speed.Contention{}},
		},
		{name: "mixed GPUs", gpus: "2xA100-40GB,2xV100-32GB", tasks: drawn(trace.Day{}, started(time.Minute)), options: paced(tb)},
	}
	for _, load := range []float64{0.8, 1.2, 2} {
		day := trace.Day{Tasks: 200, Load: load}
		for _, s := range []struct {
			name   string
			change func(int, *sim.Task)
		}{{"plain", started(time.Minute)}, {"gangs", gangs}, {"much memory", large}} {
			out = append(out, kindOfDay{name: fmt.Sprintf("stream %v, %s", load, s.name), gpus: gpus, tasks: drawn(day, s.change), options: exact, most: 10})
		}
	}
	for _, load := range []float64{1.2, 2} {
		day := trace.Day{Tasks: 200, Load: load}
		out = append(out,
			kindOfDay{name: fmt.Sprintf("stream %v, wrong", load), gpus: gpus, tasks: drawn(day, started(time.Minute)), options: wrong, most: 10},
			kindOfDay{name: fmt.Sprintf("stream %v, unknown", load), gpus: gpus, tasks: drawn(day, started(time.Minute)), options: exact, unknown: true, most: 10},
			kindOfDay{name: fmt.Sprintf("stream %v, 15 min", load), gpus: gpus, tasks: drawn(day, started(15*time.Minute)), options: exact, most: 10})
	}
	for _, product := range []string{"v100", "k80"} {
		pairs, err := trace.Pairs(open(tb, "interference_gavel.csv"), product)
		if err != nil {
			tb.Fatal(err)
		}
		for _, load := range []float64{0.9, 1.3} {
			out = append(out, kindOfDay{
				name: fmt.Sprintf("Gavel %s, %v", product, load), gpus: "8x" + strings.ToUpper(product), most: 10, options: sim.Options{Truth: pairs},
				tasks: func(tb testing.TB, seed uint64) []sim.Task {
					tb.Helper()
					tasks := gavelTasks(tb, pairs, product, 200, 8, load, seed)
					for i := range tasks {
						tasks[i].Startup = time.Minute
					}
					return tasks
				},
			})
		}
	}
	return append(out, realDays(tb)...)
}

// paced are options for several products.
func paced(tb testing.TB) sim.Options {
	tb.Helper()
	paces, err := pretrained.Pace()
	if err != nil {
		tb.Fatal(err)
	}
	reference := cluster(tb, "1xA100-40GB").Nodes[0].GPUs[0].Model
	return sim.Options{Truth: speed.Paced{Model: speed.Contention{}, Pace: paces, Reference: reference}}
}

// realDays are those of AEGIS, with lengths that differ by 2 %, and of Muri.
func realDays(tb testing.TB) []kindOfDay {
	tb.Helper()
	open(tb, "aegis/day_philly.csv")
	days, err := measured.Open(os.DirFS(filepath.Join(os.Getenv("COLLOC_DATA"), "aegis")))
	if err != nil {
		tb.Fatal(err)
	}
	fitted, err := pretrained.Interference()
	if err != nil {
		tb.Fatal(err)
	}
	var out []kindOfDay
	for _, d := range days {
		jittered := func(_ testing.TB, seed uint64) []sim.Task {
			tasks := trace.Jitter(d.Tasks, time.Minute, 0.02, seed)
			for i := range tasks {
				tasks[i].Startup = 21 * time.Second
			}
			return tasks
		}
		for _, unknown := range []bool{false, true} {
			name := d.Name
			if unknown {
				name += ", unknown"
			}
			out = append(out, kindOfDay{name: name, gpus: "3xA100-40GB", tasks: jittered, options: sim.Options{Truth: speed.Fitted{Interference: fitted}}, unknown: unknown, most: 10})
		}
	}
	for _, n := range []string{"1", "3"} {
		out = append(out, kindOfDay{
			name: "Muri " + n, gpus: "8x8xV100", most: 1, options: sim.Options{Truth: speed.Stages{}, RestartAll: true},
			tasks: func(tb testing.TB, _ uint64) []sim.Task {
				tb.Helper()
				return readTrace(tb, "muri_trace"+n+".csv").Tasks
			},
		})
	}
	return out
}

// figures of a day, in seconds.
type figures [4]float64

// playDay plays one day.
func playDay(k *kindOfDay, c *sim.Cluster, tasks []sim.Task, p sim.Policy, seed uint64) (figures, error) {
	o := k.options
	o.Seed = seed
	if k.unknown {
		h := history.New(tasks)
		o.Length, o.Guessed, o.OnEvent = h.Length, true, h.Note
	}
	r, err := sim.Run(context.Background(), c, tasks, p, o)
	if err != nil || r.Finished < len(tasks) {
		return figures{}, cmp.Or(err, fmt.Errorf("%d tasks of %d ended", r.Finished, len(tasks)))
	}
	longest := time.Duration(1)
	for i := range r.Ends {
		longest = max(longest, r.Ends[i].Wait)
	}
	return figures{r.Makespan.Seconds(), r.MeanJCT.Seconds(), r.P99JCT.Seconds(), max(60, longest.Seconds())}, nil
}

// TestMatrix plays days of many kinds under colloc and plain rules, and prints how much each is above
// the first: makespan, mean and p99 completion time and longest wait, geometric means of days. Nothing
// fails but what does not end:
//
//	COLLOC_DATA=... go test ./colloc/sim/policy -run Matrix -v -matrix.days 10 -timeout 0
func TestMatrix(t *testing.T) {
	if *matrixDays == 0 {
		t.Skip("-matrix.days says how many days")
	}
	var policies []sim.Policy
	for name := range strings.SplitSeq(*matrixWith, ",") {
		p, ok := matrixPolicy(name)
		if !ok {
			t.Fatalf("no policy %q", name)
		}
		policies = append(policies, p)
	}
	only := strings.Split(*matrixOnly, ",")
	for _, k := range kindsOfDays(t) {
		if !slices.ContainsFunc(only, func(s string) bool { return strings.Contains(k.name, s) }) {
			continue
		}
		c := cluster(t, k.gpus)
		days := *matrixDays
		if k.most > 0 {
			days = min(days, k.most)
		}
		got := make([][]figures, len(policies))
		var group errgroup.Group
		group.SetLimit(runtime.GOMAXPROCS(0))
		took := make([]time.Duration, len(policies))
		for p := range policies {
			got[p] = make([]figures, days)
			for d := range days {
				seed := *matrixFirst + uint64(d)
				tasks := k.tasks(t, seed)
				group.Go(func() (err error) {
					begun := time.Now()
					got[p][d], err = playDay(&k, c, tasks, policies[p], seed)
					took[p] += time.Since(begun)
					if err != nil {
						return fmt.Errorf("%s, %s, seed %d: %w", k.name, policies[p].Name(), seed, err)
					}
					return nil
				})
			}
		}
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
		for p := range policies[1:] {
			fmt.Printf("%-24s %-16s %s\n", k.name, strings.Split(*matrixWith, ",")[p+1], above(got[p+1], got[0]))
		}
		if len(policies) == 1 || testing.Verbose() {
			fmt.Println(k.name, took)
		}
	}
}

// matrixPolicy is a policy by name.
func matrixPolicy(name string) (sim.Policy, bool) {
	return policy.ByName(name)
}

// above says by how many per cent figures are above others, and half of the interval that holds the mean 95 times of 100.
func above(a, b []figures) string {
	var text strings.Builder
	for k := range len(a[0]) {
		sum, squares, n := 0.0, 0.0, float64(len(a))
		for d := range a {
			x := math.Log(a[d][k] / b[d][k])
			sum, squares = sum+x, squares+x*x
		}
		spread := math.Sqrt(max(0, squares/n-(sum/n)*(sum/n)) / max(1, n-1))
		fmt.Fprintf(&text, " %+7.1f ±%-5.1f", 100*(math.Exp(sum/n)-1), 196*spread)
	}
	return text.String()
}
