package policy

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/learn"
	"example.com/colloc/colloc/sim/policy/internal/place"
	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// Gavel is a policy in the manner of Gavel's max-sum throughput with space
// sharing (Narayanan et al., OSDI 2020, arXiv:2008.09213). In rounds of 6 minutes
// it chooses anew which tasks run, alone or in pairs, on which kind of GPU. It makes
// the sum of predicted speeds as large as it can, and moves tasks by checkpoint.
// Where the authors solve a linear program for shares of time and round it, this
// solves the integer problem of one round by [solve.Matching]. Of a long queue it
// considers twice as many tasks as there are seats: those of most weight, then those
// that came first.
//
// Gangs have GPUs of their own, and rounds like the rest: see seat.
type Gavel struct {
	// Objective is what the sum of speeds is weighed by.
	Objective Objective
	// Round is the time between two plans; 0 means 6 minutes.
	Round time.Duration
	// MoveCost is what a plan must gain to move a task, as a part of a round. 0 means
	// 1/6, a start-up of a minute in a round of six.
	MoveCost float64
	// NoLearning ignores what is measured of sets; without it measurements improve
	// what is predicted, in the same way as for [Colloc].
	NoLearning bool
}

// Objective is one of the policies that Gavel expresses. Where the authors' linear
// program gives each task a share of time, and its rounds run those that are most
// behind, here the speed of a task counts weight times in the plan of a round.
type Objective int

const (
	// MaxSum weighs all tasks alike.
	MaxSum Objective = iota
	// Makespan weighs a task by the work that is left of it, as predicted.
	Makespan
	// ShortestFirst weighs it by one over that.
	ShortestFirst
	// LeastAttained weighs it by one over the rounds that it had and one.
	LeastAttained
)

// String returns "sum", "makespan", "sjf" or "las".
func (o Objective) String() string {
	names := [...]string{"sum", "makespan", "sjf", "las"}
	if o < 0 || int(o) >= len(names) {
		return "unknown"
	}
	return names[o]
}

// leastWeight bounds how little the speed of a task counts, as a part of the most:
// nothing starves for rounding, and the plan stays exact to a hundredth of it.
const leastWeight = 1e-3

// weight of a task's speed, up to a factor; each step of priority doubles it.
func (p *Gavel) weight(s *sim.State, t *sim.TaskView) float64 {
	return math.Ldexp(p.objective(s, t), max(-maxSteps, min(maxSteps, t.Priority)))
}

// maxSteps bounds what priorities do to weights.
const maxSteps = 9

// objective is what the objective makes of a task.
func (p *Gavel) objective(s *sim.State, t *sim.TaskView) float64 {
	switch p.Objective {
	case Makespan:
		return max(1, s.Remaining(t).Seconds())
	case ShortestFirst:
		return 1 / max(1, s.Remaining(t).Seconds())
	case LeastAttained:
		return p.Round.Seconds() / (p.Round + s.Attained(t)).Seconds()
	default:
		return 1
	}
}

var _ sim.Policy = Gavel{}

// Name implements [sim.Policy].
func (p Gavel) Name() string {
	if p.Objective == MaxSum {
		return "gavel"
	}
	return "gavel-" + p.Objective.String()
}

// Begin implements [sim.Policy].
func (p Gavel) Begin(*sim.State) (sim.Scheduler, error) {
	if p.Round <= 0 {
		p.Round = 6 * time.Minute
	}
	if p.MoveCost == 0 {
		p.MoveCost = 1.0 / 6
	}
	return &gavel{Gavel: p, known: learn.New(), views: map[string]*sim.TaskView{}}, nil
}

type gavel struct {
	Gavel
	tasks   []packer.Task
	views   map[string]*sim.TaskView
	room    place.Room
	memory  place.Memory
	state   *sim.State
	known   *learn.Known
	set     []*sim.TaskView
	next    time.Duration
	queue   []ranked
	changed bool // since the last plan
}

