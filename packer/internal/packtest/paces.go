package packtest

import (
	"math"
	rand "math/rand/v2"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// HashPaces are made-up paces from 1 to 1/100 by task and kind of GPU; with few
// Steps many are equal. It is embedded beside a model.
type HashPaces struct {
	Seed  uint64
	Steps float64
}

// Pace makes what embeds p a packer.PaceModel.
func (p HashPaces) Pace(t *packer.Task, gpu *packer.GPU) float64 {
	name := t.Kind
	if name == "" {
		name = t.ID
	}
	words := append([]string{name, "pace", gpu.Total().String()}, gpu.Labels...)
	return math.Pow(100, -math.Round(HashModel{Seed: p.Seed}.Hash(words...)*p.Steps)/p.Steps)
}

// Paced gives the model of p paces.
func Paced(rng *rand.Rand, p *packer.Problem) *packer.Problem {
	paces := HashPaces{Seed: rng.Uint64(), Steps: []float64{2, 8, 1e9}[rng.IntN(3)]}
	switch m := p.Model.(type) {
	case batchHash:
		p.Model = struct {
			batchHash
			HashPaces
		}{m, paces}
	default:
		p.Model = struct {
			packer.Model
			HashPaces
		}{m, paces}
	}
	return p
}

// PaceTable is a model of paces by the label of the GPU, 1 for others, and of the
// speed "pair" of any two tasks.
type PaceTable map[string]float64

// Speeds implements packer.Model.
func (m PaceTable) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = 1
		if len(set) > 1 {
			dst[i] = m["pair"]
		}
	}
	return nil
}

// Pace makes m a packer.PaceModel.
func (m PaceTable) Pace(_ *packer.Task, gpu *packer.GPU) float64 {
	for _, label := range gpu.Labels {
		if pace, ok := m[label]; ok {
			return pace
		}
	}
	return 1
}
