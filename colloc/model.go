package colloc

import (
	"cmp"
	"runtime"
	"sync"

	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// model answers the packer's questions with the predictors of speeds and paces as
// they were when the round began: what is observed meanwhile counts from the next
// round on.
type model struct {
	planner      *Planner
	interference *interference.Predictor
	uses         uses
	paces        *paces
}

var (
	_ packer.TriedModel = model{}
	_ packer.PaceModel  = model{}
)

// Speeds implements [packer.Model]. It is safe for concurrent use.
func (m model) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	s := m.planner.acquire()
	defer m.planner.release(s)
	for _, t := range set {
		s.set = append(s.set, m.uses.of(t.Profile, gpu.Type))
	}
	return m.ask(s, set, gpu, mech, dst)
}

// ask is Speeds of a set whose profiles s holds.
func (m model) ask(s *scratch, set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	speeds, err := m.interference.Values(gpu.Type, mech, s.set, s.speeds[:0])
	s.speeds = speeds
	if err == nil {
		err = m.planner.unsure(m.interference, gpu.Type, mech, s, func(i int) float64 { return set[i].MinSpeed })
	}
	m.hindered(m.Pace, set, s.set, gpu, mech, speeds)
	copy(dst, speeds)
	return err
}

// batched is the model of a round, whose tasks are known from the start: it divides
// many pairs over the CPUs that Go may use.
type batched struct{ model }

var (
	_ packer.PaceModel  = batched{}
	_ packer.BatchModel = batched{}
)

// PairSpeeds implements [packer.BatchModel], with the numbers of Speeds.
func (m batched) PairSpeeds(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) error {
	const worthwhile = 100 // pairs that take longer than to start a goroutine
	n := len(partners)
	parts := min(runtime.GOMAXPROCS(0), 1+n/worthwhile)
	errs := make([]error, parts)
	var wait sync.WaitGroup
	for k := range parts {
		from, to := k*n/parts, (k+1)*n/parts
		ask := func() { errs[k] = m.row(task, partners[from:to], gpu, mech, own[from:to], other[from:to]) }
		if k == parts-1 {
			ask()
			break
		}
		wait.Go(ask)
	}
	wait.Wait()
	return cmp.Or(errs...)
}

// row asks for the pairs of one task.
func (m batched) row(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) error {
	s := m.planner.acquire()
	defer m.planner.release(s)
	for _, t := range partners {
		s.set = append(s.set, m.uses.of(t.Profile, gpu.Type))
	}
	err := m.interference.Beside(gpu.Type, mech, m.uses.of(task.Profile, gpu.Type), s.set, own, other)
	m.beside(task, partners, gpu, mech, own, other)
	return err
}

// Pace implements [packer.PaceModel], within the bounds that it sets.
func (m model) Pace(task *packer.Task, gpu *packer.GPU) float64 {
	return bounded(m.paces.get(task, gpu).Value)
}

// bounded keeps a pace within what package packer takes.
func bounded(pace float64) float64 {
	const most = 4096
	return min(max(pace, 1.0/most), most)
}

// observed reports whether it is known how busy the task keeps a GPU.
func observed(t *profile.Profile) bool {
	for _, f := range [...]profile.Feature{profile.MeanSMActive, profile.MeanGPUBusy} {
		if _, ok := t.Vector.Get(f); ok {
			return true
		}
	}
	return false
}

// complete returns t if its use of a GPU was observed. Otherwise it fills dst
// with a copy in which the use is predicted for gpu, and returns that with the
// kind of the prediction; where nothing can be predicted it returns t, which
// then counts as busy.
//
// A prediction that rests on measurements of such tasks counts as it is, a
// mere prior at its upper bound: to promise too little costs less than to
// promise too much.
func (p *Planner) complete(dst, t *profile.Profile, gpu *profile.GPUModel) (*profile.Profile, predict.SourceKind) {
	if observed(t) {
		return t, predict.Measured
	}
	busy, dram, err := p.config.Utilization.Busy(&t.Spec, gpu)
	if err != nil {
		return t, predict.Prior
	}
	*dst = *t
	for _, u := range [...]struct {
		feature profile.Feature
		e       predict.Estimate
	}{{profile.MeanGPUBusy, busy}, {profile.MeanDRAMActive, dram}} {
		x := u.e.Value
		if u.e.Source.Kind == predict.Prior {
			x = u.e.Hi
		}
		if dst.Vector.Set(u.feature, max(0, min(1, x))) != nil {
			return t, predict.Prior
		}
	}
	return dst, busy.Source.Kind
}

// useKey names a task whose use was predicted for a kind of GPU.
type useKey struct {
	task *profile.Profile
	gpu  string
}

// uses holds the profiles of a round that stand for others on a kind of GPU:
// completed, where nobody observed the task, or taken there.
type uses map[useKey]*profile.Profile