// Decide implements [sim.Scheduler].
func (g *gavel) Decide(s *sim.State) error {
	g.changed = g.changed || s.Freed() || len(s.Arrived()) > 0
	if s.Now() < g.next {
		return nil
	}
	g.next = s.Now() + g.Round
	s.WakeAt(g.next)
	if !g.changed && (g.Objective != LeastAttained || !g.behind(s)) {
		return nil
	}
	g.changed = false
	g.state = s
	g.known.LearnNow()
	g.memory.See(s)
	for t := range s.Waiting() {
		if t.HostOnly {
			place.Host(s, t)
		}
	}
	g.seat(s)
	return g.plan(s)
}

// worth is what a GPU of a task's is worth, the first measure in seating gangs: a sum
// of speeds is largest if those come first that have most weight for each GPU, and the
// other objectives are about the task that is worst off, however many it needs.
func (g *gavel) worth(s *sim.State, t *sim.TaskView) float64 {
	w := g.weight(s, t)
	if g.Objective == MaxSum || g.Objective == ShortestFirst {
		w /= float64(max(1, t.GPUs))
	}
	if t.Running() {
		w *= 1 + g.MoveCost
	}
	return w
}

// seat chooses the gangs of a round and starts them. Gangs and single tasks, which
// count a GPU each here, take GPUs of a cluster that is imagined empty in the order of
// their worth, those that run first among equals. Gangs that find none stop; those that
// run and find some stay where they are; the others take GPUs from whom they must, the
// large first. What is left is for the single tasks.
func (g *gavel) seat(s *sim.State) {
	g.queue = g.queue[:0]
	gangs := false
	add := func(t *sim.TaskView) {
		if !t.HostOnly {
			g.queue = append(g.queue, ranked{t, g.worth(s, t)})
			gangs = gangs || t.GPUs > 1
		}
	}
	for t := range s.Running() {
		add(t)
	}
	for t := range s.Waiting() {
		add(t)
	}
	if !gangs {
		return
	}
	slices.SortStableFunc(g.queue, func(a, b ranked) int { return cmp.Compare(b.weight, a.weight) })
	g.room.Empty(s)
	var seated []*sim.TaskView
	for _, r := range g.queue {
		found := g.room.Left > 0 && len(g.room.Take(s, r.task, nil)) > 0
		switch {
		case r.task.GPUs > 1 && found:
			seated = append(seated, r.task)
		case r.task.GPUs > 1 && r.task.Running():
			s.Stop(r.task)
		}
	}
	g.start(s, seated)
}

// start makes gangs run.
func (g *gavel) start(s *sim.State, gangs []*sim.TaskView) {
	g.room.Empty(s)
	for _, t := range gangs {
		if t.Running() {
			g.room.Keep(s, t)
		}
	}
	slices.SortStableFunc(gangs, func(a, b *sim.TaskView) int { return cmp.Compare(b.GPUs, a.GPUs) })
	for _, t := range gangs {
		if t.Running() {
			continue
		}
		gpus := g.room.Take(s, t, nil)
		for _, i := range gpus {
			for _, other := range slices.Clone(s.GPUs()[i].Set) {
				s.Stop(other)
			}
		}
		if len(gpus) > 0 && s.FitsHosts(t, gpus) {
			s.Start(t, gpus...)
		}
	}
}

// behind reports whether somebody waits who had less than half of what somebody had
// who runs: services that are closer are not worth a move.
func (g *gavel) behind(s *sim.State) bool {
	most, least := 0.0, math.Inf(1)
	for t := range s.Waiting() {
		if !t.HostOnly {
			most = max(most, g.weight(s, t))
		}
	}
	for t := range s.Running() {
		if !t.HostOnly {
			least = min(least, g.weight(s, t))
		}
	}
	return most > 2*least
}

