package packer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// speeds asks the model for the speeds of a set: together, or each on its
// instance.
func (c *checker) speeds(set *Set, gpu *GPU, members []*Task, dst []float64) error {
	m := Sliced(c.p, gpu)
	if set.Mechanism != profile.MIG || m == nil {
		if len(set.Instances) > 0 {
			return errors.New("there are Instances, and no SliceModel for this GPU")
		}
		return c.p.Model.Speeds(members, gpu, set.Mechanism, dst)
	}
	if len(set.Instances) != len(members) {
		return fmt.Errorf("%d Instances for %d members; want one each", len(set.Instances), len(members))
	}
	table, err := mig.New(gpu.Type)
	if err != nil {
		return err
	}
	layout := mig.Layout(slices.Clone(set.Instances))
	slices.SortFunc(layout, func(a, b mig.Placement) int { return a.Start - b.Start })
	if err := table.Check(layout); err != nil {
		return err
	}
	for k, at := range set.Instances {
		if err := c.instance(gpu, members[k], k, at); err != nil {
			return err
		}
		all := make([]float64, len(gpu.Type.MIG))
		if err := m.SliceSpeeds(members[k], gpu, all); err != nil {
			return err
		}
		dst[k] = all[at.Profile]
	}
	return nil
}

// instance checks that the k-th member can be where it is.
func (c *checker) instance(gpu *GPU, t *Task, k int, at mig.Placement) error {
	if k < len(gpu.Instances) {
		if at != gpu.Instances[k] {
			return fmt.Errorf("%q is on instance %+v; it runs on %+v, and residents stay", t.ID, at, gpu.Instances[k])
		}
		return nil
	}
	size := gpu.Type.MIG[at.Profile]
	if room := float64(size.Memory) * (1 - c.p.Limits.headroom()); float64(t.Memory) > math.Ceil(room) {
		return fmt.Errorf("%q needs %v; headroom leaves %v of %s", t.ID, t.Memory, profile.BytesOf(room), size.Name)
	}
	return nil
}

// Sliced returns the model that knows about instances of gpu, nil if gpu cannot
// be cut up, or is in ways that nobody told.
func Sliced(p *Problem, gpu *GPU) SliceModel {
	m, ok := p.Model.(SliceModel)
	if !ok || gpu.Type == nil || len(gpu.Type.MIG) == 0 || len(gpu.Instances) != len(gpu.Residents) ||
		!slices.Contains(gpu.Mechanisms, profile.MIG) {
		return nil
	}
	return m
}

// Running returns the instances of the residents in the order that package mig
// wants.
func (g *GPU) Running() mig.Layout {
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
	return table.Check(g.Running())
}
