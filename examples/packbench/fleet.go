package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/packer/fleet"
	"example.com/colloc/profile"
)

// cluster is a cluster and what is asked of it, in parts of GPUs.
type cluster struct {
	nodes []fleet.Node
	pods  []fleet.Demand // to place, in order
	mix   []fleet.MixPart
	// published is what FGD allocates of the GPUs, in per cent; 0: not known.
	published float64
}

// fragmentation prints how much of a cluster each rule allocates until 1.3 times
// its GPUs were asked for: the experiment of Weng et al., ATC 2023.
func fragmentation(ctx context.Context, o options, r *report) error {
	var f *cluster
	for _, rule := range []fleet.Rule{fleet.RandomFit, fleet.BestFit, fleet.LeastFragmentation} {
		name := fmt.Sprintf("fleet, 6212 GPUs/%s/%v", fleetSource(o.data), rule)
		if !strings.Contains(name, o.pattern) {
			continue
		}
		if f == nil {
			var err error
			f, err = newFleet(o.data)
			if errors.Is(err, fs.ErrNotExist) {
				r.printf("without openb: %v\n", err)
				return nil
			}
			if err != nil {
				return err
			}
		}
		if err := f.measure(ctx, name, rule, o.repeats, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// measure prints the row of a rule.
func (f *cluster) measure(ctx context.Context, name string, rule fleet.Rule, repeats int, r *report) error {
	used, total := 0.0, 0.0
	took, err := repeated(repeats, func() error {
		fleet, err := fleet.New(f.nodes, f.mix, &fleet.Options{Rule: rule, Seed: 1})
		if err != nil {
			return err
		}
		for _, d := range f.pods {
			if _, _, err := fleet.Place(d); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		used, total = fleet.Allocated()
		return nil
	})
	if err != nil {
		return err
	}
	percent := 100 * used / total
	allocated := figure{text: fmt.Sprintf("allocated %.2f %%", percent)}
	if f.published > 0 && rule == fleet.LeastFragmentation {
		allocated.must = fmt.Sprintf("%.1f +-0.5 %%", f.published)
		allocated.missed = math.Abs(percent-f.published) > 0.5
	}
	r.row(name, took, 5*time.Second, []figure{allocated}, "", "")
	return nil
}

func fleetSource(data string) string {
	if data == "" {
		return "made up"
	}
	return "openb"
}

// newFleet reads Alibaba's openb trace, or makes one up.
func newFleet(data string) (*cluster, error) {
	nodes, tasks := madeUp(1213, 8152)
	f := &cluster{}
	if data != "" {
		f.published = 95.3
		machines, err := read(filepath.Join(data, "traces", "openb_node_list_gpu_node.csv"), trace.Read)
		if err != nil {
			return nil, err
		}
		pods, err := read(filepath.Join(data, "traces", "openb_pod_list_default.csv"), trace.Read)
		if err != nil {
			return nil, err
		}
		nodes, tasks = machines.Nodes, pods.Tasks
	}
	gpus := 0
	for i := range nodes {
		n := &nodes[i]
		node := fleet.Node{ID: n.Name, CPU: thousandths(n.CPU), Memory: n.Memory, GPUs: len(n.GPUs)}
		if node.GPUs > 0 {
			node.Type = n.GPUs[0].Model.Name
		}
		f.nodes = append(f.nodes, node)
		gpus += node.GPUs
	}
	asked := make([]fleet.Demand, len(tasks))
	for i := range tasks {
		asked[i] = demand(&tasks[i])
	}
	var err error
	if f.mix, err = fleet.Mix(asked, 0.95); err != nil {
		return nil, err
	}
	inflated := trace.Inflate(tasks, 1.3*float64(gpus), 42)
	for i := range inflated {
		f.pods = append(f.pods, demand(&inflated[i]))
	}
	return f, nil
}

func thousandths(x float64) int { return int(math.Round(1000 * x)) }

func demand(t *sim.Task) fleet.Demand {
	return fleet.Demand{CPU: thousandths(t.CPU), Memory: t.HostMemory, GPUs: t.GPUs, Share: thousandths(t.Share), Types: t.Only}
}

// madeUp returns machines of two types with 2 to 8 GPUs, 5.12 on average as in
// openb, and tasks of which half want a part of one GPU.
func madeUp(machines, pods int) ([]sim.Node, []sim.Task) {
	rng := rand.New(rand.NewPCG(1213, 8152))
	types := []string{"A", "B"}
	nodes := make([]sim.Node, machines)
	for i := range nodes {
		gpus := []int{2, 4, 8, 8}[rng.IntN(4)]
		nodes[i] = sim.Node{Name: fmt.Sprintf("n%04d", i), CPU: 12 * float64(gpus), Memory: profile.Bytes(gpus) * 64 * profile.GiB, GPUs: make([]sim.GPU, gpus)}
		for g := range nodes[i].GPUs {
			nodes[i].GPUs[g].Model.Name = types[i%2]
		}
	}
	tasks := make([]sim.Task, pods)
	for i := range tasks {
		t := &tasks[i]
		*t = sim.Task{
			ID: fmt.Sprintf("t%05d", i), GPUs: 1, Share: 1, CPU: float64(2 * (1 + rng.IntN(6))), HostMemory: profile.Bytes(4+rng.IntN(60)) * profile.GiB,
		}
		switch rng.IntN(20) {
		case 0:
			t.GPUs, t.Share, t.HostOnly = 0, 0, true
		case 1:
			t.GPUs = 2 << rng.IntN(3)
		case 2, 3:
			t.Only = types[:1]
		case 4, 5, 6, 7, 8, 9, 10, 11, 12:
			t.Share = float64(1+rng.IntN(19)) / 20
		}
	}
	return nodes, tasks
}