// plan packs the single tasks on the GPUs that gangs leave.
func (g *gavel) plan(s *sim.State) error {
	g.tasks = g.tasks[:0]
	var free []packer.GPU
	for _, v := range s.GPUs() {
		if v.Up && (len(v.Set) == 0 || v.Set[0].GPUs == 1) {
			free = append(free, packer.GPU{ID: strconv.Itoa(v.Index), Type: &v.Model, Memory: min(v.Total, 1<<50), Labels: []string{"node" + strconv.Itoa(v.Node)}})
		}
	}
	g.choose(s, 4*len(free))
	if len(free) == 0 || len(g.tasks) == 0 {
		return nil
	}
	problem := &packer.Problem{
		Tasks: g.tasks, GPUs: free, Model: g,
		Limits: packer.Limits{Headroom: profile.Some(0.0), MaxSet: 2},
	}
	solution, err := solve.Matching{Tol: 0.01}.Pack(context.Background(), problem)
	if err != nil {
		return err
	}
	return g.apply(s, free, solution)
}

// choose takes the tasks that run, and of those that wait the ones of most weight,
// first come first, as many as there may be.
func (g *gavel) choose(s *sim.State, most int) {
	clear(g.views)
	g.queue = g.queue[:0]
	top := 0.0
	for t := range s.Running() {
		if t.GPUs == 1 && !t.HostOnly {
			g.queue = append(g.queue, ranked{t, g.weight(s, t)})
		}
	}
	running := len(g.queue)
	for t := range s.Waiting() {
		if t.GPUs == 1 && !t.HostOnly {
			g.queue = append(g.queue, ranked{t, g.weight(s, t)})
		}
	}
	slices.SortStableFunc(g.queue[running:], func(a, b ranked) int { return cmp.Compare(b.weight, a.weight) })
	g.queue = g.queue[:min(len(g.queue), most)]
	for _, r := range g.queue {
		top = max(top, r.weight)
	}
	for _, r := range g.queue {
		t, weight := r.task, max(leastWeight, r.weight/top)
		p := packer.Task{ID: t.ID, Memory: g.memory.Need(s, t), Alone: t.Deaths > 0, On: t.Only[:min(1, len(t.Only))], Weight: weight}
		if t.Running() {
			p.Home, p.MoveCost = strconv.Itoa(t.On[0]), g.MoveCost
		}
		g.tasks, g.views[t.ID] = append(g.tasks, p), t
	}
}

// ranked is a task and what its speed counts.
type ranked struct {
	task   *sim.TaskView
	weight float64
}

// apply stops what moves and starts what is planned.
func (g *gavel) apply(s *sim.State, gpus []packer.GPU, solution *packer.Solution) error {
	planned := make(map[*sim.TaskView]string, len(g.tasks))
	for _, set := range solution.Sets {
		for _, i := range set.Tasks {
			planned[g.views[g.tasks[i].ID]] = gpus[set.GPU].ID
		}
	}
	for t := range s.Running() {
		if t.GPUs == 1 && planned[t] != strconv.Itoa(t.On[0]) {
			s.Stop(t)
		}
	}
	for _, set := range solution.Sets {
		at, err := strconv.Atoi(gpus[set.GPU].ID)
		if err != nil {
			return err
		}
		for _, i := range set.Tasks {
			if t := g.views[g.tasks[i].ID]; !t.Running() && s.Accepts(t, s.GPUs()[at]) {
				s.Place(sim.Launch{Task: t.Index, GPUs: []int{at}, Mechanism: set.Mechanism, Reserve: profile.Some[profile.Bytes](0)})
			}
		}
	}
	return nil
}

// Observe implements [sim.Learner].
func (g *gavel) Observe(o *sim.CoRun) error {
	if g.NoLearning || g.state == nil {
		return nil
	}
	return g.known.Observe(g.state, o)
}

// Speeds implements [packer.Model].
func (g *gavel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	g.set = g.set[:0]
	for _, t := range set {
		g.set = append(g.set, g.views[t.ID])
	}
	index, err := strconv.Atoi(gpu.ID)
	if err != nil {
		return err
	}
	return g.known.Speeds(g.state, g.state.GPUs()[index], mech, g.set, dst)
}
