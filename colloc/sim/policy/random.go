package policy

import (
	"math/rand/v2"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/share"
)

// Random gives each task in the order of arrival an idle GPU, or if there is
// none a random one that has the memory: sharing without any judgement.
type Random struct{}

var _ sim.Policy = Random{}

// Name implements [sim.Policy].
func (Random) Name() string { return "random" }

// Begin implements [sim.Policy].
func (Random) Begin(s *sim.State) (sim.Scheduler, error) {
	draw := rand.New(rand.NewPCG(s.Seed(), 0x72616e646f6d))
	return &share.Frame{
		Score: func(*sim.State, *sim.TaskView, *sim.GPUView) float64 { return draw.Float64() },
		Most:  2,
	}, nil
}
