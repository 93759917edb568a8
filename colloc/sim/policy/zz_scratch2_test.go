package policy

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/trace"
)

func read(t *testing.T, name string) *trace.Trace {
	f, err := os.Open(os.Getenv("COLLOC_DATA") + "/" + name)
	if err != nil {
		t.Skip()
	}
	defer f.Close()
	tr, err := trace.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestScratchOpenb(t *testing.T) {
	nodes := read(t, "traces/openb_node_list_gpu_node.csv")
	pods := read(t, "traces/openb_pod_list_default.csv")
	c := &sim.Cluster{Nodes: nodes.Nodes}
	for seed := uint64(42); seed < 44; seed++ {
		tasks := trace.Inflate(pods.Tasks, 1.3*float64(c.GPUs()), seed)
		for _, p := range []sim.Policy{RandomNode{}, BestFit{}, FGD{Typical: pods.Tasks}, FGD{Typical: pods.Tasks, Exact: true}} {
			start := time.Now()
			r, err := sim.Run(context.Background(), c, tasks, p, sim.Options{Seed: seed, Until: tasks[len(tasks)-1].Arrival})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("openb %d %s alloc %.2f run %d wait %d %v\n", seed, r.Policy, 100*r.Last.Allocated, r.Last.Running, r.Last.Waiting, time.Since(start))
		}
	}
}

func TestScratchCARMA(t *testing.T) {
	tr := read(t, "traces/carma_trace_t1.csv")
	c, _ := sim.ParseCluster("4xA100-40GB")
	for _, est := range []string{"", "horus", "faketensor", "gpumemnet"} {
		for _, scale := range []float64{0.5, 1, 2} {
			for _, p := range All() {
				switch p.Name() {
				case "muri-s", "muri-l":
					continue
				}
				if est != "" && scale != 1 {
					continue
				}
				o := sim.Options{Truth: sim.Contention{Scale: scale}, Predicted: sim.Contention{}}
				if est != "" {
					o.Reserve = Estimate(est)
				}
				r, err := sim.Run(context.Background(), c, tr.Tasks, p, o)
				if err != nil {
					fmt.Println("carma", p.Name(), err)
					continue
				}
				fmt.Printf("carma est=%-10s scale %.1f %-18s makespan %6.1f min jct %6.1f p99 %6.1f energy %6.2f MJ oom %d unfinished %d\n", est, scale, r.Policy, r.Makespan.Minutes(), r.MeanJCT.Minutes(), r.P99JCT.Minutes(), r.Energy/1e6, r.OutOfMemory, r.Unfinished)
			}
		}
	}
}
