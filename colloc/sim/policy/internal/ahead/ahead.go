package ahead

import (
	"context"
	"slices"
	"strconv"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/sim"
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
	Closed      bool
	Mind        dispatch.Mind
	Tell        func(*sim.TaskView) colloc.Task
}

// New returns the scheduler of one run on the empty cluster that s shows.
func New(p Config, s *sim.State) (sim.Scheduler, error) {
	b := &body{
		mind: newMind(s, packer.Limits{Headroom: p.Headroom, MaxSet: p.MaxSet}, p.MaxSlowdown), Config: p, runs: map[string]uint64{}, seen: map[int]time.Duration{}, down: map[int]bool{}, shut: map[int]bool{},
	}
	var mind dispatch.Mind = b.mind
	if p.Mind != nil {
		mind = p.Mind
	}
	var err error
	b.brain, err = dispatch.New(mind, &dispatch.Options{
		Scheduler: online.SchedulerOptions{Objective: p.Objective, Budget: p.Budget, Without: p.Without}, AtOnce: true,
	})
	if err != nil {
		return nil, err
	}
	for _, g := range s.GPUs() {
		b.tell(dispatch.GPUAdded{GPU: colloc.GPU{ID: strconv.Itoa(g.Index), Model: g.Model, Memory: capacity(g)}, Machine: g.Node})
	}
	return b, nil
}

// body carries out in a simulation what a Dispatcher decides.
type body struct {
	*mind
	Config
	brain  *dispatch.Dispatcher
	events []dispatch.Event      // that it is told next
	runs   map[string]uint64     // by task that runs
	seen   map[int]time.Duration // by task: of which start its memory was seen, plus one
	down   map[int]bool          // GPUs
	hosts  []*sim.TaskView       // without GPUs, that wait for CPU and host memory
	held   []*sim.TaskView       // that wait for CPU, host memory or a share, of which the brain knows nothing
	shut   map[int]bool          // GPUs that nobody may join
}

func (b *body) tell(e dispatch.Event) { b.events = append(b.events, e) }

// Observe implements [sim.Learner].
func (b *body) Observe(o *sim.CoRun) error {
	if b.NoLearning {
		return nil
	}
	return b.known.Observe(b.state, o)
}

// Decide implements [sim.Scheduler].
func (b *body) Decide(s *sim.State) error {
	b.hear(s)
	b.hosts = slices.DeleteFunc(b.hosts, func(t *sim.TaskView) bool { return place.Host(s, t) })
	if b.known.Learn() && b.Mind == nil {
		b.tell(dispatch.Learned{})
	}
	for t := range s.Running() {
		run := b.runs[t.ID]
		if run == 0 {
			continue
		}
		if left := remaining(s, t); !left.IsZero() {
			b.tell(dispatch.Progress{Job: t.ID, Run: run, Left: left})
		}
		b.watch(s, t)
	}
	b.close(s)
	if err := b.flush(s); err != nil {
		return err
	}
	for _, t := range s.Ended() {
		delete(b.tasks, t.ID)
	}
	for again := true; again; { // others may have what one cannot take that has no room on its host
		actions, err := b.brain.Decide(context.Background(), s.Now())
		if err != nil {
			return err
		}
		again = false
		for i := range actions {
			again = !b.carry(s, &actions[i]) || again
		}
		if err := b.flush(s); err != nil {
			return err
		}
	}
	return nil
}

// flush tells the brain what is to be told.
func (b *body) flush(s *sim.State) error {
	events := b.events
	b.events = b.events[:0]
	if len(events) == 0 {
		return nil
	}
	return b.brain.Tell(s.Now(), events...)
}

// hear notes what happened.
func (b *body) hear(s *sim.State) {
	for _, t := range s.Ended() {
		how := dispatch.Done
		if t.Failed() {
			how = dispatch.Failed
		}
		b.over(t, how, profile.Opt[time.Duration]{})
	}
	for _, t := range s.Arrived() {
		switch {
		case t.Running() || t.Ended():
		case t.HostOnly:
			b.hosts = append(b.hosts, t)
		case b.tasks[t.ID] == nil:
			b.tasks[t.ID] = t
			b.tell(dispatch.Submitted{Job: b.job(s, t)})
		default: // it died or was lost
			b.over(t, dispatch.Lost, remaining(s, t))
			b.tell(dispatch.Described{Job: b.job(s, t)})
		}
	}
	for _, g := range s.Turned() {
		id := strconv.Itoa(g.Index)
		switch {
		case g.Up && b.down[g.Index]:
			b.tell(dispatch.GPURestored{GPU: id})
		case !g.Up && !b.down[g.Index]:
			b.tell(dispatch.GPUFailed{GPU: id})
		}
		b.down[g.Index] = !g.Up
	}
	if s.Freed() {
		for _, t := range b.held {
			if b.tasks[t.ID] == t {
				b.tell(dispatch.Released{Job: t.ID})
			}
		}
		b.held = b.held[:0]
	}
}

