package ahead

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/learn"
	"example.com/colloc/colloc/sim/policy/internal/place"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// Config is policy.Colloc; see there.
type Config struct {
	MaxSet      int
	Objective   profile.Opt[float64]
	Budget      profile.Opt[int]
	Headroom    profile.Opt[float64]
	MaxSlowdown float64
	NoLearning  bool
	NoStop      bool
	NoSeen      bool
	Without     online.Part
}

// New returns the scheduler of one run on the empty cluster that s shows.
func New(p Config, s *sim.State) (sim.Scheduler, error) {
	r := &scheduler{
		Config: p, state: s, known: learn.New(),
		tasks: map[string]*sim.TaskView{}, kinds: map[kind]string{}, like: map[string]*sim.TaskView{}, seen: map[int]time.Duration{},
	}
	o := online.SchedulerOptions{Objective: p.Objective, Budget: p.Budget, Without: p.Without}
	limits := packer.Limits{Headroom: p.Headroom, MaxSet: p.MaxSet}
	var gpus []packer.GPU
	for _, g := range s.GPUs() {
		total := min(g.Total, 1<<50) // so that sums do not overflow
		gpus = append(gpus, packer.GPU{ID: strconv.Itoa(g.Index), Type: &g.Model, Memory: total})
		o.Machines = append(o.Machines, g.Node)
		r.largest = max(r.largest, limits.Usable(total))
	}
	var err error
	r.online, err = online.NewScheduler(gpus, r, limits, &o)
	return r, err
}

type scheduler struct {
	Config
	online  *online.Scheduler
	state   *sim.State
	known   *learn.Known
	tasks   map[string]*sim.TaskView // that online holds, by ID
	kinds   map[kind]string
	like    map[string]*sim.TaskView // by kind
	largest profile.Bytes            // what a task may reserve
	hosts   []*sim.TaskView          // without GPUs, that wait for CPU and host memory
	blocked []*sim.TaskView          // with GPUs, that wait for them or a share, of which online knows nothing
	set     []*sim.TaskView
	seen    map[int]time.Duration // by task: of which start its memory was seen, plus one
}

// kind is what makes tasks equal to online.
type kind struct {
	name    string
	profile *profile.Profile
	gpus    int
}

var _ packer.Model = (*scheduler)(nil)

// Speeds implements [packer.Model] with what is known by now.
func (r *scheduler) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	g, err := strconv.Atoi(gpu.ID)
	if err != nil {
		return err
	}
	r.set = r.set[:0]
	for _, t := range set {
		v := r.tasks[t.ID]
		if t.Kind != "" {
			v = r.like[t.Kind]
		}
		r.set = append(r.set, v)
	}
	view := r.state.GPUs()[g]
	if err := r.known.Speeds(r.state, view, mech, r.set, dst); err != nil {
		return err
	}
	for i, v := range r.set {
		if len(v.Only) > 0 && !slices.Contains(v.Only, view.Model.Name) {
			dst[i] = 0
		}
	}
	return nil
}

// Observe implements [sim.Learner].
func (r *scheduler) Observe(o *sim.CoRun) error {
	if r.NoLearning {
		return nil
	}
	return r.known.Observe(r.state, o)
}