// add completes t for gpu unless that was done before.
func (u uses) add(p *Planner, t *Task, gpu *profile.GPUModel) {
	if len(t.Elsewhere) == 0 && observed(t.known()) {
		return
	}
	key := useKey{t.known(), gpu.Canonical()}
	if _, done := u[key]; !done {
		u[key], _ = p.complete(new(profile.Profile), t.on(gpu), gpu)
	}
}

// of returns the profile to predict with.
func (u uses) of(t *profile.Profile, gpu *profile.GPUModel) *profile.Profile {
	if filled, ok := u[useKey{t, gpu.Canonical()}]; ok {
		return filled
	}
	return t
}

// hindered lowers the predicted speeds of a set of tasks on a GPU; set holds their profiles.
func (m model) hindered(pace func(*packer.Task, *packer.GPU) float64, tasks []*packer.Task, set []*profile.Profile, gpu *packer.GPU, mech profile.Mechanism, speeds []float64) bool {
	if len(set) < 2 {
		return false
	}
	worth := func(i int) float64 { return tasks[i].EffectiveWeight() * pace(tasks[i], gpu) }
	return hindered(m.interference.Trials(gpu.Type, mech), set, worth, speeds) >= 0
}

// lower puts what was measured of a set in the place of what is predicted of it, where
// that hinders it.
func (m model) lower(speeds []predict.Estimate, tasks []*packer.Task, set []*profile.Profile, gpu *packer.GPU, mech profile.Mechanism) {
	values := make([]float64, len(speeds))
	for i := range speeds {
		values[i] = speeds[i].Value
	}
	if !m.hindered(m.Pace, tasks, set, gpu, mech, values) {
		return
	}
	for i, v := range values {
		if e := &speeds[i]; v < e.Value {
			e.Value, e.Lo = v, min(e.Lo, v)
		}
	}
}

// beside is hindered for one task beside each of many.
func (m model) beside(task *packer.Task, partners []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, own, other []float64) {
	trials := m.interference.Trials(gpu.Type, mech)
	if len(trials.With(task.Profile)) == 0 {
		return
	}
	for j, t := range partners {
		pair := [2]float64{own[j], other[j]}
		m.hindered(m.Pace, []*packer.Task{task, t}, []*profile.Profile{task.Profile, t.Profile}, gpu, mech, pair[:])
		own[j], other[j] = pair[0], pair[1]
	}
}

// Tried implements [packer.TriedModel].
func (m model) Tried(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism) bool {
	return m.tried(m.Pace, set, gpu, mech)
}

func (m model) tried(pace func(*packer.Task, *packer.GPU) float64, tasks []*packer.Task, gpu *packer.GPU, mech profile.Mechanism) bool {
	set, speeds := make([]*profile.Profile, len(tasks)), make([]float64, len(tasks))
	for i, t := range tasks {
		set[i], speeds[i] = t.Profile, 1
	}
	return m.hindered(pace, tasks, set, gpu, mech, speeds)
}

// asMeasured is hindered for a task that would join what a GPU runs, of which s holds
// the profiles and the speeds. It returns who stands in the way there.
func (p *Planner) asMeasured(task *Task, gpu *GPU, m profile.Mechanism, s *scratch, by scale) (with string) {
	n := len(gpu.Residents)
	trials := p.config.Interference.Trials(&s.gpu, m)
	if n == 0 || trials.None() {
		return ""
	}
	worth := func(i int) float64 {
		t := task
		if i < n {
			t = &gpu.Residents[i]
		}
		if by.itself {
			return weight(t)
		}
		return weight(t) * s.paces[i]
	}
	if first := hindered(trials, s.set, worth, s.speeds); first >= 0 {
		return gpu.Residents[first].ID
	}
	return ""
}

// mostPromised is the largest set in which a limit on speed binds what is predicted. In
// larger ones it binds the lower end of the interval: so many share as surely keep it,
// light tasks four or five, busy ones two.
const mostPromised = 2

// unsure lowers the speeds of a set of three and more, which are those that s holds, to
// the lower ends of their intervals where these are below the task's limit while the
// speeds are not. limit(i) is the lowest speed that a task accepts.
func (p *Planner) unsure(speeds *interference.Predictor, gpu *profile.GPUModel, mech profile.Mechanism, s *scratch, limit func(i int) float64) (err error) {
	if len(s.set) <= mostPromised {
		return nil
	}
	for i, v := range s.speeds {
		if v < limit(i) {
			return nil // refused as it is
		}
	}
	if s.estimates, err = speeds.Speeds(gpu, mech, s.set, s.estimates[:0]); err != nil {
		return err
	}
	for i := range s.estimates {
		if lo := s.estimates[i].Lo; lo < limit(i) {
			s.speeds[i] = lo
		}
	}
	return nil
}
