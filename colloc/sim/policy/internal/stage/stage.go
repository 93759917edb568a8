package stage

import (
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Play calls a function once, when all tasks have come. Tasks without a name are called by
// their places; those without work have an hour.
func Play(tb testing.TB, c *sim.Cluster, tasks []sim.Task, o sim.Options, act func(s *sim.State)) {
	tb.Helper()
	for i := range tasks {
		if tasks[i].ID == "" {
			tasks[i].ID = strconv.Itoa(i)
		}
		if tasks[i].Work == 0 {
			tasks[i].Work = time.Hour
		}
	}
	if _, err := sim.Run(tb.Context(), c, tasks, once(act), o); err != nil {
		tb.Fatal(err)
	}
}

// once is a policy that acts at the beginning alone.
type once func(s *sim.State)

// Name implements [sim.Policy].
func (once) Name() string { return "stage" }

// Begin implements [sim.Policy].
func (f once) Begin(*sim.State) (sim.Scheduler, error) { return f, nil }

// Decide implements [sim.Scheduler].
func (f once) Decide(s *sim.State) error {
	if s.Now() == 0 {
		f(s)
	}
	return nil
}

// Machines have so many cards each, of 16 GiB.
func Machines(counts ...int) *sim.Cluster {
	c := &sim.Cluster{}
	for _, n := range counts {
		node := sim.Node{GPUs: make([]sim.GPU, n)}
		for i := range node.GPUs {
			node.GPUs[i].Model = profile.GPUModel{Name: "card", Memory: 16 * profile.GiB}
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c
}
