package catalogue

import (
	"math"

	"example.com/colloc/packer/internal/instance"
)

// costs holds what types cost each other at least, as parts of a step alone.
type costs struct {
	of     []float32 // of[i*n+j]: what j costs i
	beside []float32 // beside[i*n+j]: what i costs j
	once   []float32 // by type
	least  []float64
	weight []float64 // units at the speed alone
}

// newCosts derives the costs from caps; nil if they do not add up on their kind of
// GPU, or not in numbers that make sense.
func (cat *Catalogue) newCosts(p *caps) *costs {
	in, n := cat.in, len(cat.Members)
	k := &costs{of: make([]float32, n*n), beside: make([]float32, n*n), once: make([]float32, n), least: make([]float64, n), weight: make([]float64, n)}
	for i, m := range cat.Members {
		k.weight[i] = in.Scaled(in.Tasks[m[0]].Weight)
		for _, mech := range p.mechs {
			once, least, ok := in.Oracle.Additive(p.class, m[0], mech)
			if !ok || !(once >= 0 && once < math.MaxFloat32) || !(least >= 0 && least <= instance.MaxSpeed) {
				return nil
			}
			k.once[i] = max(k.once[i], math.Nextafter32(float32(once), math.MaxFloat32))
			k.least[i] = max(k.least[i], least)
		}
		for j, c := range p.of[i*n : (i+1)*n] {
			// The cap is rounded to a unit: it may be half of one higher.
			cost := max(0, k.weight[i]/float64(c+1)-1)
			k.of[i*n+j] = math.Nextafter32(float32(cost), 0)
			k.beside[j*n+i] = k.of[i*n+j]
		}
	}
	return k
}

// cap returns what type i is worth at most, in units, if a step takes load times
// as long as alone.
func (k *costs) cap(i int32, load float32) int32 {
	speed := k.least[i]
	if load <= 1.0/instance.MaxSpeed {
		speed = instance.MaxSpeed
	} else {
		speed = max(speed, 1/float64(load))
	}
	return int32(k.weight[i]*speed) + 2 // sums of a few float32 and two roundings
}
