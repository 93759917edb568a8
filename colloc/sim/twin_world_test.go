package sim_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

// tossedWorld draws machines, losses and tasks.
func tossedWorld(t *testing.T, seed uint64) (*sim.Cluster, []sim.Task, sim.Options) {
	t.Helper()
	draw := rand.New(rand.NewPCG(seed, 3))
	model, ok := profile.LookupGPU("A100-40GB")
	if !ok {
		t.Fatal("no A100-40GB in the catalogue")
	}
	c := &sim.Cluster{}
	gpus := 1 + draw.IntN(3)
	for range 1 + draw.IntN(3) {
		n := sim.Node{}
		for range gpus {
			n.GPUs = append(n.GPUs, sim.GPU{Model: model, IdleWatts: 50, BusyWatts: 350})
		}
		c.Nodes = append(c.Nodes, n)
	}
	for range draw.IntN(5) {
		c.Losses = append(c.Losses, sim.Loss{
			GPU: draw.IntN(c.GPUs()), At: time.Duration(draw.Int64N(int64(2 * time.Hour))), For: time.Duration(1 + draw.Int64N(int64(20*time.Minute))),
		})
	}
	var tasks []sim.Task
	for i := range 25 {
		x := sim.Task{
			ID: fmt.Sprint("t", i), Arrival: time.Duration(draw.Int64N(int64(time.Hour))), Work: time.Duration(1 + draw.Int64N(int64(40*time.Minute))),
			GPUs: 1 + draw.IntN(min(2, gpus)), Memory: profile.Bytes(1+draw.IntN(18)) * profile.GiB, Busy: 0.1 + 0.9*draw.Float64(),
			Class: []string{"light", "medium", "heavy"}[draw.IntN(3)], Startup: time.Duration(draw.IntN(3)) * 20 * time.Second,
			HostOnly: i%8 == 7, Profiling: time.Duration(draw.IntN(2)) * time.Minute,
		}
		if i%16 == 9 { // fits by what is predicted, and dies of what is true
			x.Memory = 41 * profile.GiB
		}
		if i%8 == 3 {
			x.Service = &profile.Server{Rate: 1, Capacity: 3, Limit: time.Second}
		}
		tasks = append(tasks, x)
	}
	o := sim.Options{
		Truth: speed.Contention{Scale: 0.5 + draw.Float64()}, OOMAfter: 30 * time.Second, MaxFailures: 4,
		Reserve: func(t *sim.Task) profile.Bytes { return t.Memory * 2 / 3 }, Until: 5 * time.Hour,
	}
	if draw.IntN(2) == 0 {
		o.Checkpoint, o.CheckpointCost = 5*time.Minute, 7*time.Second
	}
	if o.ShareCPU = seed%2 == 1; o.ShareCPU { // whole cores, whose sums are exact
		for i := range c.Nodes {
			c.Nodes[i].CPU = 8
		}
		for i := range tasks {
			if !tasks[i].HostOnly {
				tasks[i].CPU = 2 * float64(draw.IntN(4))
			}
		}
	}
	return c, tasks, o
}

// TestTwin: whatever a policy does, on several machines, with GPUs that fail,
// checkpoints and deaths, the engine and its slow twin agree on every task to the
// nanosecond and on the energy.
func TestTwin(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(race.Fewer(40)) {
		c, tasks, o := tossedWorld(t, seed)
		var deeds []deed
		r, err := sim.Run(context.Background(), c, tasks, tossed{seed, &deeds}, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		w := newTwin(c, tasks, o)
		w.repeat(t, deeds)
		want, got := map[string]sim.End{}, map[string]sim.End{}
		for _, x := range w.tasks {
			if x.gone {
				want[x.ID] = x.end
			}
		}
		for _, e := range r.Ends {
			got[e.ID] = e
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sim.End{}, "Task", "Ratio")); diff != "" {
			t.Fatalf("seed %d: the engine ends otherwise (-twin +engine):\n%s", seed, diff)
		}
		w.advance(r.Last.At)
		if math.Abs(w.energy/r.Energy-1) > 1e-9 {
			t.Errorf("seed %d: energy is %v J, of the twin %v J", seed, r.Energy, w.energy)
		}
		if math.Abs(w.wasted-float64(r.Wasted)) > 1 {
			t.Errorf("seed %d: %v of work is lost, of the twin %v ns", seed, r.Wasted, w.wasted)
		}
		if w.counts[sim.OutOfMemory] != r.OutOfMemory || w.counts[sim.Preemption] != r.Preemptions {
			t.Errorf("seed %d: %d deaths and %d preemptions, of the twin %v", seed, r.OutOfMemory, r.Preemptions, w.counts)
		}
		seen["deaths"] += r.OutOfMemory
		seen["recoveries"] += r.Recoveries
		seen["ends"] += r.Finished
		seen["given up"] += r.Failed
	}
	t.Log(seen)
	for _, kind := range []string{"deaths", "recoveries", "ends", "given up"} {
		if seen[kind] < race.Fewer(20) {
			t.Errorf("only %d %s in all: the test says nothing of them", seen[kind], kind)
		}
	}
}
