package colloc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// Fit reports whether task may run on gpu beside its residents: whether memory
// suffices at the configured risk and headroom, and whether, under the best of
// the allowed mechanisms, nobody falls below its speed limit. It is meant for
// the filter step of a scheduler.
//
// It asks no more than that. A task that fits may still be left waiting by
// [Planner.Plan], because the company would cost more than it gains: its
// [Planner.Score] is then 0 or near it. Of a gang it speaks on one of its GPUs; what runs on several GPUs is joined on each as anything else is.
//
// Not fitting is a Verdict, not an error. It returns [*FaultError] for a task, a
// resident or a GPU that is described wrongly; [Faults] lists them. A task of which
// nothing is known but its batch is no fault: it reserves a whole GPU.
//
// O(residents^2); allocates nothing once warm. Residents that carry
// [Task].Reserved save one memory prediction each.
func (p *Planner) Fit(task Task, gpu GPU) (Verdict, error) {
	if err := p.ready(); err != nil {
		return Verdict{}, err
	}
	s := p.acquire()
	defer p.release(s)
	return p.fit(&task, &gpu, s, p.scale().onItsOwn())
}

// Judge explains a Fit at length: the placement of task beside the GPU's
// residents, with the predicted speed and memory of every member, each with its
// interval and source, and the limit that forbids it, if one does. It costs
// more than Fit and allocates; ask it for decisions that people will read.
// Errors as for [Planner.Fit].
func (p *Planner) Judge(task Task, gpu GPU) (Placement, error) {
	if err := p.ready(); err != nil {
		return Placement{}, err
	}
	p = p.frozen() // one version for the verdict and what explains it
	p.config.Memory = p.config.Memory.Clone()
	v, err := p.Fit(task, gpu)
	if err != nil {
		return Placement{}, err
	}
	r, err := p.newRound([]Task{task}, []GPU{gpu}, false)
	if err != nil {
		return Placement{}, err
	}
	set := packer.Set{Tasks: []int{0}, Mechanism: v.Mechanism, Value: v.Throughput}
	if v.Code != 0 && v.Code != packer.SpeedLimit && len(gpu.Residents) > 0 {
		set.Mechanism = cmp.Or(firstShared(&gpu), profile.TimeSlice) // what would be asked if the limit were lifted
	}
	placement, err := r.placement(&set)
	placement.Binding = v.Code
	return placement, err
}

// Score returns how much throughput the task would add to the GPU, its own less
// what it costs its neighbours, in units of its own on the reference card
// ([Config].Reference), each task counting by its weight:
//
//	gain = pace(task) × (W(with the task) - W(without)) / weight,  W = Σ weight × speed
//
// Speeds are fractions of what each has alone there: what company gains and costs is
// told by one scale on one GPU, as [Planner.Plan] does where all GPUs are of one kind,
// and the task's pace alone says how GPUs compare (ADR 17). So an empty GPU scores
// the task's pace there, and the task goes where the score is highest. The mechanism
// is that of [Planner.Fit]. Multiplied by weights, scores
// of different tasks compare, too. It is in [0, 1): the gain up to 0.9 and beyond,
// ever closer to 1, a number that grows with it; 0 where the task does not fit or
// costs its neighbours as much as it gains. On a task's Home the gain is larger by
// MoveCost times its pace there. A gang among the residents that loses here is as slow on all
// its GPUs: that counts so many times, divided by those of the task if it is a gang. It is
// meant for the score step of a scheduler. Errors, cost and allocation as for [Planner.Fit].
func (p *Planner) Score(task Task, gpu GPU) (float64, error) {
	if err := p.ready(); err != nil {
		return 0, err
	}
	s := p.acquire()
	defer p.release(s)
	_, gain, err := p.score(&task, &gpu, s, nil)
	return within(gain), err
}

// score is Fit and in one what Score puts between 0 and 1; needed is what the task needs, where that is known.
func (p *Planner) score(task *Task, gpu *GPU, s *scratch, needed *need) (Verdict, float64, error) {
	by := p.scale().onItsOwn()
	v, err := p.fitNeed(task, gpu, s, by, needed)
	if err != nil || !v.Fits {
		return v, 0, err
	}
	before, err := p.before(task, gpu, s)
	if err != nil {
		return Verdict{}, 0, err
	}
	gain := v.Pace.Value * (s.worth - before) / weight(task)
	if task.Home == gpu.ID {
		gain += task.MoveCost * v.Pace.Value
	}
	return v, gain, nil
}

// need is the memory of a task.
type need struct {
	peak     predict.Estimate
	reserved profile.Bytes
}

// needs is what the task needs; a promise needs no prediction.
func (p *Planner) needs(t *Task) (n need, err error) {
	if n.reserved = t.Reserved; n.reserved == 0 {
		n.peak, n.reserved, err = p.memory(t, nowhere)
	}
	return n, err
}

func (p *Planner) fit(task *Task, gpu *GPU, s *scratch, by scale) (Verdict, error) {
	return p.fitNeed(task, gpu, s, by, nil)
}

