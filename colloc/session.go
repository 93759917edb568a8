package colloc

import (
	"cmp"
	"errors"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// Session starts an online session on gpus: tasks come and go one at a time, see
// [online.Session], by the predictions and the limits of the Planner. What they are
// at this moment holds to its end: what is observed meanwhile counts for the next
// session. Give it tasks by [Planner.Packed].
//
//	s, err := planner.Session(gpus, nil)
//	...
//	t, err := planner.Packed(task)
//	d, err := s.Arrive(t)
//
// Paces are relative to [Config].Reference, or to the fastest kind of the GPUs. The
// errors are those of [Planner.Plan] for GPUs, and those of [online.NewSession].
func (p *Planner) Session(gpus []GPU, o *online.SessionOptions) (*online.Session, error) {
	if err := p.ready(); err != nil {
		return nil, err
	}
	r, err := p.newRound(nil, slices.Clone(gpus), false)
	if err != nil {
		return nil, err
	}
	ps := &r.paces
	if ps.scale.reference == nil {
		ps.scale.equal = len(ps.kinds) < 2
		if !ps.scale.equal {
			best := slices.MaxFunc(ps.kinds, func(a, b kind) int {
				return cmp.Or(cmp.Compare(r.planner.stranger(&a), r.planner.stranger(&b)), cmp.Compare(b.name, a.name))
			})
			ps.scale.reference = &best.gpu.Model
		}
	}
	return online.NewSession(r.problem.GPUs, live{model{r.planner, r.speeds, nil, ps}}, p.limits, o)
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
		return packer.Task{}, nowhere.fault(task.ID, "Elsewhere", errors.New("is set, want nothing in a session; observe the throughputs"))
	}
	reserved, err := p.reservation(&task, nowhere)
	if err != nil {
		return packer.Task{}, err
	}
	return p.packed(&task, reserved), nil
}

// live is a model that is asked about tasks nobody knew when it was made.
type live struct{ model }

var _ packer.PaceModel = live{}

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
	speeds, err := m.interference.Values(gpu.Type, mech, s.set, s.speeds[:0])
	s.speeds = speeds
	copy(dst, speeds)
	return err
}

// Pace implements [packer.PaceModel].
func (m live) Pace(task *packer.Task, gpu *packer.GPU) float64 {
	t := Task{Profile: task.Profile}
	return bounded(m.planner.pace(&t, m.paces.kinds[m.paces.of[gpu.Type]].gpu, m.paces.scale).Value)
}

// Additive implements [packer.AdditiveModel].
func (m live) Additive(task *packer.Task, gpu *packer.GPU, mech profile.Mechanism) (once, least float64, ok bool) {
	var filled profile.Profile
	member, _ := m.planner.complete(&filled, task.Profile, gpu.Type)
	return m.additive(member, gpu, mech)
}
