package policy

import (
	"context"
	"fmt"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

func TestScratchOurs(t *testing.T) {
	tr := read(t, "traces/carma_trace_t1.csv")
	c, _ := sim.ParseCluster("4xA100-40GB")
	for _, short := range []bool{false, true} {
		for _, k := range []int{2, 3, 4, 6} {
			for _, th := range []float64{0.05, 0.1, 0.2, 0.3, 0.5} {
				line := ""
				for _, scale := range []float64{0.5, 1, 2} {
					o := sim.Options{Truth: sim.Contention{Scale: scale}, Predicted: sim.Contention{}}
					p := Session{MaxSet: k, Threshold: profile.Some(th), ByLength: short}
					r, err := sim.Run(context.Background(), c, tr.Tasks, p, o)
					if err != nil {
						fmt.Println("carma", p.Name(), err)
						continue
					}
					line += fmt.Sprintf("| %6.1f %6.1f %6.2f %d ", r.Makespan.Minutes(), r.MeanJCT.Minutes(), r.Energy/1e6, r.OutOfMemory)
				}
				fmt.Println("ours", short, k, th, line)
			}
		}
	}
}