// Decide implements [sim.Scheduler].
func (r *scheduler) Decide(s *sim.State) error {
	if err := r.hear(s); err != nil {
		return err
	}
	r.hosts = slices.DeleteFunc(r.hosts, func(t *sim.TaskView) bool { return place.Host(s, t) })
	if r.known.Learn() {
		if err := r.online.SetModel(r); err != nil {
			return err
		}
	}
	for t := range s.Running() {
		if r.tasks[t.ID] == nil {
			continue
		}
		if left, ok := remaining(s, t).Get(); ok {
			if err := r.online.Report(t.ID, left); err != nil {
				return err
			}
		}
		if err := r.watch(s, t); err != nil {
			return err
		}
	}
	ds, err := r.online.Decide(context.Background(), s.Now())
	if err != nil {
		return err
	}
	for _, d := range ds {
		if err := r.start(s, &d); err != nil {
			return err
		}
		if t := r.tasks[d.Task]; t != nil && t.Running() {
			if err := r.watch(s, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// watch tells online of a task's memory once it is seen.
func (r *scheduler) watch(s *sim.State, t *sim.TaskView) error {
	if r.NoSeen || r.seen[t.Index] == t.Since+1 {
		return nil
	}
	peak, at, ok := s.Seen(t)
	if !ok {
		s.WakeAt(at)
		return nil
	}
	r.seen[t.Index] = t.Since + 1
	if peak <= 0 { // it uses none
		return nil
	}
	return r.online.Seen(t.ID, min(peak, r.largest))
}

// hear tells online what happened.
func (r *scheduler) hear(s *sim.State) error {
	for _, t := range s.Ended() {
		if err := r.forget(t); err != nil {
			return err
		}
	}
	for _, g := range s.Turned() {
		turn := r.online.Restore
		if !g.Up {
			turn = r.online.Fail
		}
		if err := turn(g.Index); err != nil {
			return err
		}
	}
	for _, t := range s.Arrived() { // those that come again died or were lost
		if err := r.forget(t); err != nil {
			return err
		}
		if t.HostOnly && !t.Running() && !t.Ended() {
			r.hosts = append(r.hosts, t)
		} else if err := r.submit(s, t); err != nil {
			return err
		}
	}
	if s.Freed() {
		blocked := r.blocked
		r.blocked = nil
		for _, t := range blocked {
			if err := r.submit(s, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget takes a task out.
func (r *scheduler) forget(t *sim.TaskView) error {
	if r.tasks[t.ID] == nil {
		return nil
	}
	delete(r.tasks, t.ID)
	return r.online.Finish(t.ID)
}

// submit hands in a task that waits.
func (r *scheduler) submit(s *sim.State, t *sim.TaskView) error {
	if t.Running() || t.Ended() || r.tasks[t.ID] != nil {
		return nil
	}
	memory := t.Likely
	if t.Deaths > 0 {
		memory = t.Reserve
	}
	p := packer.Task{ID: t.ID, Memory: min(memory, r.largest), GPUs: t.GPUs, MinSpeed: t.Floor, Weight: math.Ldexp(1, max(-9, min(9, t.Priority)))}
	if r.MaxSlowdown >= 1 {
		p.MinSpeed = max(p.MinSpeed, 1/r.MaxSlowdown)
	}
	p.Alone = t.Deaths > 1 || t.Deaths == 1 && t.Reserve <= t.Likely || memory > r.largest // no more could be reserved
	if t.Type != "" && len(t.Only) == 0 && t.Floor == 0 && !p.Alone {
		key := kind{t.Type, t.Profile, t.GPUs}
		p.Kind = r.kinds[key]
		if p.Kind == "" {
			p.Kind = t.Type + "/" + strconv.Itoa(len(r.kinds))
			r.kinds[key], r.like[p.Kind] = p.Kind, t
		}
	}
	r.tasks[t.ID] = t
	restart := profile.Some(max(t.Startup, time.Second))
	if t.Floor > 0 || t.HostOnly || r.NoStop {
		restart = profile.Opt[time.Duration]{}
	}
	return r.online.Submit(online.Job{Task: p, Left: remaining(s, t), Fixed: t.Deaths > 0, Restart: restart})
}

// remaining is how long a task would still run; missing where nobody knows: online learns
// better than by a guess for all of a type, as it sees how long each has run.
func remaining(s *sim.State, t *sim.TaskView) profile.Opt[time.Duration] {
	if t.Guessed {
		return profile.Opt[time.Duration]{}
	}
	return profile.Some(s.Remaining(t))
}

// start places a task or stops it. Where the host or a share of the GPU does not suffice,
// or it must be in one machine and no machine has as many GPUs, it waits for what becomes
// free.
func (r *scheduler) start(s *sim.State, d *online.Decision) error {
	t := r.tasks[d.Task]
	if !d.Placed {
		s.Stop(t)
		return nil
	}
	gpus := append([]int{d.GPU}, d.Gang...)
	full := func(gpu int) bool {
		g := s.GPUs()[gpu]
		return !s.Accepts(t, g) || t.OneNode && g.Node != s.GPUs()[d.GPU].Node
	}
	if slices.ContainsFunc(gpus, full) || !s.FitsHosts(t, gpus) {
		if err := r.forget(t); err != nil {
			return err
		}
		r.blocked = append(r.blocked, t)
		return nil
	}
	s.Place(sim.Launch{
		Task: t.Index, GPUs: gpus, Mechanism: d.Mechanism,
		Reserve: profile.Some[profile.Bytes](0), // online keeps the books
	})
	return nil
}
