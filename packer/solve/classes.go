package solve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/internal/instance"
)

// Classes serves classes of tasks one after the other, the highest first. What a
// class gets is what Method gives it beside the residents and all higher classes:
// no lower class takes a GPU from it or moves it. A lower one may join it within
// every limit, and a task of a lower class that runs at its Home is sent away where a
// higher one gains by its GPU. Nothing is proven about the whole: Bound is +Inf.
//
// It costs what Method costs, once for each class.
type Classes struct {
	// Method packs one class; nil is Auto.
	Method packer.Method
	// Class returns the class of a task. Required.
	Class func(*packer.Task) int
}

var _ packer.Method = Classes{}

// Pack implements Method. When ctx ends early the classes that had their turn keep
// what they got.
func (c Classes) Pack(ctx context.Context, p *packer.Problem) (*packer.Solution, error) {
	if c.Class == nil {
		return nil, errors.New("packer: classes: Class is nil; want the function that gives the class of a task")
	}
	if c.Method == nil {
		c.Method = Auto{}
	}
	d, err := packer.Compile(p)
	if err != nil {
		return nil, err
	}
	s := &served{p: p, gpu: make([]int, len(p.Tasks)), more: map[int][]int{}, taken: make([]bool, len(p.GPUs)), gpus: slices.Clone(p.GPUs)}
	classes := make(map[int][]int)
	for i := range p.Tasks {
		s.gpu[i] = none
		class := c.Class(&p.Tasks[i])
		classes[class] = append(classes[class], i)
	}
	var order []int
	for class := range classes {
		order = append(order, class)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(b, a) })
	for _, class := range order {
		if err := s.serve(ctx, c.Method, classes[class]); err != nil {
			return nil, err
		}
	}
	pl := instance.NewPlan(d.Instance)
	for i, o := range d.Origin {
		pl.Gpu[i] = int32(s.gpu[o])
	}
	for g, others := range s.more {
		for _, o := range others {
			pl.More[int32(g)] = append(pl.More[int32(g)], int32(o))
		}
	}
	return d.Answer(ctx, pl, nil, fmt.Sprintf("%d classes in order", len(order)))
}

// none is the absence of a GPU.
const none = -1

// served is what the classes got so far.
type served struct {
	p     *packer.Problem
	gpu   []int         // of each task, or none
	more  map[int][]int // the other GPUs of a gang, by the one that stands for them
	taken []bool        // those others
	gpus  []packer.GPU  // with what they got as residents
}

// serve packs some tasks beside what is there.
func (s *served) serve(ctx context.Context, method packer.Method, tasks []int) error {
	sub := &packer.Problem{Model: s.p.Model, Limits: s.p.Limits, Objective: s.p.Objective}
	var at []int // GPUs of sub
	here := make(map[string]bool)
	for g := range s.gpus {
		if !s.taken[g] {
			sub.GPUs, at = append(sub.GPUs, s.gpus[g]), append(at, g)
			here[s.gpus[g].ID] = true
		}
	}
	for _, i := range tasks {
		t := s.p.Tasks[i]
		if !here[t.Home] {
			t.Home = ""
		}
		sub.Tasks = append(sub.Tasks, t)
	}
	sol, err := method.Pack(ctx, sub)
	if sol == nil || err != nil && !errors.Is(err, ctx.Err()) {
		return err
	}
	for k := range sol.Sets {
		set := &sol.Sets[k]
		worse, err := s.outdone(sub, set, at[set.GPU])
		if err != nil {
			return err
		}
		if !worse {
			s.settle(set, tasks, at)
		}
	}
	return nil
}

// outdone reports whether a new member of a set that is there already would do more
// alone, by the same rule as for sets that come at once on GPU g.
func (s *served) outdone(sub *packer.Problem, set *packer.Set, g int) (bool, error) {
	gpu := &sub.GPUs[set.GPU]
	if len(gpu.Residents) == 0 || len(s.p.GPUs[g].Residents) > 0 {
		return false, nil
	}
	value, most := 0.0, 0.0
	for k := range set.Speeds {
		var t *packer.Task
		if k < len(gpu.Residents) {
			t = &gpu.Residents[k]
		} else {
			t = &sub.Tasks[set.Tasks[k-len(gpu.Residents)]]
		}
		pace, err := packer.AskPace(sub.Model, t, gpu)
		if err != nil {
			return false, err
		}
		w := t.EffectiveWeight() * pace
		value += float64(w * set.Speeds[k])
		most = max(most, w)
	}
	return value <= (1+sub.Limits.MinGain)*most*(1+1e-5), nil // beyond rounding
}

// settle makes residents of the tasks of a set.
func (s *served) settle(set *packer.Set, tasks, at []int) {
	g := at[set.GPU]
	residents := slices.Clone(s.gpus[g].Residents)
	for _, k := range set.Tasks {
		i := tasks[k]
		s.gpu[i] = g
		t := s.p.Tasks[i]
		t.Home = ""
		residents = append(residents, t)
	}
	s.gpus[g].Residents = residents
	for _, o := range set.Gang {
		s.more[g], s.taken[at[o]] = append(s.more[g], at[o]), true
	}
}
