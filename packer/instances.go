package packer

import (
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/packer/mig"
	"example.com/colloc/profile"
)

// SliceModel is a Model that knows what a task does on each size of MIG
// instance. With it, packer chooses the layout itself on GPUs that list
// [profile.MIG] among their Mechanisms and whose Type has MIG profiles: the
// value of a set is that of its best layout, in which each task has an instance
// of its own, and Set.Instances says who sits where. Of another Model it asks
// Speeds with [profile.MIG], and no layout is told.
type SliceModel interface {
	Model
	// SliceSpeeds fills dst[p] with the speed of task alone on an instance of
	// profile gpu.Type.MIG[p], relative to solo throughput on the whole GPU, 0
	// where it cannot run. Packer looks after memory itself. len(dst) ==
	// len(gpu.Type.MIG).
	SliceSpeeds(task *Task, gpu *GPU, dst []float64) error
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

// cut finds the best layouts of the GPUs of one class.
type cut struct {
	model  SliceModel
	choice *mig.Choice
	room   []profile.Bytes     // of an instance of each profile, after headroom
	known  map[*Task][]float64 // speeds by profile
	value  [][]float64         // of the tasks at hand by profile
	where  []mig.Placement     // of the members of the last set, residents first
}

// cutUp prepares the classes that can be cut up. The geometry is checked by
// Validate.
func (in *instance) cutUp() error {
	for k := range in.classes {
		c := &in.classes[k]
		m := sliced(in.p, c.gpu)
		if m == nil {
			continue
		}
		table, err := mig.New(c.gpu.Type)
		if err != nil {
			return err
		}
		choice, err := table.Choose(c.gpu.running())
		if err != nil {
			return err
		}
		x := &cut{model: m, choice: choice, known: map[*Task][]float64{}}
		for p := range c.gpu.Type.MIG {
			x.room = append(x.room, in.p.Limits.usable(c.gpu.Type.MIG[p].Memory))
		}
		if in.cuts == nil {
			in.cuts = map[*GPU]*cut{}
		}
		in.cuts[c.gpu] = x
	}
	return nil
}

// speeds asks the model about a task once.
func (x *cut) speeds(t *Task, gpu *GPU) ([]float64, error) {
	if s, ok := x.known[t]; ok {
		return s, nil
	}
	s := make([]float64, len(gpu.Type.MIG))
	if err := x.model.SliceSpeeds(t, gpu, s); err != nil {
		return nil, modelError([]*Task{t}, gpu, profile.MIG, err)
	}
	for p, v := range s {
		if what := checkSpeed(v); what != "" {
			return nil, modelError([]*Task{t}, gpu, profile.MIG,
				fmt.Errorf("the speed of %q on %s is %s; want a finite number in [0, %d]", t.ID, gpu.Type.MIG[p].Name, what, maxSpeed))
		}
	}
	x.known[t] = s
	return s, nil
}

// ask fills dst with the speeds of set, residents first, under the layout that
// is worth most, and where with its instances. Without one that holds them all
// the new tasks have speed 0.
func (x *cut) ask(set []*Task, gpu *GPU, dst []float64) error {
	clear(dst)
	x.where = append(x.where[:0], gpu.Instances...)
	residents := len(gpu.Instances)
	x.value = x.value[:0]
	for i, t := range set {
		s, err := x.speeds(t, gpu)
		if err != nil {
			return err
		}
		if i < residents {
			dst[i] = s[gpu.Instances[i].Profile]
			continue
		}
		row := make([]float64, len(s))
		for p, v := range s {
			if v >= t.MinSpeed && t.Memory <= x.room[p] {
				row[p] = t.weight() * v
			}
		}
		x.value = append(x.value, row)
	}
	if len(x.value) > maxInstances {
		return nil
	}
	best, ok, err := x.choice.Best(x.value)
	if err != nil || !ok {
		return err
	}
	for n, at := range best.Instance {
		p := best.Layout[at]
		x.where = append(x.where, p)
		dst[residents+n] = x.known[set[residents+n]][p.Profile]
	}
	return nil
}

// maxInstances is more than any GPU can be cut into.
const maxInstances = 8

// instances returns who sits where in a set by MIG, residents first; nil where
// no layout was chosen.
func (e *evaluator) instances(c *class, tasks []*Task) ([]mig.Placement, error) {
	x := e.in.cuts[c.gpu]
	if x == nil {
		return nil, nil
	}
	set := append(slices.Clone(c.residents), tasks...)
	if err := x.ask(set, c.gpu, make([]float64, len(set))); err != nil {
		return nil, err
	}
	return slices.Clone(x.where), nil
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
