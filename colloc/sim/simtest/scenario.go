package simtest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

// Scenario is a cluster with tasks that all fit it.
type Scenario struct {
	// Name says what it is about.
	Name string
	// Cluster, Tasks and Options are those of [sim.Run]. Its OnEvent is not
	// called, and its GPUs have the memory of their models.
	Cluster *sim.Cluster
	Tasks   []sim.Task
	Options sim.Options
}

// cardMemory is the memory of the cards of all scenarios.
const cardMemory = 16 * profile.GiB

// Scenarios are those of [Conformance].
func Scenarios() []Scenario {
	contention := speed.Contention{}
	wrong := speed.Noisy{Model: contention, SD: 0.3, Seed: 3}
	return []Scenario{
		{Name: "no tasks", Cluster: machines(1, 2)},
		{Name: "one task", Cluster: machines(1, 1), Tasks: tasks(1, 1, nil)},
		{Name: "burst", Cluster: machines(2, 4), Tasks: tasks(2, 40, func(t *sim.Task, _ *rand.Rand) { t.Arrival = 0 }), Options: sim.Options{Truth: contention}},
		{Name: "stream", Cluster: machines(2, 2), Tasks: tasks(3, 60, nil), Options: sim.Options{Truth: contention}},
		{Name: "gangs", Cluster: machines(2, 4), Tasks: tasks(4, 40, func(t *sim.Task, r *rand.Rand) {
			t.GPUs, t.OneNode = 1<<r.IntN(3), true
		}), Options: sim.Options{Truth: contention}},
		{Name: "start-up", Cluster: machines(1, 3), Tasks: tasks(5, 30, func(t *sim.Task, _ *rand.Rand) {
			t.Startup = 20 * time.Second
		}), Options: sim.Options{Truth: contention}},
		{Name: "wrong predictions", Cluster: machines(1, 4), Tasks: tasks(6, 50, nil), Options: sim.Options{
			Truth: contention, Predicted: wrong, LengthError: 0.5, ObserveError: 0.05, Seed: 7,
			Reserve: func(t *sim.Task) profile.Bytes { return t.Memory * 3 / 4 },
		}},
		{Name: "hosts", Cluster: hosts(), Tasks: tasks(9, 40, func(t *sim.Task, r *rand.Rand) {
			t.CPU, t.HostMemory = float64(1+r.IntN(12)), profile.Bytes(r.IntN(40))*profile.GiB
			t.GPUs, t.OneNode = r.IntN(3), true
			t.HostOnly = t.GPUs == 0
		}), Options: sim.Options{Truth: contention}},
		{Name: "losses", Cluster: lossy(), Tasks: tasks(8, 40, nil), Options: sim.Options{
			Truth: contention, Checkpoint: 5 * time.Minute, CheckpointCost: 10 * time.Second,
		}},
	}
}

func machines(nodes, gpus int) *sim.Cluster {
	c := &sim.Cluster{}
	for i := range nodes {
		n := sim.Node{Name: fmt.Sprint("n", i), GPUs: make([]sim.GPU, gpus)}
		for g := range n.GPUs {
			n.GPUs[g].Model = profile.GPUModel{Name: "card", Memory: cardMemory, PowerWatts: 300}
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// hosts are machines on which CPU and host memory are scarce.
func hosts() *sim.Cluster {
	c := machines(2, 4)
	for i := range c.Nodes {
		c.Nodes[i].CPU, c.Nodes[i].Memory = 16, 64*profile.GiB
	}
	return c
}

func lossy() *sim.Cluster {
	c := machines(2, 2)
	c.Losses = []sim.Loss{
		{GPU: 0, At: 10 * time.Minute, For: 5 * time.Minute},
		{GPU: 3, At: 30 * time.Minute, For: time.Hour},
		{GPU: 1, At: 40 * time.Minute, For: time.Minute},
	}
	return c
}

// tasks draws tasks of all classes; change may change each.
func tasks(seed uint64, n int, change func(*sim.Task, *rand.Rand)) []sim.Task {
	r := rand.New(rand.NewPCG(seed, 0x73696d74657374))
	classes := []string{"light", "medium", "heavy"}
	models := []sim.StageTimes{
		{Load: 400 * time.Millisecond, Compute: 100 * time.Millisecond, Iteration: 450 * time.Millisecond},
		{Load: time.Millisecond, Compute: 300 * time.Millisecond, Exchange: 20 * time.Millisecond, Iteration: 310 * time.Millisecond},
	}
	var out []sim.Task
	at := time.Duration(0)
	for i := range n {
		at += time.Duration(r.Int64N(int64(2 * time.Minute)))
		class := classes[r.IntN(3)]
		t := sim.Task{
			ID: fmt.Sprint("task", i), Arrival: at, Work: time.Duration(1 + r.Int64N(int64(20*time.Minute))), GPUs: 1,
			Memory: profile.Bytes(1+r.IntN(12)) * profile.GiB, Type: class + strconv.Itoa(r.IntN(3)), Class: class,
			Busy: 0.1 + float64(0.8*r.Float64()), Bandwidth: 0.5 * r.Float64(), Stages: models[r.IntN(2)],
		}
		if change != nil {
			change(&t, r)
		}
		out = append(out, t)
	}
	return out
}
