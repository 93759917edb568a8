package simtest_test

import (
	"fmt"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/simtest"
)

// greedy forgets that memory ends.
type greedy struct{}

func (greedy) Name() string { return "greedy" }

func (g greedy) Begin(*sim.State) (sim.Scheduler, error) { return g, nil }

func (greedy) Decide(s *sim.State) error {
	for t := range s.Waiting() {
		s.Start(t, 0)
	}
	return nil
}

// In a test of one's own policy, Conformance(t, policy) runs all scenarios; Faults
// runs one.
func ExampleFaults() {
	for _, s := range simtest.Scenarios()[:3] {
		fmt.Println(s.Name)
		for _, fault := range simtest.Faults(greedy{}, s) {
			fmt.Println("  ", fault[:81])
		}
	}
	// Output:
	// no tasks
	// one task
	// burst
	//    sim: policy greedy at 0s: GPU 0 would be over its memory: 13 GiB of 16 GiB reserv
}