func (p *Planner) fitNeed(task *Task, gpu *GPU, s *scratch, by scale, needed *need) (Verdict, error) {
	if err := task.Validate(); err != nil {
		return Verdict{}, err
	}
	if err := gpu.Validate(); err != nil {
		return Verdict{}, err
	}
	if i := gpu.repeated(task); i >= 0 {
		at := place{gpu.ID, true, -1, i}
		return Verdict{}, at.fault(gpu.Residents[i].ID, "ID", errors.New("already runs there; want IDs that differ"))
	}
	if needed == nil {
		n, err := p.needs(task)
		if err != nil {
			return Verdict{}, err
		}
		needed = &n
	}
	v := Verdict{Memory: needed.peak, Reserved: needed.reserved}
	if v.Label = gpu.Lacks(task); v.Label != "" {
		v.Code = packer.WrongGPU
		return v, nil
	}
	if err := p.fitMemory(task, gpu, &v); err != nil || v.Code != 0 {
		return v, err
	}
	if p.fitCompany(task, gpu, &v); v.Code != 0 {
		return v, nil
	}
	err := p.fitSpeeds(task, gpu, s, by, &v)
	return v, err
}

// fitMemory decides whether the reservation is covered.
func (p *Planner) fitMemory(task *Task, gpu *GPU, v *Verdict) error {
	free := p.offer(gpu, len(gpu.Residents)+1)
	if v.Reserved == memory.Whole {
		v.Reserved = max(free, p.least(task), 1) // all of it: no resident leaves room
	}
	for i := range gpu.Residents {
		r, err := p.reservation(&gpu.Residents[i], place{gpu.ID, true, -1, i})
		if err != nil {
			return err
		}
		free = max(-1, free-r) // below 0 nothing fits; the sum of absurd promises must not wrap around
	}
	v.Free = max(0, free)
	if v.Reserved > free {
		v.Code = packer.MemoryLimit
	}
	return nil
}

// fitCompany decides what needs no prediction: tasks that must be alone, labels, the
// size of the set.
func (p *Planner) fitCompany(task *Task, gpu *GPU, v *Verdict) {
	forbids := func(code packer.ReasonCode, who func(*Task) bool) bool {
		i := slices.IndexFunc(gpu.Residents, func(r Task) bool { return who(&r) })
		if i >= 0 {
			v.Code, v.Other = code, gpu.Residents[i].ID
		}
		return i >= 0
	}
	switch alone := p.solitary(task); {
	case len(gpu.Residents) == 0:
	case forbids(packer.MustBeAlone, func(r *Task) bool { return alone || p.solitary(r) }):
	case forbids(packer.Incompatible, func(r *Task) bool { return !task.Accepts(r) }):
	case len(gpu.Residents)+1 > p.config.MaxSet, !shareable(gpu):
		v.Code = packer.SetFull
	}
}

// fitSpeeds tries every allowed mechanism and keeps the one with the highest
// throughput among those that keep everyone's limit; if none does, the one that
// comes closest.
func (p *Planner) fitSpeeds(task *Task, gpu *GPU, s *scratch, by scale, v *Verdict) error {
	weakest := p.load(s, task, gpu, by)
	v.Throughput, v.Slowest = -1, -1
	if len(gpu.Residents) == 0 {
		return p.try(task, gpu, profile.Exclusive, s, by, v)
	}
	for _, m := range sharing(gpu) {
		if m == profile.Exclusive {
			continue
		}
		if err := p.try(task, gpu, m, s, by, v); err != nil {
			return err
		}
	}
	v.Speed.Source.Kind = min(v.Speed.Source.Kind, weakest)
	return nil
}

// try predicts one mechanism and stores it in v if it is better than what is
// there.
func (p *Planner) try(task *Task, gpu *GPU, m profile.Mechanism, s *scratch, by scale, v *Verdict) error {
	speeds, own, err := p.config.Interference.ValuesAndSpeed(&s.gpu, m, s.set, len(s.set)-1, s.speeds[:0])
	s.speeds = speeds
	if err != nil {
		return fmt.Errorf("colloc: task %q on GPU %q: %w", task.ID, gpu.ID, err)
	}
	member := func(i int) *Task {
		if i < len(gpu.Residents) {
			return &gpu.Residents[i]
		}
		return task
	}
	if err := p.unsure(p.config.Interference, &s.gpu, m, s, func(i int) float64 { return p.minSpeed(member(i)) }); err != nil {
		return fmt.Errorf("colloc: task %q on GPU %q: %w", task.ID, gpu.ID, err)
	}
	w := Verdict{Memory: v.Memory, Reserved: v.Reserved, Free: v.Free, Mechanism: m, Fits: true, Speed: own, Slowest: -1, Pace: s.own}
	if w.Other = p.asMeasured(task, gpu, m, s, by); w.Other != "" {
		w.Fits, w.Code = false, packer.MeasuredSlow
	}
	tightest := math.Inf(1)
	worth := 0.0
	for i := range speeds {
		t := member(i)
		w.Throughput += float64(weight(t) * s.paces[i] * speeds[i])
		worth += float64(counts(t, task) * speeds[i])
		if slack := speeds[i] / p.minSpeed(t); w.Slowest < 0 || slack < tightest {
			tightest = slack
			w.Slowest, w.SlowestSpeed, w.SlowestLimit = i, speeds[i], p.minSpeed(t)
		}
	}
	if tightest < 1 && w.Fits {
		w.Fits, w.Code = false, packer.SpeedLimit
	}
	if !by.itself {
		worth = w.Throughput
	}
	if v.Slowest < 0 || better(&w, v, worth > s.worth) {
		*v, s.worth = w, worth
	}
	return nil
}

