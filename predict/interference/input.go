package interference

import (
	"errors"
	"fmt"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/profile"
)

// An Observation is one measured co-run of a set of tasks.
type Observation struct {
	// GPU is the product's name in the catalogue, for example "RTX3090"; any
	// other name stands for itself.
	GPU string
	// Mechanism is how the tasks shared it: TimeSlice or MPS.
	Mechanism profile.Mechanism
	// Set holds the solo profiles of the tasks.
	Set []*profile.Profile
	// Speeds holds, per task, throughput beside the others over throughput
	// alone; missing where it was not measured.
	Speeds []profile.Opt[float64]
	// Groups holds, per task, the family that validation leaves out at once; nil
	// means the model's name.
	Groups []string
}

// Options configure [Fit]; nil and the zero value are the documented defaults.
type Options struct {
	// Confidence is the probability that an interval covers; 0 means 0.9.
	Confidence float64
	// NoTrees leaves out the boosted trees, so that the model is linear in its
	// terms and effects.
	NoTrees bool
	// Seed chooses the folds of the calibration and the rows of the trees.
	Seed uint64
	// Provenance says where the observations come from; it is saved.
	Provenance string
}

func (o *Options) withDefaults() (Options, error) {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Confidence == 0 {
		d.Confidence = 0.9
	}
	if err := conformal.CheckConfidence(d.Confidence); err != nil {
		return d, fmt.Errorf("predict: interference: %w", err)
	}
	return d, nil
}

// ErrMechanism says that a mechanism has no interference to predict: tasks that
// share nothing.
var ErrMechanism = errors.New("mechanism does not share one GPU among running tasks")

var errIndex = errors.New("no such task in the set")

func checkSharing(mech profile.Mechanism) error {
	if mech != profile.TimeSlice && mech != profile.MPS {
		return fmt.Errorf("predict: interference: %v: %w; want time-slicing or mps", mech, ErrMechanism)
	}
	return nil
}

func checkObservation(o *Observation) error {
	if len(o.Speeds) != len(o.Set) || (o.Groups != nil && len(o.Groups) != len(o.Set)) {
		return fmt.Errorf("%d tasks, %d speeds, %d groups: want as many of each", len(o.Set), len(o.Speeds), len(o.Groups))
	}
	if o.Mechanism != profile.TimeSlice && o.Mechanism != profile.MPS {
		return fmt.Errorf("%v: %w", o.Mechanism, ErrMechanism)
	}
	if o.GPU == "" {
		return errors.New("the GPU has no name; set it to the product as NVML prints it")
	}
	if len(o.Set) > 1<<10 {
		return fmt.Errorf("%d tasks on one GPU, want at most 1024", len(o.Set))
	}
	for i, s := range o.Speeds {
		if v, ok := s.Get(); ok {
			if err := predict.CheckSpeed(v); err != nil {
				return fmt.Errorf("task %d: %w", i, err)
			}
		}
	}
	return nil
}

// regimeKey names a set of parameters.
type regimeKey struct {
	gpu       string
	mechanism profile.Mechanism
}

type regimeObservations struct {
	regimeKey
	obs []*Observation
}

// groupByRegime keeps the order of first appearance.
func groupByRegime(obs []Observation) []regimeObservations {
	var out []regimeObservations
	at := make(map[regimeKey]int)
	for i := range obs {
		k := regimeKey{catalogueName(obs[i].GPU), obs[i].Mechanism}
		j, ok := at[k]
		if !ok {
			j = len(out)
			at[k] = j
			out = append(out, regimeObservations{regimeKey: k})
		}
		out[j].obs = append(out[j].obs, &obs[i])
	}
	return out
}

// catalogueName is the canonical name of a product of which no more is known.
func catalogueName(name string) string { return (&profile.GPUModel{Name: name}).Canonical() }

// gpuName is the name under which a product is kept, here and in [Completion].
func gpuName(gpu *profile.GPUModel) string { return gpu.Canonical() }
