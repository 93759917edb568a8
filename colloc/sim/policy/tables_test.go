package policy_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/predict"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// estimators are ways to say how much memory CARMA's tasks need.
func estimators(tb testing.TB) map[string]func(*sim.Task) profile.Bytes {
	tb.Helper()
	m, err := pretrained.Memory()
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]func(*sim.Task) profile.Bytes{
		"horus": policy.Estimate("horus"), "faketensor": policy.Estimate("faketensor"), "gpumemnet": policy.Estimate("gpumemnet"),
		"colloc": policy.Predicted(m, predict.Host{}, 0.01), "oracle": nil,
	}
}

// TestPredicted: colloc's reservations for CARMA's tasks, made from a shape-only
// run alone, are seldom too small, and never by CARMA's margin of 2 GiB and the
// 10 % headroom together.
func TestPredicted(t *testing.T) {
	reserve := estimators(t)["colloc"]
	under := map[string]bool{}
	for _, task := range readTrace(t, "carma_trace_t1.csv").Tasks {
		if got := reserve(&task); got < task.Memory {
			under[task.Type] = true
			if got+6*profile.GiB < task.Memory {
				t.Errorf("%s: %v reserved, %v needed", task.Type, got, task.Memory)
			}
		}
	}
	if len(under) > 1 {
		t.Errorf("too little is reserved for %v", under)
	}
	if got := reserve(&sim.Task{}); got != 40000*profile.MiB {
		t.Errorf("%v for a task of which nothing is known", got)
	}
}

// report puts the numbers of a run into the benchmark's line.
func report(b *testing.B, r *sim.Result) {
	b.Helper()
	b.ReportMetric(r.Makespan.Minutes(), "makespan-min")
	b.ReportMetric(r.MeanJCT.Minutes(), "jct-min")
	b.ReportMetric(r.Energy/1e6, "MJ")
	b.ReportMetric(float64(r.OutOfMemory), "oom")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCARMA prints the reproduction of CARMA's evaluation: trace t1 on
// 4 A100-40GB, per assumption on contention and estimator of memory. Policies
// predict speeds by the central assumption. Run it with -benchtime 1x.
func BenchmarkCARMA(b *testing.B) {
	tasks := readTrace(b, "carma_trace_t1.csv").Tasks
	c := cluster(b, "4xA100-40GB")
	for _, scale := range []float64{0.5, 1, 2} {
		for name, reserve := range estimators(b) {
			for _, p := range policy.All() {
				if isMuri(p) {
					continue
				}
				b.Run(fmt.Sprintf("contention=%v/estimator=%s/policy=%s", scale, name, p.Name()), func(b *testing.B) {
					for b.Loop() {
						report(b, simulate(b, c, tasks, p, sim.Options{
							Truth: speed.Contention{Scale: scale}, Predicted: speed.Contention{}, Reserve: reserve,
						}))
					}
				})
			}
		}
	}
}

// BenchmarkGavel prints mean completion time and throughput on Gavel's measured
// pairs, over 5 seeds: 1,500 tasks of a mean of 1 h on 32 GPUs, per load in units of
// what the GPUs do exclusively and error of the predictions. Throughput is work
// done per GPU and time until the last arrival. Run it with -benchtime 1x.
func BenchmarkGavel(b *testing.B) {
	for _, gpu := range []struct{ table, cluster string }{{"v100", "4x8xV100"}, {"k80", ""}} {
		pairs, err := trace.Pairs(open(b, "interference_gavel.csv"), gpu.table)
		if err != nil {
			b.Fatal(err)
		}
		c := named(gpu.table, 32)
		for _, load := range []float64{0.7, 0.9, 1.1, 1.3} {
			for _, wrong := range []float64{0, 0.05, 0.1, 0.2} {
				for _, p := range []sim.Policy{
					policy.FIFO{},
					policy.Random{},
					policy.Greedy{},
					policy.Lucid{},
					policy.Gavel{},
					policy.Colloc{Budget: profile.Some(0)},
				} {
					b.Run(fmt.Sprintf("gpu=%s/load=%.1f/error=%v/policy=%s", gpu.table, load, wrong, p.Name()), func(b *testing.B) {
						for b.Loop() {
							jct, done := gavelMeans(b, pairs, gpu.table, c, p, load, wrong)
							b.ReportMetric(jct, "jct-h")
							b.ReportMetric(done, "throughput")
							b.ReportMetric(0, "ns/op")
						}
					})
				}
			}
		}
	}
}

// named is one machine with so many GPUs of a product that need not be in the
// catalogue.
func named(product string, gpus int) *sim.Cluster {
	n := sim.Node{GPUs: make([]sim.GPU, gpus)}
	for i := range n.GPUs {
		n.GPUs[i] = sim.GPU{Model: profile.GPUModel{Name: product}, Memory: 16 * profile.GiB, BusyWatts: 250}
	}
	return &sim.Cluster{Nodes: []sim.Node{n}}
}

// gavelMeans are means over five seeds: of completion times in hours, and of the
// work done per GPU and time while tasks arrive.
func gavelMeans(tb testing.TB, pairs *speed.Pairs, gpu string, c *sim.Cluster, p sim.Policy, load, wrong float64) (jct, throughput float64) {
	tb.Helper()
	const seeds, tasks = 5, 1500
	for seed := range uint64(seeds) {
		ts := gavelTasks(tb, pairs, gpu, tasks, c.GPUs(), load, seed)
		o := sim.Options{
			Truth: pairs, Predicted: speed.Noisy{Model: pairs, SD: wrong, Seed: seed}, LengthError: wrong, ObserveError: 0.05, Seed: seed,
		}
		r := simulate(tb, c, ts, p, o)
		jct += r.MeanJCT.Hours() / seeds
		last := ts[len(ts)-1].Arrival
		work := time.Duration(0)
		byIndex := map[string]time.Duration{}
		for i := range ts {
			byIndex[ts[i].ID] = ts[i].Work
		}
		for i := range r.Ends {
			if r.Ends[i].End <= last {
				work += byIndex[r.Ends[i].ID]
			}
		}
		throughput += work.Seconds() / last.Seconds() / float64(c.GPUs()) / seeds
	}
	return jct, throughput
}