// better prefers what fits, then what is worth more; on a tie the earlier
// mechanism stays.
func better(a, b *Verdict, more bool) bool {
	if a.Fits != b.Fits {
		return a.Fits
	}
	if !a.Fits {
		return a.SlowestSpeed*b.SlowestLimit > b.SlowestSpeed*a.SlowestLimit
	}
	return more
}

// counts is the weight of a task on a GPU that another one joins: a gang runs as slowly elsewhere as here.
func counts(t, joins *Task) float64 {
	return weight(t) * float64(max(t.Width(), joins.Width())) / float64(joins.Width())
}

// before predicts the weighted speeds of the residents among themselves, under the
// best mechanism; s holds them since fit.
func (p *Planner) before(task *Task, gpu *GPU, s *scratch) (float64, error) {
	best := 0.0
	for _, m := range sharing(gpu) {
		if m == profile.Exclusive && len(gpu.Residents) > 1 {
			continue
		}
		speeds, err := p.config.Interference.Values(&s.gpu, m, s.set[:len(gpu.Residents)], s.speeds[:0])
		s.speeds = speeds
		if err != nil {
			return 0, fmt.Errorf("colloc: residents of GPU %q: %w", gpu.ID, err)
		}
		total := 0.0
		for i := range speeds {
			total += float64(counts(&gpu.Residents[i], task) * speeds[i])
		}
		best = max(best, total)
	}
	return best, nil
}

// repeated returns the first resident with the ID of another or of task.
func (g *GPU) repeated(task *Task) int {
	for i := range g.Residents {
		id := g.Residents[i].ID
		if id == task.ID || slices.ContainsFunc(g.Residents[:i], func(t Task) bool { return t.ID == id }) {
			return i
		}
	}
	return -1
}

// scratch is the working memory of one call of Fit, Score or the packer's
// model. It is pooled, so that a scheduler that asks thousands of times a
// second leaves no garbage.
type scratch struct {
	gpu       profile.GPUModel
	set       []*profile.Profile
	filled    []profile.Profile // members of set whose use was predicted
	speeds    []float64
	estimates []predict.Estimate // of set, where its intervals decide
	paces     []float64          // of set
	own       predict.Estimate   // pace of the task
	worth     float64            // of the mechanism that fit chose: what it was chosen by
	card      pace.Comparison
}

func (p *Planner) acquire() *scratch {
	s, ok := p.scratch.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	return s
}

// reset forgets what the scratch points to.
func (s *scratch) reset() {
	clear(s.set)
	clear(s.filled)
	s.gpu = profile.GPUModel{}
	s.set, s.filled, s.speeds, s.paces = s.set[:0], s.filled[:0], s.speeds[:0], s.paces[:0]
}

// release empties the scratch and gives it back.
func (p *Planner) release(s *scratch) {
	s.reset()
	p.scratch.Put(s)
}

// load puts the residents of a GPU and the task into the scratch, completed
// with predicted use where nobody observed it and with their paces. It returns the
// weakest source.
func (p *Planner) load(s *scratch, task *Task, gpu *GPU, by scale) predict.SourceKind {
	s.gpu = gpu.Model
	n := len(gpu.Residents) + 1
	if cap(s.filled) < n {
		s.filled = make([]profile.Profile, n)
	}
	s.filled = s.filled[:n]
	weakest := predict.Measured
	if !by.equal {
		s.card = p.config.Pace.Compare(&s.gpu, by.reference)
	}
	for i := range n {
		t := task
		if i < len(gpu.Residents) {
			t = &gpu.Residents[i]
		}
		s.paces = append(s.paces, p.paceValue(t, gpu, by, &s.card))
		member, kind := p.complete(&s.filled[i], t.on(&s.gpu), &s.gpu)
		s.set = append(s.set, member)
		weakest = min(weakest, kind)
	}
	s.own = p.pace(task, gpu, by)
	s.paces[n-1] = s.own.Value
	return weakest
}

// shareable reports whether several tasks may run on the GPU at all.
func shareable(g *GPU) bool { return firstShared(g) != 0 }

// firstShared is the first mechanism by which several tasks may run, 0 if none is.
func firstShared(g *GPU) profile.Mechanism {
	for _, m := range sharing(g) {
		if m != profile.Exclusive {
			return m
		}
	}
	return 0
}
