package policy

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/profile"
)

func TestScratchGavel(t *testing.T) {
	f, err := os.Open(os.Getenv("COLLOC_DATA") + "/interference_gavel.csv")
	if err != nil {
		t.Skip()
	}
	pairs, err := trace.Pairs(f, "v100")
	if err != nil {
		t.Fatal(err)
	}
	var types []trace.Type
	for _, n := range pairs.Types("v100") {
		types = append(types, trace.Type{Name: n, Memory: profile.GiB})
	}
	v100, _ := profile.LookupGPU("V100")
	c := &sim.Cluster{}
	for range 4 {
		n := sim.Node{}
		for range 8 {
			n.GPUs = append(n.GPUs, sim.GPU{Model: v100})
		}
		c.Nodes = append(c.Nodes, n)
	}
	for _, load := range []float64{0.7, 0.9, 1.1, 1.3} {
		for _, sd := range []float64{0, 0.05, 0.1, 0.2} {
			if sd > 0 && load != 1.1 {
				continue
			}
			jct := map[string]float64{}
			var order []string
			el := map[string]time.Duration{}
			for seed := uint64(0); seed < 2; seed++ {
				tasks, _ := trace.Generate(trace.Workload{Tasks: 1500, Seed: seed, Types: types, MeanLength: time.Hour, LengthSpread: 1, Between: time.Duration(float64(time.Hour) / 32 / load)})
				for _, p := range []sim.Policy{FIFO{}, Random{}, Greedy{}, Lucid{}, Shortest{}, Gavel{}, Session{}, Session{ByLength: true}, Session{NoLearning: true}, Session{MaxSet: 3}} {
if p.Name()=="gavel" {continue}
					start := time.Now()
					r, err := sim.Run(context.Background(), c, tasks, p, sim.Options{Truth: pairs, Predicted: sim.Noisy{Model: pairs, SD: sd, Seed: seed}, LengthError: sd, Seed: seed, ObserveError: 0.05})
					if err != nil {
						fmt.Println("gavel", p.Name(), err)
						continue
					}
					if seed == 0 {
						order = append(order, r.Policy)
					}
					jct[r.Policy] += r.MeanJCT.Hours() / 2
					el[r.Policy] += time.Since(start)
				}
			}
			line := ""
			for _, n := range order {
				line += fmt.Sprintf("%s %.3f (%v) ", n, jct[n], el[n].Round(time.Millisecond))
			}
			fmt.Println("gavel", load, sd, line)
		}
	}
}
