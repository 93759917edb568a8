package packer

import (
	"errors"
	"fmt"
	"math"

	"example.com/colloc/profile"
)

// IntervalModel is a Model that knows how uncertain its speeds are.
type IntervalModel interface {
	Model
	// HalfWidths fills dst[i] with the half-width of the prediction interval of
	// the speed that Speeds gives for set[i], finite and at least 0: one standard
	// deviation if Caution is to mean what [Robust] says. len(dst) == len(set).
	HalfWidths(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error
}

// Robust is a Model that gives the lower estimates of another:
//
//	speed - Caution·half-width, 0 at least, for every member of a shared set
//
// Whoever maximises predicted speeds picks those pairs above all whose speeds
// are over-estimated. Where some predictions are surer than others, lower
// estimates make a plan prefer the sure ones; where all are equally uncertain
// they change little but what is shared at all.
//
// Use Caution 1, from 0.5 to 1.5, if the half-widths are standard deviations that
// differ: with errors between 0 and 20 % (0 and 40 %) on the speeds of 100 tasks,
// it lowers the loss against the best plan from 1.8 to 1.3 % (4.8 to 2.3 %) on
// pairs measured for Gavel and from 2.8 to 1.6 % (3.8 to 2.8 %) on those for
// Lucid. With 3 the loss is as high as without, or higher. With errors of one
// size there is nothing to gain. Printed by
//
//	COLLOC_DATA=dir go test -run xxx -bench Caution -benchtime 1x ./packer
//
// Speeds and values of a Solution, the limits MinSpeed and MinGain, and the
// certificate are then about the lower estimates. A task alone keeps its speed.
type Robust struct {
	// Model predicts.
	Model IntervalModel
	// Caution is the number of half-widths to subtract, from 0 to 10. 0, the
	// default, trusts the predictions.
	Caution float64
}

var _ BatchModel = Robust{}

// Speeds implements [Model].
func (r Robust) Speeds(set []*Task, gpu *GPU, mech profile.Mechanism, dst []float64) error {
	switch {
	case r.Model == nil:
		return errors.New("packer: robust: Model is nil; it predicts the speeds that are lowered")
	case !(r.Caution >= 0 && r.Caution <= maxCaution):
		return fmt.Errorf("packer: robust: Caution is %v; want 0 to %d half-widths", r.Caution, maxCaution)
	}
	if err := r.Model.Speeds(set, gpu, mech, dst); err != nil || r.Caution == 0 || len(set) < 2 {
		return err
	}
	half := make([]float64, len(set))
	if err := r.Model.HalfWidths(set, gpu, mech, half); err != nil {
		return err
	}
	for i := range dst {
		low, err := r.lower(dst[i], half[i])
		if err != nil {
			return fmt.Errorf("%q: %w", set[i].ID, err)
		}
		dst[i] = low
	}
	return nil
}

const maxCaution = 10

// lower returns the lower estimate.
func (r Robust) lower(speed, half float64) (float64, error) {
	if !(half >= 0) || math.IsInf(half, 0) {
		return 0, fmt.Errorf("the half-width of the speed is %v; want a finite number from 0", half)
	}
	return max(0, speed-float64(r.Caution*half)), nil
}

// PairSpeeds implements [BatchModel]. It is quick where the model is a BatchModel
// and Caution is 0.
func (r Robust) PairSpeeds(task *Task, partners []*Task, gpu *GPU, mech profile.Mechanism, own, other []float64) error {
	if batch, ok := r.Model.(BatchModel); ok && r.Caution == 0 {
		return batch.PairSpeeds(task, partners, gpu, mech, own, other)
	}
	pair, dst := []*Task{task, nil}, make([]float64, 2)
	for i, o := range partners {
		pair[1] = o
		if err := r.Speeds(pair, gpu, mech, dst); err != nil {
			return err
		}
		own[i], other[i] = dst[0], dst[1]
	}
	return nil
}
