package sim_test

import (
	"context"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// script is a policy made of a function.
type script func(s *sim.State) error

func (script) Name() string { return "script" }

func (f script) Begin(*sim.State) (sim.Scheduler, error) { return f, nil }

func (f script) Decide(s *sim.State) error { return f(s) }

// pile puts every task on the first GPUs that have room, sharing at will.
func pile(s *sim.State) error {
	for t := range s.Waiting() {
		var gpus []int
		for _, g := range s.GPUs() {
			if len(gpus) < t.GPUs && s.Fits(t, g) {
				gpus = append(gpus, g.Index)
			}
		}
		if len(gpus) == t.GPUs {
			s.Start(t, gpus...)
		}
	}
	return nil
}

// cards is one machine with cards of 10 GiB that draw 100 W idle and 300 W busy.
func cards(n int) *sim.Cluster {
	node := sim.Node{GPUs: make([]sim.GPU, n)}
	for i := range node.GPUs {
		node.GPUs[i] = sim.GPU{Model: profile.GPUModel{Name: "card"}, Memory: 10 * profile.GiB, IdleWatts: 100, BusyWatts: 300}
	}
	return &sim.Cluster{Nodes: []sim.Node{node}}
}

// task makes a task of one GPU; times are in seconds, memory in GiB.
func task(id string, arrival, work, memory int) sim.Task {
	return sim.Task{
		ID: id, Arrival: seconds(arrival), Work: seconds(work), Memory: profile.Bytes(memory) * profile.GiB, GPUs: 1,
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func run(t *testing.T, c *sim.Cluster, tasks []sim.Task, p sim.Policy, o sim.Options) *sim.Result {
	t.Helper()
	r, err := sim.Run(context.Background(), c, tasks, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
