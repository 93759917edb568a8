package policy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

// TestHardTasks runs every policy on what no cluster can serve well: a task
// larger than every card, tasks whose shares fit a card and whose memory does not,
// tasks that die for good, products that only a part of a machine has. Nobody may
// decide what is impossible; what can run does.
func TestHardTasks(t *testing.T) {
	const gib = profile.GiB
	node := sim.Node{CPU: 64, GPUs: make([]sim.GPU, 3)}
	for i, name := range []string{"A", "B", "A"} {
		node.GPUs[i] = sim.GPU{Model: profile.GPUModel{Name: name, Memory: 16 * gib}}
	}
	stages := sim.StageTimes{Load: time.Second, Compute: time.Second, Iteration: 2 * time.Second}
	var tasks []sim.Task
	add := func(id string, memory profile.Bytes, share float64, only ...string) {
		tasks = append(tasks, sim.Task{
			ID: id, Arrival: time.Duration(len(tasks)) * time.Minute, Work: time.Hour, Class: "light", Stages: stages,
			Memory: memory, Share: share, Only: only, Busy: 0.2,
		})
	}
	add("half 1", 12*gib, 0.5)
	add("half 2", 12*gib, 0.5)
	add("one product", 4*gib, 0, "B")
	add("the other", 4*gib, 0, "A")
	for i := range 6 {
		add("small "+string(rune('a'+i)), 3*gib, 0)
	}
	add("too large", 20*gib, 0)
	for _, p := range append(policy.All(), policy.FGD{Typical: tasks}) {
		for name, reserve := range map[string]func(*sim.Task) profile.Bytes{
			"known": nil, "unknown": func(*sim.Task) profile.Bytes { return 0 },
		} {
			o := sim.Options{Truth: speed.Contention{}, Reserve: reserve, MaxFailures: 2}
			r, err := sim.Run(t.Context(), &sim.Cluster{Nodes: []sim.Node{node}}, tasks, p, o)
			if err != nil {
				t.Errorf("%s, memory %s: %v", p.Name(), name, err)
			} else if r.Finished < len(tasks)-4 {
				t.Errorf("%s, memory %s: %d of %d finished", p.Name(), name, r.Finished, len(tasks))
			}
		}
	}
}

// TestRandomTasks does the same with random clusters and tasks that ask for
// anything: shares, products, gangs, CPU and host memory, more than there is.
func TestRandomTasks(t *testing.T) {
	for seed := range uint64(max(6, race.Fewer(20))) {
		r := rand.New(rand.NewPCG(seed, 9))
		c, tasks := anyCluster(r), anyTasks(r)
		o := sim.Options{Truth: speed.Contention{}, MaxFailures: 2, Until: time.Duration(race.Fewer(100)) * time.Hour, Seed: seed, RestartAll: seed%5 == 0}
		if seed%2 == 0 {
			o.Reserve = func(t *sim.Task) profile.Bytes { return t.Memory * 3 / 4 }
		}
		for _, p := range append(policy.All(), policy.FGD{Typical: tasks}) {
			if _, err := sim.Run(t.Context(), c, tasks, p, o); err != nil {
				t.Errorf("seed %d, %s: %v", seed, p.Name(), err)
			}
		}
	}
}

// anyCluster draws machines with up to four cards of two products, of which some
// fail.
func anyCluster(r *rand.Rand) *sim.Cluster {
	c := &sim.Cluster{}
	for range 1 + r.IntN(3) {
		node := sim.Node{CPU: float64(r.IntN(3) * 16), Memory: profile.Bytes(r.IntN(3)*64) * profile.GiB}
		for range 1 + r.IntN(4) {
			model := profile.GPUModel{Name: string(rune('A' + r.IntN(2))), Memory: profile.Bytes(8+8*r.IntN(2)) * profile.GiB}
			node.GPUs = append(node.GPUs, sim.GPU{Model: model})
		}
		c.Nodes = append(c.Nodes, node)
	}
	for range r.IntN(4) {
		c.Losses = append(c.Losses, sim.Loss{
			GPU: r.IntN(c.GPUs()), At: time.Duration(r.IntN(7200)) * time.Second, For: time.Duration(r.IntN(3000)) * time.Second,
		})
	}
	return c
}

func anyTasks(r *rand.Rand) []sim.Task {
	sometimes := func(of int, do func()) {
		if r.IntN(of) == 0 {
			do()
		}
	}
	var tasks []sim.Task
	for i := range 5 + r.IntN(25) {
		x := sim.Task{
			ID: fmt.Sprint("t", i), Arrival: time.Duration(r.IntN(3600)) * time.Second, Work: time.Duration(1+r.IntN(1800)) * time.Second,
			GPUs: r.IntN(5), OneNode: r.IntN(2) == 0, Memory: profile.Bytes(r.IntN(20)) * profile.GiB, Busy: r.Float64(),
			Class: []string{"light", "medium", "heavy"}[r.IntN(3)], Startup: time.Duration(r.IntN(2)) * 10 * time.Second,
			Stages: sim.StageTimes{Load: time.Second, Compute: time.Second, Iteration: 2 * time.Second},
		}
		sometimes(4, func() { x.Share = float64(1+r.IntN(4)) / 4 })
		sometimes(4, func() { x.Only = []string{string(rune('A' + r.IntN(2)))} })
		sometimes(8, func() { x.HostOnly = true })
		sometimes(2, func() { x.CPU, x.HostMemory = float64(r.IntN(40)), profile.Bytes(r.IntN(100))*profile.GiB })
		sometimes(3, func() { x.Type = fmt.Sprint("type", r.IntN(3)) })
		tasks = append(tasks, x)
	}
	return tasks
}
