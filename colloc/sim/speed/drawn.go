package speed

import (
	"errors"
	"fmt"
	"math"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/internal/draw"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// Drawn is one of the worlds that a prediction leaves open: each speed lies within, and as
// often as promised outside, the interval that Interference gives it,
//
//	value + z · (Hi − value) / q   or   value + z · (value − Lo) / q,
//
// with q the quantile of the interval's confidence. Half the variance of z, which is
// normal, is common to all sets on a product: a prediction that is wrong for one set is
// wrong for others, too. Types tell sets apart; a task alone runs at 1.
//
// What comes of a plan in many such worlds is how far the plan's gain is known.
type Drawn struct {
	// Interference is required.
	Interference *interference.Predictor
	// Seed chooses the world; 0 is the expected one, without errors.
	Seed uint64
}

var _ sim.Model = Drawn{}

// leastSpeed is what the slowest task runs at.
const leastSpeed = 0.02

// Speeds implements [sim.Model].
func (d Drawn) Speeds(gpu *sim.GPU, mech profile.Mechanism, set []*sim.Task, dst []float64) error {
	if len(set) == 1 {
		dst[0] = gpu.Compute()
		return nil
	}
	if d.Interference == nil {
		return errors.New("Drawn has no Interference")
	}
	profiles := make([]*profile.Profile, len(set))
	for i, t := range set {
		profiles[i] = t.Profile
	}
	estimates, err := d.Interference.Speeds(&gpu.Model, mech, profiles, nil)
	if err != nil {
		return fmt.Errorf("Drawn: %w", err)
	}
	for i := range estimates {
		dst[i] = gpu.Compute() * d.within(&estimates[i], gpu.Model.Name, i, set)
	}
	return nil
}

// within draws a speed for one task of a set.
func (d Drawn) within(e *predict.Estimate, product string, i int, set []*sim.Task) float64 {
	if d.Seed == 0 || !(e.Confidence > 0 && e.Confidence < 1) {
		return max(leastSpeed, e.Value)
	}
	h := draw.Hash(d.Seed, product, set[i].Type)
	for j, t := range set { // in any order
		if j != i {
			h += draw.Hash(d.Seed+1, t.Type)
		}
	}
	z := math.Sqrt(0.5) * (draw.Normal(draw.Hash(d.Seed+2, product)) + draw.Normal(h))
	q := math.Sqrt2 * math.Erfinv(e.Confidence)
	side := e.Hi - e.Value
	if z < 0 {
		side = e.Value - e.Lo
	}
	return draw.Round9(max(leastSpeed, min(1, e.Value+float64(z/q*side))))
}
