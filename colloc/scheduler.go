package colloc

import (
	"cmp"
	"errors"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// Scheduler starts colloc's policy on gpus: an [online.Scheduler] that looks ahead, by
// the predictions and the limits of the Planner as they are at this moment. Give it
// tasks by [Planner.Packed], with the time that they still need.
//
//	s, err := planner.Scheduler(gpus, nil)
//	...
//	t, err := planner.Packed(task)
//	err = s.Submit(online.Job{Task: t, Left: profile.Some(2 * time.Hour)})
//	started, err := s.Decide(ctx, now)
//
// What runs on gpus already, foreign tasks too, counts until Finish is told of its ID.
//
// Sets hold as many tasks as the Planner's limits say, four at most. What is predicted at this moment
// holds until [Planner.Relearn]. Paces are relative to [Config].Reference, or to the fastest kind of
// the GPUs. The errors are those of [Planner.Plan] for GPUs, and those of [online.NewScheduler].
func (p *Planner) Scheduler(gpus []GPU, o *online.SchedulerOptions) (*online.Scheduler, error) {
	r, m, err := p.open(gpus)
	if err != nil {
		return nil, err
	}
	return online.NewScheduler(r.problem.GPUs, m, p.limits, o)
}

// Relearn lets a scheduler that this Planner made for gpus predict by what was observed
// and fitted since; see [Planner.Refit]. Paces stay relative to what they were, so that
// times do. gpus are those that there are now. A scheduler that judges by another model is an
// error; the others are those of [Planner.Scheduler].
func (p *Planner) Relearn(s *online.Scheduler, gpus []GPU) error {
	if s == nil {
		return errors.New("colloc: relearn: the scheduler is nil; want one that Planner.Scheduler made")
	}
	old, ok := s.Model().(live)
	if !ok {
		return errors.New("colloc: relearn: the scheduler judges by a model of its own; make it with Planner.Scheduler")
	}
	if _, _, err := p.open(gpus); err != nil {
		return err
	}
	f := p.frozen()
	return s.SetModel(live{model{f, f.config.Interference, nil, old.paces}})
}

// open puts GPUs into the words of package packer, with what is predicted about any
// task at this moment.
func (p *Planner) open(gpus []GPU) (*round, live, error) {
	if err := p.ready(); err != nil {
		return nil, live{}, err
	}
	r, err := p.newRound(nil, slices.Clone(gpus), false)
	if err != nil {
		return nil, live{}, err
	}
	ps := &r.paces
	if ps.scale.reference == nil && len(ps.kinds) > 0 {
		best := slices.MaxFunc(ps.kinds, func(a, b kind) int {
			return cmp.Or(cmp.Compare(r.planner.stranger(&a), r.planner.stranger(&b)), cmp.Compare(b.name, a.name))
		})
		ps.scale.reference = &best.gpu.Model
	}
	return r, live{model{r.planner, r.speeds, nil, ps}}, nil
}

// PackedGPU puts a GPU with its residents into the words of package packer, for
// [online.Scheduler.AddGPU] and [online.Scheduler.ChangeGPU] of a scheduler of
// [Planner.Scheduler]. Errors as for [Planner.Plan].
func (p *Planner) PackedGPU(gpu GPU) (packer.GPU, error) {
	if err := p.ready(); err != nil {
		return packer.GPU{}, err
	}
	r, err := p.newRound(nil, []GPU{gpu}, false)
	if err != nil {
		return packer.GPU{}, err
	}
	return r.problem.GPUs[0], nil
}

// stranger is the pace of a task of which nothing is known.
func (p *Planner) stranger(k *kind) float64 {
	return p.pace(&Task{}, k.gpu, scale{}).Value
}

// Packed puts a task into the words of package packer, with the memory that is
// reserved for it. Errors as for [Planner.Memory]; profiles from Elsewhere are one,
// too: observe their throughputs.
func (p *Planner) Packed(task Task) (packer.Task, error) {
	if err := p.ready(); err != nil {
		return packer.Task{}, err
	}
	if err := task.Validate(); err != nil {
		return packer.Task{}, err
	}
	if len(task.Elsewhere) > 0 {
		return packer.Task{}, nowhere.fault(task.ID, "Elsewhere", errors.New("is set, want nothing for a scheduler; observe the throughputs"))
	}
	reserved, err := p.reservation(&task, nowhere)
	if err != nil {
		return packer.Task{}, err
	}
	return p.packed(&task, reserved), nil
}

// live is a model that is asked about tasks nobody knew when it was made.
type live struct{ model }

var (
	_ packer.PaceModel  = live{}
	_ packer.TriedModel = live{}
)

// CheckGPU reports a GPU of which nobody knows what it is, see [online.Scheduler.AddGPU].
func (m live) CheckGPU(gpu *packer.GPU) error {
	if gpu.Type == nil {
		return place{gpu.ID, true, -1, -1}.fault("", "Type", errors.New("is nil, want a GPU that Planner.PackedGPU made"))
	}
	return nil
}

// Speeds implements [packer.Model].
func (m live) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	s := m.planner.acquire()
	defer m.planner.release(s)
	if cap(s.filled) < len(set) {
		s.filled = make([]profile.Profile, len(set))
	}
	s.filled = s.filled[:len(set)]
	for i, t := range set {
		member, _ := m.planner.complete(&s.filled[i], t.Profile, gpu.Type)
		s.set = append(s.set, member)
	}
	return m.ask(s, set, gpu, mech, dst)
}

// Pace implements [packer.PaceModel].
func (m live) Pace(task *packer.Task, gpu *packer.GPU) float64 {
	t := Task{Profile: task.Profile}
	g := &GPU{Model: *gpu.Type, Memory: gpu.Memory} // one that came later
	if k, ok := m.paces.of[gpu.Type]; ok {
		g = m.paces.kinds[k].gpu
	}
	return bounded(m.planner.pace(&t, g, m.paces.scale).Value)
}

// Tried implements [packer.TriedModel].
func (m live) Tried(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism) bool {
	return m.tried(m.Pace, set, gpu, mech)
}
