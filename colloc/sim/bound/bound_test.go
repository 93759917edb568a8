package bound_test

import (
	"flag"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/bound"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

var days = flag.Int("days", max(3, race.Fewer(12)), "how many tiny days are tried; 200 take some minutes")

// TestTinyDays: bound <= the best of all ways without stops <= colloc's, that stops nothing.
func TestTinyDays(t *testing.T) {
	var gaps [2]float64
	var regret [2][]float64
	for seed := range *days {
		d := drawTiny(uint64(seed), 4+seed%4)
		o := bound.Options{Truth: d.truth, Moments: 8}
		b, err := bound.Find(t.Context(), d.gpus, d.tasks, o)
		if err != nil {
			t.Fatalf("day %d: %v", seed, err)
		}
		makespan, mean, err := b.Certificate.Verify(t.Context(), d.gpus, d.tasks, o)
		if err != nil || makespan != b.Makespan || mean != b.MeanJCT {
			t.Errorf("day %d: %v and %v are verified of %+v, %v", seed, makespan, mean, b, err)
		}
		end, sum := d.best()
		sum /= float64(len(d.tasks))
		r, err := sim.Run(t.Context(), d.gpus, d.tasks, policy.Colloc{NoStop: true}, sim.Options{Truth: d.truth})
		if err != nil {
			t.Fatal(err)
		}
		const blur = 1e-6 // seconds: the simulator's are whole nanoseconds
		if b.Makespan.Seconds() > end+blur || b.MeanJCT.Seconds() > sum+blur {
			t.Errorf("day %d: bounds %v and %v, and %v s and %v s were reached", seed, b.Makespan, b.MeanJCT, end, sum)
		}
		if r.Unfinished+r.Failed == 0 && (end > r.Makespan.Seconds()+blur || sum > r.MeanJCT.Seconds()+blur) {
			t.Errorf("day %d: at best %v s and %v s, and colloc reaches %v and %v", seed, end, sum, r.Makespan, r.MeanJCT)
		}
		if r.Unfinished+r.Failed == 0 {
			regret[0], regret[1] = append(regret[0], r.Makespan.Seconds()/end-1), append(regret[1], r.MeanJCT.Seconds()/sum-1)
		}
		gaps[0] += end/b.Makespan.Seconds() - 1
		gaps[1] += sum/b.MeanJCT.Seconds() - 1
	}
	if n := float64(*days); gaps[0]/n > 0.1 || gaps[1]/n > 0.2 {
		t.Errorf("the best lies %v and %v above the bounds in the mean; want .1 and .2 at most", gaps[0]/n, gaps[1]/n)
	} else {
		t.Logf("the best lies %.3f and %.3f above the bounds in the mean", gaps[0]/n, gaps[1]/n)
	}
	for k, name := range []string{"makespan", "mean time from arrival to end"} {
		slices.Sort(regret[k])
		at := func(q float64) float64 { return regret[k][int(q*float64(len(regret[k])-1))] }
		t.Logf("colloc's regret in the %s: median %.3f, 90 %% %.3f, most %.3f", name, at(0.5), at(0.9), at(1))
	}
}

// TestHeavyDay: of equal tasks that all come at once, two of which share a GPU at .6 each, the
// work ends at 1/1.2 of its sum, and its mean is half of that and half of one's own.
func TestHeavyDay(t *testing.T) {
	const n = 24
	var tasks []sim.Task
	for i := range n {
		tasks = append(tasks, sim.Task{ID: strconv.Itoa(i), Work: time.Hour, Memory: 7 * profile.GiB})
	}
	cluster := &sim.Cluster{Nodes: []sim.Node{{GPUs: []sim.GPU{{Memory: 16 * profile.GiB}}}}}
	b, err := bound.Find(t.Context(), cluster, tasks, bound.Options{Truth: sim.Constant{1, 0.6}, Moments: 24})
	if err != nil {
		t.Fatal(err)
	}
	end := n / 1.2
	mean := end/2 + 0.5
	if got := b.Makespan.Hours(); got > end || got < 0.99*end {
		t.Errorf("makespan %v h, want %v or a little less", got, end)
	}
	if got := b.MeanJCT.Hours(); got > mean+1e-6 || got < 0.97*mean {
		t.Errorf("mean %v h, want %v or a little less", got, mean)
	}
}

// TestBusyDay: of a day of many kinds whose sets are found in two phases, what is proven is
// no more than a policy reaches, and near it.
func TestBusyDay(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine takes half a minute with the race detector")
	}
	tasks := busyDay(9, 2)
	cluster, err := sim.ParseCluster("2xA100-40GB")
	if err != nil {
		t.Fatal(err)
	}
	o := bound.Options{Truth: speed.Contention{}, Moments: 17}
	b, err := bound.Find(t.Context(), cluster, tasks, o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(t.Context(), cluster, tasks, policy.Greedy{MaxSet: 4, Shortest: true}, sim.Options{Truth: o.Truth})
	if err != nil {
		t.Fatal(err)
	}
	if b.Makespan > r.Makespan || b.MeanJCT > r.MeanJCT || float64(r.Makespan) > 1.3*float64(b.Makespan) || float64(r.MeanJCT) > 1.4*float64(b.MeanJCT) {
		t.Errorf("proven %v and %v, reached %v and %v", b.Makespan, b.MeanJCT, r.Makespan, r.MeanJCT)
	}
	t.Logf("proven %v and %v, reached %v and %v", b.Makespan, b.MeanJCT, r.Makespan, r.MeanJCT)
}
