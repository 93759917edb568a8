package sim

import (
	"errors"
	"fmt"
	"math"

	"example.com/colloc/profile"
)

// Model says how fast tasks run. What the simulation obeys is the truth, what a
// policy asks is a prediction; both are Models.
type Model interface {
	// Speeds fills dst[i] with the work that set[i] does per unit of time when
	// exactly the tasks of set share gpu by mech: 1 alone on the reference GPU,
	// at least 0 and at most 1e6. A set of one is asked with Exclusive. It must
	// give the same answer to the same question. The slices belong to the
	// caller and are used again. On a MIG instance (GPU.Slice) the models of this
	// package that know nothing of instances multiply by its [GPU.Compute].
	Speeds(gpu *GPU, mech profile.Mechanism, set []*Task, dst []float64) error
}

// Constant is the simplest truth: speeds depend on the number of tasks only.
// Constant[k-1] is the speed of each of k tasks; beyond the end the GPU is
// divided: the last value's sum is shared. The zero value is exact time-slicing,
// 1/k each.
type Constant []float64

var _ Model = Constant(nil)

// Speeds implements [Model].
func (c Constant) Speeds(gpu *GPU, _ profile.Mechanism, set []*Task, dst []float64) error {
	k := len(set)
	speed := 1 / float64(k)
	if n := len(c); n >= k {
		speed = c[k-1]
	} else if n > 0 {
		speed = c[n-1] * float64(n) / float64(k)
	}
	for i := range dst {
		dst[i] = speed * gpu.Compute()
	}
	return nil
}

const maxSpeed = 1e6

var errSpeed = errors.New("speed is no finite number from 0 to 1e6")

// speeds asks a model and checks its answer.
func speeds(m Model, gpu *GPU, mech profile.Mechanism, set []*Task, dst []float64) error {
	if len(set) == 1 {
		mech = profile.Exclusive
	}
	if err := m.Speeds(gpu, mech, set, dst); err != nil {
		return fmt.Errorf("sim: model: %w", err)
	}
	for i, s := range dst {
		if !(s >= 0 && s <= maxSpeed) {
			return fmt.Errorf("sim: model: task %q: %v: %w", set[i].ID, s, errSpeed)
		}
	}
	return nil
}

// Noisy is a prediction: another model's speeds, each multiplied by
//
//	exp(SD · z),  z standard normal, |z| <= 4
//
// with one z for each question about tasks of these types in these roles: asking
// twice gives the same answer. A task alone is predicted exactly.
type Noisy struct {
	Model Model
	// SD is the standard deviation of the logarithm; 0 is no error.
	SD float64
	// Seed chooses the errors.
	Seed uint64
}

var _ Model = Noisy{}

// Speeds implements [Model].
func (n Noisy) Speeds(gpu *GPU, mech profile.Mechanism, set []*Task, dst []float64) error {
	if n.Model == nil {
		return errors.New("Noisy has no Model")
	}
	if err := n.Model.Speeds(gpu, mech, set, dst); err != nil || len(set) == 1 {
		return err
	}
	for i := range dst {
		h := hash(n.Seed, gpu.Model.Name, set[i].Type)
		for j, t := range set { // in any order
			if j != i {
				h += hash(n.Seed+1, t.Type)
			}
		}
		dst[i] *= lognormal(h, n.SD)
	}
	return nil
}

// hash mixes a seed and strings (FNV-1a with a SplitMix64 finish).
func hash(seed uint64, parts ...string) uint64 {
	h := seed ^ 14695981039346656037
	for _, s := range parts {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	return mix(h)
}

// mix is the finish of SplitMix64 (Steele et al. 2014, doi:10.1145/2714064.2660195).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// lognormal returns exp(sd·z) for the z that belongs to h.
func lognormal(h uint64, sd float64) float64 {
	if sd == 0 {
		return 1
	}
	u := (float64(mix(h)>>11) + 0.5) / (1 << 53)
	v := float64(mix(h+1)>>11) / (1 << 53)
	z := math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
	return round9(math.Exp(sd * max(-4, min(4, z))))
}

// round9 rounds to nine decimals: the last bits of logarithms and exponentials
// differ between processors.
func round9(x float64) float64 {
	return math.Round(x*1e9) / 1e9
}
