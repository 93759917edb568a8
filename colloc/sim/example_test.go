package sim_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

// first is the GPU of the lowest index among some, or nil.
func first(gpus iter.Seq[*sim.GPUView]) *sim.GPUView {
	for g := range gpus {
		return g
	}
	return nil
}

// emptiest is a policy of one's own: every task goes to the GPU with the most
// free memory, if it fits there.
type emptiest struct{}

func (emptiest) Name() string { return "emptiest" }

func (e emptiest) Begin(*sim.State) (sim.Scheduler, error) { return e, nil }

func (emptiest) Decide(s *sim.State) error {
	for t := range s.Waiting() {
		var best *sim.GPUView
		for _, g := range s.GPUs() {
			if s.Fits(t, g) && (best == nil || g.Free() > best.Free()) {
				best = g
			}
		}
		if best != nil {
			s.Start(t, best.Index)
		}
	}
	return nil
}

// A policy is a type with three methods; it decides, the simulation says what
// comes of it.
func ExampleRun() {
	cluster, err := sim.ParseCluster("1xA100-40GB")
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks := []sim.Task{
		{ID: "train", Work: time.Hour, Memory: 12 * profile.GiB, Class: "medium"},
		{ID: "tune", Work: time.Hour, Memory: 12 * profile.GiB, Class: "medium"},
		{ID: "large", Arrival: 10 * time.Minute, Work: time.Hour, Memory: 30 * profile.GiB, Class: "heavy"},
	}
	r, err := sim.Run(context.Background(), cluster, tasks, emptiest{}, sim.Options{Truth: speed.Contention{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("makespan %v, mean completion %v, busy %.0f %%\n", r.Makespan, r.MeanJCT.Round(time.Second), 100*r.Busy)
	for _, e := range r.Ends {
		fmt.Printf("%-5s waited %v, took %v\n", e.ID, e.Wait, e.JCT())
	}
	// Output:
	// makespan 2h21m0s, mean completion 1h37m40s, busy 100 %
	// train waited 0s, took 1h21m0s
	// tune  waited 0s, took 1h21m0s
	// large waited 1h11m0s, took 2h11m0s
}

// Nonsense stops the run, with the decision.
func ExampleDecisionError() {
	cluster, _ := sim.ParseCluster("1xT4")
	tasks := []sim.Task{{ID: "a", Work: time.Hour}}
	twice := script(func(s *sim.State) error {
		s.Start(s.Next(), 0)
		s.Start(s.Task(0), 0)
		return nil
	})
	_, err := sim.Run(context.Background(), cluster, tasks, twice, sim.Options{})
	fmt.Println(err)
	// Output:
	// sim: policy script at 0s: task "a" does not wait, it is running; it decided: start task 0 (a) on GPUs [0]; start task 0 (a) on GPUs [0]
}

func ExampleParseCluster() {
	c, err := sim.ParseCluster("2x8xV100,1x4xT4")
	fmt.Println(len(c.Nodes), c.GPUs(), c.Nodes[2].GPUs[0].Model.Name, err)
	// Output: 3 20 T4 <nil>
}

// What happens can be followed event by event.
func ExampleOptions_onEvent() {
	cluster, _ := sim.ParseCluster("1xT4")
	tasks := []sim.Task{{ID: "a", Work: 10 * time.Second}, {ID: "b", Arrival: 4 * time.Second, Work: 10 * time.Second}}
	_, err := sim.Run(context.Background(), cluster, tasks, emptiest{}, sim.Options{OnEvent: func(e *sim.Event) {
		fmt.Println(e.At, e.Kind, e.Task, e.GPUs)
	}})
	fmt.Println(err)
	// Output:
	// 0s arrival a []
	// 0s start a [0]
	// 4s arrival b []
	// 4s start b [0]
	// 4s speed-change a [0]
	// 4s speed-change b [0]
	// 16s finish a [0]
	// 16s speed-change b [0]
	// 20s finish b [0]
	// <nil>
}
