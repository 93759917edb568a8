package packer

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

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
