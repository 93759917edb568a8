package packer

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// Unit returns the resolution of values, see the package comment: 2^-20 of the largest weight rounded
// up to a power of two, of the residents and the tasks that some GPU can take.
func (p *Problem) Unit() float64 {
	largest := 0.0
	for g := range p.GPUs {
		for i := range p.GPUs[g].Residents {
			largest = max(largest, p.GPUs[g].Residents[i].EffectiveWeight())
		}
	}
	for i := range p.Tasks {
		if w := p.Tasks[i].EffectiveWeight(); w > largest && p.takes(&p.Tasks[i]) {
			largest = w
		}
	}
	if largest == 0 {
		largest = 1
	}
	frac, exp := math.Frexp(largest)
	if frac == 0.5 {
		exp--
	}
	return math.Ldexp(1.0/instance.Resolution, exp)
}

// takes reports whether some GPU has the labels, the memory and the seat that t
// needs, and enough others like it. It asks no model: t may still be too slow.
func (p *Problem) takes(t *Task) bool {
	var tried []*GPU // empty, with too few of the kind
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		if !p.seats(gpu, t) {
			continue
		}
		if len(gpu.Residents) > 0 || t.GPUs <= 1 {
			return true
		}
		alike := func(o *GPU) bool { return o.Alike(gpu) }
		if slices.ContainsFunc(tried, alike) {
			continue
		}
		count := 0
		for o := range p.GPUs {
			if len(p.GPUs[o].Residents) == 0 && alike(&p.GPUs[o]) {
				count++
			}
		}
		if count >= t.GPUs {
			return true
		}
		tried = append(tried, gpu)
	}
	return false
}

// seats reports whether gpu alone could take t, beside its residents if it has
// some.
func (p *Problem) seats(gpu *GPU, t *Task) bool {
	room := p.Limits.Usable(gpu.Total())
	for i := range gpu.Residents {
		r := &gpu.Residents[i]
		if room -= r.Memory; r.Alone || t.Alone || max(1, r.GPUs) != max(1, t.GPUs) || len(gpu.Residents) >= p.Limits.LargestSet() {
			return false
		}
	}
	return t.Memory <= room && gpu.Hosts(t)
}

// Usable returns what headroom leaves of memory.
func (l *Limits) Usable(total profile.Bytes) profile.Bytes {
	return total - profile.Bytes(math.Ceil(float64(total)*l.headroom()))
}

// Sharing returns the mechanisms under which g may be shared, without
// repeats, in a fixed order.
func (g *GPU) Sharing() []profile.Mechanism {
	if len(g.Mechanisms) == 0 {
		return []profile.Mechanism{profile.TimeSlice}
	}
	mechs := slices.Clone(g.Mechanisms)
	slices.Sort(mechs)
	mechs = slices.Compact(mechs)
	if mechs[0] == profile.Exclusive {
		mechs = mechs[1:]
	}
	return mechs
}

// Alike reports whether no plan can tell g and o apart while both are empty.
func (g *GPU) Alike(o *GPU) bool {
	return slices.Equal(g.Sharing(), o.Sharing()) && sameModel(g, o)
}

// sameModel reports whether two GPUs differ in nothing but residents and mechanisms.
func sameModel(a, b *GPU) bool {
	return a.Total() == b.Total() && slices.Equal(a.Labels, b.Labels) &&
		(a.Type == b.Type || a.Type != nil && b.Type != nil && reflect.DeepEqual(a.Type, b.Type))
}

// sliced returns the model that knows about instances of gpu, nil if gpu cannot
// be cut up, or is in ways that nobody told.
func sliced(p *Problem, gpu *GPU) SliceModel {
	m, ok := p.Model.(SliceModel)
	if !ok || gpu.Type == nil || len(gpu.Type.MIG) == 0 || len(gpu.Instances) != len(gpu.Residents) ||
		!slices.Contains(gpu.Mechanisms, profile.MIG) {
		return nil
	}
	return m
}

// running returns the instances of the residents in the order that package mig
// wants.
func (g *GPU) running() mig.Layout {
	l := mig.Layout(slices.Clone(g.Instances))
	slices.SortFunc(l, func(a, b mig.Placement) int { return a.Start - b.Start })
	return l
}

// checkInstances reports what is wrong with the instances of g.
func (g *GPU) checkInstances() error {
	if len(g.Instances) == 0 && (g.Type == nil || len(g.Type.MIG) == 0 || !slices.Contains(g.Mechanisms, profile.MIG)) {
		return nil
	}
	table, err := mig.New(g.Type)
	if err != nil {
		return err
	}
	switch {
	case len(g.Instances) == 0:
		return nil
	case len(g.Instances) != len(g.Residents):
		return fmt.Errorf("%d Instances for %d Residents; want one each", len(g.Instances), len(g.Residents))
	case len(g.Mechanisms) != 1 || g.Mechanisms[0] != profile.MIG:
		return errors.New("there are Instances, and Mechanisms is not MIG alone")
	}
	return table.Check(g.running())
}
