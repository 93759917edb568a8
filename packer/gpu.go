package packer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/packer/internal/instance"
	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// Unit returns the resolution of values, see the package comment: 2^-20 of the
// largest weight rounded up to a power of two, of the residents and the tasks that
// some GPU can take. With a [PaceModel] it is that of the largest weight times pace,
// where a pace that makes no sense counts as 1.
func (p *Problem) Unit() float64 {
	kinds, of := p.paceKinds()
	ask := func(t *Task, k int) float64 {
		pace, _ := AskPace(p.Model, t, kinds[k])
		return pace
	}
	return p.unit(kinds,
		func(i, k int) float64 { return ask(&p.Tasks[i], k) },
		func(g, i int) float64 { return ask(&p.GPUs[g].Residents[i], of[g]) })
}

// unit is Unit with what is known about paces: of task i on each of kinds, and of
// resident i on GPU g. Without kinds all are 1.
func (p *Problem) unit(kinds []*GPU, pace, resident func(i, k int) float64) float64 {
	largest := 0.0
	for g := range p.GPUs {
		for i := range p.GPUs[g].Residents {
			w := p.GPUs[g].Residents[i].EffectiveWeight()
			if kinds != nil {
				w *= resident(g, i)
			}
			largest = max(largest, w)
		}
	}
	for i := range p.Tasks {
		t, top := &p.Tasks[i], 1.0
		if kinds != nil {
			top = 0
		}
		for k, gpu := range kinds {
			if t.Memory <= p.Limits.Usable(gpu.Total()) && gpu.Hosts(t) {
				top = max(top, pace(i, k))
			}
		}
		if w := t.EffectiveWeight() * top; w > largest && p.takes(t) {
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

// paceKinds returns GPUs of which each stands for those that must have the same
// paces, and which that is for each GPU; nothing if there is no [PaceModel].
func (p *Problem) paceKinds() (kinds []*GPU, of []int) {
	if _, ok := p.Model.(PaceModel); !ok {
		return nil, nil
	}
	of = make([]int, len(p.GPUs))
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		k := slices.IndexFunc(kinds, func(o *GPU) bool { return sameModel(o, gpu) })
		if k < 0 {
			k = len(kinds)
			kinds = append(kinds, gpu)
		}
		of[g] = k
	}
	return kinds, of
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
	room := p.Limits.Offer(gpu, len(gpu.Residents)+1)
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

// Offer returns what n tasks on g may reserve together: what headroom leaves, and no
// more than Together allows.
func (l *Limits) Offer(g *GPU, n int) profile.Bytes {
	c := instance.Class{Usable: l.Usable(g.Total()), Total: g.Total(), Beyond: l.beyond(g)}
	return c.Offer(n)
}

// beyond is Together where tasks share memory.
func (l *Limits) beyond(g *GPU) profile.Bytes {
	if len(g.Mechanisms) == 1 && g.Mechanisms[0] == profile.MIG {
		return 0
	}
	return l.Together
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
	return a.Total() == b.Total() && slices.Equal(a.Labels, b.Labels) && (a.Type == b.Type || a.Type.Equal(b.Type))
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
