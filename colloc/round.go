package colloc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// round is one call of Plan: the question in the packer's words, and what is
// needed to put the answer back into the caller's.
type round struct {
	planner   *Planner                    // as it was when the round began, see frozen
	estimates map[string]predict.Estimate // peak memory by task ID, residents included
	speeds    *interference.Predictor     // as it was when the round began
	tasks     []Task
	gpus      []GPU
	demands   []Demand
	problem   packer.Problem
	uses      uses
	whole     map[string]bool // tasks that reserve a whole GPU
	paces     paces
	reference string // product on which paces are 1, if they differ
}

// frozen returns a Planner whose predictors of speeds and paces are those of now,
// whatever is observed later.
func (p *Planner) frozen() *Planner {
	f := &Planner{config: p.config, limits: p.limits}
	f.config.Interference, f.config.Pace = p.config.Interference.Clone(), p.config.Pace.Clone()
	return f
}

// newRound checks the input and predicts what each task needs. All faults are
// reported together.
func (p *Planner) newRound(tasks []Task, gpus []GPU, plan bool) (*round, error) {
	p = p.frozen()
	r := &round{planner: p, speeds: p.config.Interference, tasks: tasks, gpus: gpus, demands: make([]Demand, 0, len(tasks)), uses: make(uses), estimates: make(map[string]predict.Estimate), whole: make(map[string]bool)}
	r.paces = paces{of: make(map[*profile.GPUModel]int), tasks: make(map[paceKey]predict.Estimate)}
	r.problem = packer.Problem{Model: batched{model{p, r.speeds, r.uses, &r.paces}}, Limits: p.limits, Tasks: make([]packer.Task, 0, len(tasks))}
	errs := repeats(tasks, gpus, plan)
	labels := asked(tasks)
	for i := range tasks {
		t, d, err := r.prepare(&tasks[i], place{index: i, gpuIndex: -1})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.problem.Tasks, r.demands = append(r.problem.Tasks, t), append(r.demands, d)
	}
	for i := range gpus {
		g, err := r.prepareGPU(&gpus[i], i)
		g.Labels = gpus[i].carried()
		if plan { // other labels would only tell equal GPUs apart
			g.Labels = slices.DeleteFunc(g.Labels, func(l string) bool { return !labels[l] })
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.problem.GPUs = append(r.problem.GPUs, g)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r.predictUse()
	r.settlePaces(plan)
	return r, nil
}

// settlePaces predicts the paces of a round. In a plan they are relative to
// Config's reference, or to the kind of GPU on which the tasks are fastest: 1
// throughout where there is one kind.
func (r *round) settlePaces(plan bool) {
	ps := &r.paces
	ps.scale = r.planner.scale()
	if plan && ps.scale.reference == nil {
		if ps.scale.equal = len(ps.kinds) < 2; ps.scale.equal {
			return
		}
		for k := range ps.kinds {
			ps.kinds[k].total = r.total(&ps.kinds[k])
		}
		best := slices.MaxFunc(ps.kinds, func(a, b kind) int {
			return cmp.Or(cmp.Compare(a.total, b.total), cmp.Compare(b.name, a.name))
		})
		ps.scale.reference = &best.gpu.Model
		r.reference = best.gpu.Model.Canonical()
	}
	add := func(t *Task, k int) {
		key := paceKey{t.known(), k}
		if _, done := ps.tasks[key]; !done {
			ps.tasks[key] = r.planner.pace(t, ps.kinds[k].gpu, ps.scale)
		}
	}
	for k := range ps.kinds {
		for i := range r.tasks {
			add(&r.tasks[i], k)
		}
	}
	for g := range r.gpus {
		for i := range r.gpus[g].Residents {
			add(&r.gpus[g].Residents[i], ps.of[r.problem.GPUs[g].Type])
		}
	}
}

// total is how fast a kind is for the tasks of the round.
func (r *round) total(k *kind) float64 {
	sum := 0.0
	for i := range r.tasks {
		sum += math.Log(r.planner.pace(&r.tasks[i], k.gpu, scale{}).Value)
	}
	return math.Round(sum*1e9) / 1e9
}

// predictUse completes the tasks that nobody observed, for each kind of GPU,
// and notes what is known of each task's use.
func (r *round) predictUse() {
	for g := range r.problem.GPUs {
		gpu := &r.problem.GPUs[g]
		for i := range r.tasks {
			r.uses.add(r.planner, &r.tasks[i], gpu.Type)
		}
		for i := range r.gpus[g].Residents {
			r.uses.add(r.planner, &r.gpus[g].Residents[i], gpu.Type)
		}
	}
	for i := range r.tasks {
		if len(r.gpus) > 0 {
			_, r.demands[i].Use = r.planner.complete(new(profile.Profile), r.tasks[i].on(&r.gpus[0].Model), &r.gpus[0].Model)
		}
	}
}

// prepare converts one task for the packer and notes what it needs.
func (r *round) prepare(t *Task, at place) (packer.Task, Demand, error) {
	if err := t.validate(at); err != nil {
		return packer.Task{}, Demand{}, err
	}
	estimate, reserved, err := r.planner.memory(t, at)
	switch {
	case err == nil:
	case t.Reserved > 0:
		reserved = t.Reserved // as for Fit, a promise needs no prediction
	default:
		return packer.Task{}, Demand{}, err
	}
	d := Demand{Task: t.ID, Memory: rounded(estimate, 1), Reserved: reserved, Warnings: doubts(t, reserved)}
	if w := t.Width(); w > 1 {
		d.GPUs = w
	}
	r.whole[t.ID] = reserved == memory.Whole
	r.estimates[t.ID] = d.Memory
	return r.planner.packed(t, reserved), d, nil
}

func (r *round) prepareGPU(g *GPU, index int) (packer.GPU, error) {
	if err := g.validate(index); err != nil {
		return packer.GPU{}, err
	}
	out := packer.GPU{ID: g.ID, Type: r.paces.kindOf(g), Memory: g.Total(), Mechanisms: g.Mechanisms}
	closed := false
	for i := range g.Residents {
		t, _, err := r.prepare(&g.Residents[i], place{g.ID, true, index, i})
		if err != nil {
			return packer.GPU{}, err
		}
		if r.whole[t.ID] {
			t.Memory, t.Alone = r.planner.usable(g), r.planner.solitary(&g.Residents[i])
		}
		t.Home = ""
		out.Residents = append(out.Residents, t)
		closed = closed || t.GPUs > 1
	}
	for i := range out.Residents {
		if closed {
			worker(&out.Residents[i], g.ID)
		}
	}
	return out, nil
}

// workerMark stands between the ID of a gang and that of one of its GPUs: no ID
// holds it.
const workerMark = "\x00"

// worker makes of a resident on a GPU that a gang uses a task of its own, which
// nobody joins: the gang counts once over all its GPUs.
func worker(t *packer.Task, gpu string) {
	if t.GPUs > 1 {
		t.ID += workerMark + gpu
		t.Weight = cmp.Or(t.Weight, 1) / float64(t.GPUs)
	}
	t.GPUs, t.Alone = 1, true
}

// ownID is the ID of the task that a worker belongs to.
func ownID(id string) string {
	id, _, _ = strings.Cut(id, workerMark)
	return id
}

// pack solves the round, one class of tasks after the other.
func (r *round) pack(ctx context.Context) (*packer.Solution, error) {
	class := make(map[string]int, len(r.tasks))
	several := false
	for i := range r.tasks {
		class[r.tasks[i].ID] = r.tasks[i].Priority
		several = several || r.tasks[i].Priority != r.tasks[0].Priority
	}
	method := r.planner.config.Method
	if several {
		method = solve.Classes{Method: method, Class: func(t *packer.Task) int { return class[t.ID] }}
	}
	return method.Pack(ctx, &r.problem)
}

// plan puts a solution into the caller's words.
func (r *round) plan(ctx context.Context, s *packer.Solution) (*Plan, error) {
	exclusive, err := r.exclusive(ctx)
	if err != nil {
		return nil, fmt.Errorf("colloc: plan without sharing: %w", err)
	}
	plan := &Plan{
		Reference:  r.reference,
		Placements: []Placement{}, GPUs: len(r.gpus), Tasks: r.demands, Notes: []Note{},
		Throughput: s.Throughput, Exclusive: exclusive, Gap: s.Gap(), Method: s.Method, Alarms: r.alarms(),
	}
	if !math.IsInf(s.Bound, 0) {
		plan.Bound = profile.Some(s.Bound)
	}
	var waiting []int
	for i := range s.Reasons {
		if !s.Reasons[i].Placed {
			waiting = append(waiting, s.Reasons[i].Task)
		}
	}
	placements := make([]Placement, len(r.gpus))
	for i := range s.Sets {
		p, err := r.placement(&s.Sets[i])
		if err != nil {
			return nil, err
		}
		if len(p.Gang) == 0 {
			if p.Binding, err = r.binding(&s.Sets[i], waiting); err != nil {
				return nil, err
			}
		}
		r.spread(&p, &s.Sets[i], placements)
	}
	for i := range placements {
		if len(placements[i].Members) > 0 {
			plan.Placements = append(plan.Placements, placements[i])
		}
	}
	blind := r.blind()
	for _, reason := range s.Reasons {
		reason.Partner, reason.Slow = ownID(reason.Partner), ownID(reason.Slow)
		untold(blind, &reason)
		plan.Notes = append(plan.Notes, Note{Reason: reason, Reliefs: reliefs(&reason), Text: reason.String()})
	}
	return plan, nil
}

// spread notes the placement of every GPU of a set; they share its throughput.
func (r *round) spread(p *Placement, s *packer.Set, placements []Placement) {
	p.Throughput /= float64(1 + len(s.Gang))
	placements[s.GPU] = *p
	for _, g := range s.Gang {
		other := *p
		other.GPU, other.Usable, other.Members = r.gpus[g].ID, r.planner.usable(&r.gpus[g]), slices.Clone(p.Members)
		placements[g] = other
	}
}

func (r *round) placement(s *packer.Set) (Placement, error) {
	gpu := &r.problem.GPUs[s.GPU]
	p := Placement{GPU: gpu.ID, Mechanism: s.Mechanism, Throughput: s.Value, Usable: r.planner.usable(&r.gpus[s.GPU])}
	if len(s.Gang) > 0 {
		for _, g := range append([]int{s.GPU}, s.Gang...) {
			p.Gang = append(p.Gang, r.gpus[g].ID)
		}
	}
	members := make([]*packer.Task, 0, len(gpu.Residents)+len(s.Tasks))
	for i := range gpu.Residents {
		members = append(members, &gpu.Residents[i])
	}
	for _, t := range s.Tasks {
		members = append(members, &r.problem.Tasks[t])
	}
	profiles := make([]*profile.Profile, len(members))
	for i, m := range members {
		profiles[i] = r.uses.of(m.Profile, gpu.Type)
	}
	speeds, err := r.speeds.Speeds(gpu.Type, s.Mechanism, profiles, nil)
	if err != nil {
		return p, fmt.Errorf("colloc: GPU %q: %w", gpu.ID, err)
	}
	model{r.planner, r.speeds, r.uses, &r.paces}.lower(speeds, members, profiles, gpu, s.Mechanism)
	for i, m := range members {
		if !observed(m.Profile) {
			speeds[i].Source.Kind = predict.Prior
		}
		speed, id, reserved := rounded(speeds[i], 1e6), ownID(m.ID), m.Memory
		if r.whole[id] {
			reserved = max(reserved, p.Usable)
		}
		p.Members = append(p.Members, Member{
			Task: id, Resident: i < len(gpu.Residents), Speed: speed, Pace: r.memberPace(m, gpu), Memory: r.estimates[id], Reserved: reserved,
		})
		p.Reserved += reserved
	}
	return p, nil
}

// memberPace is the pace that a plan tells: none where all are 1.
func (r *round) memberPace(m *packer.Task, gpu *packer.GPU) predict.Estimate {
	if r.paces.scale.equal {
		return predict.Estimate{}
	}
	return rounded(r.paces.get(m, gpu), 1e6)
}

// exclusive is the throughput of the best plan in which no new task shares.
func (r *round) exclusive(ctx context.Context) (float64, error) {
	alone := r.problem
	alone.Limits.MaxSet = 1
	s, err := r.planner.config.Method.Pack(ctx, &alone)
	if s == nil {
		return 0, err
	}
	return s.Throughput, nil
}

// rounded keeps so many steps per unit of an estimate. What a plan prints must
// not depend on the last bit, which differs between processors.
func rounded(e predict.Estimate, steps float64) predict.Estimate {
	for _, x := range [...]*float64{&e.Value, &e.Lo, &e.Hi} {
		*x = math.Round(*x*steps) / steps
	}
	e.Source.Distance = math.Round(e.Source.Distance*1e3) / 1e3
	return e
}

// Plan decides which tasks share which GPU so that the weighted sum of speeds
// is as large as possible within memory, slowdown and sharing limits, and
// proves how far from the best the answer can be.
//
// A task of several GPUs gets all of them, of one product, or waits. A task that runs
// and may be moved or stopped is among tasks, with its Home. Where tasks differ in
// Priority, each class gets what is best for it beside the classes above, as though those
// below did not exist, and nothing is proven about the whole.
//
// No tasks or no GPUs give an empty plan. Input that cannot be understood is an
// error, one [*FaultError] for each fault: a duplicate or empty ID, a number out of
// range, a Spec that no task can have where a task carries no reservation. [Faults]
// lists them; with [Config].LeaveOutFaulty Plan goes on without what is at fault and
// lists it in LeftOut. When ctx ends early the best plan so far comes with ctx.Err().
//
// The cost is that of the packing method plus one prediction per pair of tasks
// and kind of GPU.
func (p *Planner) Plan(ctx context.Context, tasks []Task, gpus []GPU) (*Plan, error) {
	if err := p.ready(); err != nil {
		return nil, err
	}
	r, left, err := p.planRound(tasks, gpus)
	if err != nil {
		return nil, err
	}
	solution, err := r.pack(ctx)
	if solution == nil {
		return nil, fmt.Errorf("colloc: plan: %w", err)
	}
	if cancelled := err; cancelled != nil && !errors.Is(cancelled, ctx.Err()) {
		return nil, fmt.Errorf("colloc: plan: %w", cancelled)
	}
	if fault := r.problem.Check(solution); fault != nil {
		return nil, fmt.Errorf("colloc: plan: the packing method broke a limit: %w", fault)
	}
	plan, fault := r.plan(ctx, solution)
	if fault != nil {
		return nil, fault
	}
	plan.LeftOut = left
	return plan, err
}
