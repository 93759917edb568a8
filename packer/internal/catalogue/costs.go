package catalogue

import (
	"context"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/profile"
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
		k.weight[i] = in.Scaled(in.Worth(&in.Classes[p.class], m[0]))
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

// caps holds what each type is worth at most beside each other on empty GPUs of a
// kind, in units; 0 if they may not share.
type caps struct {
	class  int
	mechs  []profile.Mechanism
	beside []int32 // beside[i*n+j]: j beside i
	of     []int32 // of[i*n+j]: i beside j
}

// hold reports whether the caps bound what tasks are worth on class c too.
func (p *caps) hold(in *instance.Instance, c *instance.Class) bool {
	return in.Oracle.SameModel(p.class, c.Number) && !slices.ContainsFunc(c.Mechs, func(m profile.Mechanism) bool { return !slices.Contains(p.mechs, m) })
}

// newCaps asks for all pairs on free class k.
func (cat *Catalogue) newCaps(ctx context.Context, e *instance.Evaluator, k int) (*caps, error) {
	c, n := &cat.in.Classes[k], len(cat.Members)
	p := &caps{class: k, mechs: c.Mechs, beside: make([]int32, n*n), of: make([]int32, n*n)}
	r := instance.NewPairRow(e, c, make([]int64, len(cat.in.Tasks)))
	for i, m := range cat.Members {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cat.partners(r, i)
		own, other := r.Own[:len(r.IDs)], r.Other[:len(r.IDs)]
		t := &cat.in.Tasks[m[0]]
		for _, mech := range c.Mechs {
			if err := r.Speeds(m[0], mech, own, other); err != nil {
				return nil, err
			}
			for at, o := range r.IDs {
				u := &cat.in.Tasks[o]
				a, b := int32(cat.in.Units(cat.in.Worth(c, m[0]), own[at])), int32(cat.in.Units(cat.in.Worth(c, o), other[at]))
				if a > 0 && b > 0 && own[at] >= t.MinSpeed && other[at] >= u.MinSpeed {
					j := int(cat.Of[o])
					p.raise(i*n+j, j*n+i, a)
					p.raise(j*n+i, i*n+j, b)
				}
			}
		}
	}
	return p, nil
}

// raise notes that one type is worth v beside another: of[at] is the first's place.
func (p *caps) raise(at, mirror int, v int32) {
	p.of[at] = max(p.of[at], v)
	p.beside[mirror] = p.of[at]
}
