// Package pace predicts how fast a GPU is for a task that has it alone, compared
// with another GPU, and how fast a slice is compared with the whole.
//
//	m, err := pretrained.Pace() // or pace.Fit(observations, nil)
//	if err != nil {
//		return err
//	}
//	fast := m.Pace(&p, &gpu) // relative to m.Reference(), the fastest of the catalogue
//
// [Predictor.Observe] takes in what a task reached on a card, [Predictor.Ratio]
// compares two cards and [Predictor.Slice] a MIG slice with the reference, by the
// slice's speed:
//
//	m, err := pretrained.MIGSpeed() // or pace.FitMIGSpeed(observations, nil)
//	if err != nil {
//		return err
//	}
//	for _, slice := range gpu.MIG {
//		speed, err := m.Speed(&p, &gpu, slice)
//		if err != nil {
//			return err
//		}
//		fmt.Printf("%s: %.2f (%v)\n", slice.Name, speed.Value, speed.Source.Kind)
//	}
//
// One measured slice tells about all others: [MIGSpeed.SpeedFromProbe]. Where the
// tasks of a mix run under MPS already, short runs of the whole mix tell how fast
// each would be on slices, and none has to be stopped: [MPSProbe].
//
// # How it is computed
//
// The pace of a kind of GPU is a product of powers of its data-sheet rates; see
// [Predictor]. Time for a step grows with what a slice takes away,
//
//	1/speed = 1 + Σ_f x_f (a_f (1/c − 1) + b_f max(0, 1/c − 3) + d_f (1/m − 1))
//
// with c and m the slice's shares of compute and memory slices, x the task's solo
// features and coefficients of at least 0 that non-negative least squares finds; where
// the busy share alone is known, see [MIGSpeed].
// Intervals come from whole groups of tasks left out.
package pace
