package online

import (
	"errors"
	"fmt"

	"example.com/colloc/packer"
)

// NewScheduler returns a scheduler of gpus, whose residents run already, for a time
// that nobody knows; see [Scheduler.Adopt] for a better way. The errors are those of
// [packer.Problem.Validate] and of the options. Limits.MaxSet is 4 at most: larger sets
// are not looked at. MIG instances are GPUs of their own.
func NewScheduler(gpus []packer.GPU, model packer.Model, limits packer.Limits, o *SchedulerOptions) (*Scheduler, error) {
	if o == nil {
		o = &SchedulerOptions{}
	}
	s := &Scheduler{limits: limits, model: model, o: *o, entries: map[string]*entry{}, named: map[string]int32{}, kinds: map[string]int32{}, bans: map[string]*ban{}}
	if x := o.Objective.Or(DefaultObjective); !(x >= 0 && x <= 1) {
		return nil, fmt.Errorf("packer: scheduler: Objective is %v; want 0 for the mean completion time, 1 for the makespan, or between", x)
	}
	if n := o.Budget.Or(DefaultBudget); n < 0 {
		return nil, fmt.Errorf("packer: scheduler: Budget is %d events; want 0 or more", n)
	}
	if x := o.Growth.Or(DefaultGrowth); !(x >= 0 && x <= maxGrowth) {
		return nil, fmt.Errorf("packer: scheduler: Growth is %v; want 0 to %d, a fraction of the peak", x, maxGrowth)
	}
	if o.Machines != nil && len(o.Machines) != len(gpus) {
		return nil, fmt.Errorf("packer: scheduler: Machines names those of %d GPUs and there are %d; want one number each", len(o.Machines), len(gpus))
	}
	if err := errors.Join(check(gpus, model, limits), judged(gpus, model)); err != nil {
		return nil, err
	}
	for g := range gpus {
		machine := 0
		if o.Machines != nil {
			machine = o.Machines[g]
		}
		if err := checkMachine(&gpus[g], machine); err != nil {
			return nil, err
		}
		s.slots, s.gpus = append(s.slots, slot{state: removed}), append(s.gpus, packer.GPU{})
		s.enroll(g, &gpus[g], machine)
	}
	s.engine.MinGain = limits.MinGain
	s.rules, s.rule = rules(s.largest(), o.Without), plain
	for i := range s.rules {
		s.trying = append(s.trying, i)
	}
	if err := s.SetModel(model); err != nil {
		return nil, err
	}
	for g := range gpus {
		for i := range gpus[g].Residents {
			if err := s.Adopt(Job{Task: gpus[g].Residents[i]}, g); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// SetModel makes another model answer from now on: one that has learned. It returns an
// error if there is none.
func (s *Scheduler) SetModel(m packer.Model) error {
	if m == nil {
		return errors.New("packer: scheduler: Model is nil; it predicts the speeds")
	}
	s.model = m
	s.ask()
	return nil
}

// Model returns the model that answers.
func (s *Scheduler) Model() packer.Model { return s.model }
