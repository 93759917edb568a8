package colloc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"example.com/colloc/packer"
	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// round is one call of Plan: the question in the packer's words, and what is
// needed to put the answer back into the caller's.
type round struct {
	planner   *Planner
	estimates map[string]predict.Estimate // peak memory by task ID, residents included
	speeds    *interference.Predictor     // as it was when the round began
	tasks     []Task
	gpus      []GPU
	demands   []Demand
	problem   packer.Problem
	uses      uses
	whole     map[string]bool // tasks that reserve a whole GPU
}

// newRound checks the input and predicts what each task needs. All faults are
// reported together.
func (p *Planner) newRound(tasks []Task, gpus []GPU) (*round, error) {
	r := &round{planner: p, speeds: p.config.Interference.Clone(), tasks: tasks, gpus: gpus, uses: make(uses), estimates: make(map[string]predict.Estimate), whole: make(map[string]bool)}
	r.problem = packer.Problem{Model: model{p, r.speeds, r.uses}, Limits: p.limits, Tasks: make([]packer.Task, 0, len(tasks))}
	var errs []error
	for i := range tasks {
		t, d, err := r.prepare(&tasks[i])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.problem.Tasks, r.demands = append(r.problem.Tasks, t), append(r.demands, d)
	}
	for i := range gpus {
		g, err := r.prepareGPU(&gpus[i])
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
	return r, nil
}

// predictUse completes the tasks that nobody observed, for each kind of GPU,
// and notes what is known of each task's use.
func (r *round) predictUse() {
	for g := range r.problem.GPUs {
		gpu := &r.problem.GPUs[g]
		for i := range r.problem.Tasks {
			r.uses.add(r.planner, r.problem.Tasks[i].Profile, gpu.Type)
		}
		for i := range gpu.Residents {
			r.uses.add(r.planner, gpu.Residents[i].Profile, gpu.Type)
		}
	}
	for i := range r.tasks {
		if len(r.gpus) > 0 {
			_, r.demands[i].Use = r.planner.complete(new(profile.Profile), r.tasks[i].Profile, &r.gpus[0].Model)
		}
	}
}

// prepare converts one task for the packer and notes what it needs.
func (r *round) prepare(t *Task) (packer.Task, Demand, error) {
	if err := t.Validate(); err != nil {
		return packer.Task{}, Demand{}, err
	}
	estimate, reserved, err := r.planner.memory(t)
	switch {
	case err == nil:
	case t.Reserved > 0:
		reserved = t.Reserved // as for Fit, a promise needs no prediction
	default:
		return packer.Task{}, Demand{}, err
	}
	d := Demand{Task: t.ID, Memory: rounded(estimate, 1), Reserved: reserved, Warnings: doubts(t, reserved)}
	r.whole[t.ID] = reserved == memory.Whole
	r.estimates[t.ID] = d.Memory
	return r.planner.packed(t, reserved), d, nil
}

func (r *round) prepareGPU(g *GPU) (packer.GPU, error) {
	if err := g.Validate(); err != nil {
		return packer.GPU{}, err
	}
	out := packer.GPU{ID: g.ID, Type: &g.Model, Memory: g.Total(), Mechanisms: g.Mechanisms}
	for i := range g.Residents {
		t, _, err := r.prepare(&g.Residents[i])
		if err != nil {
			return packer.GPU{}, fmt.Errorf("colloc: GPU %q: %w", g.ID, err)
		}
		if r.whole[t.ID] {
			t.Memory, t.Alone = r.planner.usable(g), g.Residents[i].Alone
		}
		out.Residents = append(out.Residents, t)
	}
	return out, nil
}

// plan puts a solution into the caller's words.
func (r *round) plan(ctx context.Context, s *packer.Solution) (*Plan, error) {
	exclusive, err := r.exclusive(ctx)
	if err != nil {
		return nil, fmt.Errorf("colloc: plan without sharing: %w", err)
	}
	plan := &Plan{
		Placements: []Placement{}, GPUs: len(r.gpus), Tasks: r.demands, Notes: []Note{},
		Throughput: s.Throughput, Exclusive: exclusive, Gap: s.Gap(), Method: s.Method,
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
	for i := range s.Sets {
		p, err := r.placement(&s.Sets[i])
		if err != nil {
			return nil, err
		}
		if err := r.weigh(&p, &s.Sets[i], waiting); err != nil {
			return nil, err
		}
		plan.Placements = append(plan.Placements, p)
	}
	for _, reason := range s.Reasons {
		plan.Notes = append(plan.Notes, Note{Reason: reason, Reliefs: reliefs(&reason), Text: reason.String()})
	}
	return plan, nil
}

func (r *round) placement(s *packer.Set) (Placement, error) {
	gpu := &r.problem.GPUs[s.GPU]
	p := Placement{GPU: gpu.ID, Mechanism: s.Mechanism, Throughput: s.Value, Usable: r.planner.usable(&r.gpus[s.GPU])}
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
	for i, m := range members {
		if !observed(m.Profile) {
			speeds[i].Source.Kind = predict.Prior
		}
		speed := rounded(speeds[i], 1e6)
		reserved := m.Memory
		if r.whole[m.ID] {
			reserved = max(reserved, p.Usable)
		}
		p.Members = append(p.Members, Member{
			Task: m.ID, Resident: i < len(gpu.Residents), Speed: speed, Memory: r.estimates[m.ID], Reserved: reserved,
		})
		p.Reserved += reserved
	}
	return p, nil
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
// No tasks or no GPUs give an empty plan. Input that cannot be understood is an
// error: a duplicate or empty ID, a number out of range, a task of which
// nothing is known and that carries no reservation. When ctx ends early the best plan so far comes with
// ctx.Err().
//
// The cost is that of the packing method plus one prediction per pair of tasks
// and kind of GPU.
func (p *Planner) Plan(ctx context.Context, tasks []Task, gpus []GPU) (*Plan, error) {
	r, err := p.newRound(tasks, gpus)
	if err != nil {
		return nil, err
	}
	solution, err := p.config.Method.Pack(ctx, &r.problem)
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
	return plan, err
}