// close keeps others off GPUs whose set began earlier, where a set is one job of the cluster.
func (b *body) close(s *sim.State) {
	if !b.Closed {
		return
	}
	for i, g := range s.GPUs() {
		shut := g.Up && slices.ContainsFunc(g.Set, func(t *sim.TaskView) bool { return t.Since < s.Now() })
		if shut != b.shut[i] {
			b.shut[i] = shut
			b.tell(dispatch.Drained{GPU: strconv.Itoa(i), Off: !shut})
		}
	}
}

// over says how a task's run ended, and what is left of it.
func (b *body) over(t *sim.TaskView, how dispatch.How, left profile.Opt[time.Duration]) {
	if run := b.runs[t.ID]; run > 0 {
		b.tell(dispatch.Ended{Job: t.ID, Run: run, How: how, Left: left})
		delete(b.runs, t.ID)
	}
}

// job says what is known of a task. Of one that ran out of memory it says what it must have.
func (b *body) job(s *sim.State, t *sim.TaskView) dispatch.Job {
	j := dispatch.Job{
		Task:  colloc.Task{ID: t.ID, Reserved: max(1, b.memory(t)), GPUs: t.GPUs, Priority: t.Priority},
		Fixed: t.Deaths > 0, Left: remaining(s, t),
	}
	if b.Tell != nil {
		j.Task = b.Tell(t)
	}
	if t.Floor == 0 && !b.NoStop {
		j.Restart = profile.Some(max(t.Startup, time.Second))
	}
	return j
}

// remaining is how long a task would still run; missing where nobody knows: the brain learns
// better than by a guess for all of a type, as it sees how long each has run.
func remaining(s *sim.State, t *sim.TaskView) profile.Opt[time.Duration] {
	if t.Guessed {
		return profile.Opt[time.Duration]{}
	}
	return profile.Some(s.Remaining(t))
}

// watch tells of a task's memory once it is seen.
func (b *body) watch(s *sim.State, t *sim.TaskView) {
	if b.NoSeen || b.seen[t.Index] == t.Since+1 {
		return
	}
	peak, at, ok := s.Seen(t)
	if !ok {
		s.WakeAt(at)
		return
	}
	b.seen[t.Index] = t.Since + 1
	if peak > 0 {
		b.tell(dispatch.Seen{Job: t.ID, Run: b.runs[t.ID], Peak: min(peak, b.largest)})
	}
}

// carry does what the brain wants. Where the host or a share of the GPU does not suffice, or
// the task must be in one machine and no machine has as many GPUs, it is held until something
// becomes free; then carry reports false.
func (b *body) carry(s *sim.State, a *dispatch.Action) bool {
	t := b.tasks[a.Job]
	if a.Verb == dispatch.Stop {
		s.Stop(t)
		delete(b.runs, t.ID)
		return true
	}
	b.runs[t.ID] = a.Run
	gpus := make([]int, len(a.GPUs))
	for i, id := range a.GPUs {
		gpus[i] = index(id)
	}
	full := func(gpu int) bool {
		g := s.GPUs()[gpu]
		return !s.Accepts(t, g) || t.OneNode && g.Node != s.GPUs()[gpus[0]].Node
	}
	if slices.ContainsFunc(gpus, full) || !s.FitsHosts(t, gpus) {
		b.over(t, dispatch.Lost, profile.Opt[time.Duration]{})
		b.tell(dispatch.Held{Job: t.ID})
		b.held = append(b.held, t)
		return false
	}
	s.Place(sim.Launch{
		Task: t.Index, GPUs: gpus, Mechanism: a.Mechanism,
		Reserve: profile.Some[profile.Bytes](0), // the brain keeps the books
	})
	b.watch(s, t)
	return true
}
