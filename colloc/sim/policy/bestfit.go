package policy

import (
	"math/rand/v2"

	"example.com/colloc/colloc/sim"
)

// BestFit puts each task on the machine where least is left over,
//
//	(CPU left / most CPU + GPUs left / most GPUs) / 2,
//
// compared in steps of a hundredth, and on the GPUs of it that have least left:
// the baseline of FGD's evaluation (Weng et al., ATC 2023), by requests of CPU
// and shares of GPUs. As there, a task runs in one machine: larger ones wait for
// ever.
type BestFit struct{}

var _ sim.Policy = BestFit{}

// Name implements [sim.Policy].
func (BestFit) Name() string { return "best-fit" }

// Begin implements [sim.Policy].
func (BestFit) Begin(s *sim.State) (sim.Scheduler, error) {
	mostCPU, mostGPU := 1.0, 1.0
	for i := range s.Nodes() {
		n := s.Nodes()[i]
		mostGPU = max(mostGPU, float64(n.Count))
		if n.CPU < 1e9 {
			mostCPU = max(mostCPU, n.CPU)
		}
	}
	f := &nodes{memory: true, score: func(n *requests, t *sim.TaskView) (float64, []int) {
		cpu := min(n.cpu, mostCPU) - t.CPU
		gpu := n.sum - float64(share(t)*float64(t.GPUs))
		over := float64(0.5*cpu)/mostCPU + float64(0.5*gpu)/mostGPU
		score := float64(int(float64(100 * (1 - over))))
		if t.HostOnly {
			return score, nil
		}
		return score, n.tightest(t)
	}}
	f.begin(s)
	return f, nil
}

// RandomNode puts each task on a random machine where its requests fit: the
// other baseline of FGD's evaluation.
type RandomNode struct{}

var _ sim.Policy = RandomNode{}

// Name implements [sim.Policy].
func (RandomNode) Name() string { return "random-node" }

// Begin implements [sim.Policy].
func (RandomNode) Begin(s *sim.State) (sim.Scheduler, error) {
	draw := rand.New(rand.NewPCG(s.Seed(), 0x6e6f6465))
	f := &nodes{score: func(n *requests, t *sim.TaskView) (float64, []int) {
		if t.HostOnly {
			return draw.Float64(), nil
		}
		return draw.Float64(), n.tightest(t)
	}}
	f.begin(s)
	return f, nil
}
