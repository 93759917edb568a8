package harness

import (
	"fmt"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Cards returns the GPUs of a cluster in words, see [sim.ParseCluster]: "2x4xA100-40GB"
// is two nodes of four. The second of the first node is "node0/gpu1"; each carries the
// name of its node as a label.
func Cards(cluster string) ([]colloc.GPU, error) {
	c, err := sim.ParseCluster(cluster)
	if err != nil {
		return nil, err
	}
	var cards []colloc.GPU
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for j := range n.GPUs {
			cards = append(cards, colloc.GPU{ID: fmt.Sprintf("%s/gpu%d", n.Name, j), Model: n.GPUs[j].Model, Labels: []string{n.Name}})
		}
	}
	return cards, nil
}

// Overlap is a truth of two lines, for tests that need no better one:
//
//	speed(i) = 1 / (1 + Σ_j (0.05 + 0.5 · busy(i) · busy(j))),  j ≠ i
//
// with the share of the SMs, or else of the time, for which a task alone keeps the GPU
// busy, as its profile tells; 1 where it does not. It is an assumption, and none of
// colloc's predictors knows it.
type Overlap struct{}

var _ sim.Model = Overlap{}

// Speeds implements [sim.Model].
func (Overlap) Speeds(gpu *sim.GPU, _ profile.Mechanism, set []*sim.Task, dst []float64) error {
	for i, t := range set {
		slow := 1.0
		for j, other := range set {
			if j != i {
				slow += 0.05 + float64(0.5*busy(t)*busy(other))
			}
		}
		dst[i] = gpu.Compute() / slow
	}
	return nil
}

func busy(t *sim.Task) float64 {
	if t.Profile == nil {
		return 1
	}
	share, ok := t.Profile.Vector.Either(profile.MeanSMActive, profile.MeanGPUBusy)
	if !ok {
		return 1
	}
	return share
}
