package harness

import (
	"cmp"
	"slices"
	"strconv"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Policy is a colloc.Planner as a policy of the simulator: each task, in the order in
// which they wait, goes to the GPU where [colloc.Planner.Best] wants it, and what is
// measured of sets teaches the planner. A gang takes idle GPUs, of one machine if one
// has enough. A task that ran out of memory, or that reserves more than headroom
// leaves of any GPU, runs alone from then on.
//
// Every run has a planner of its own that begins with what Planner knows, so that runs
// do not teach each other and Planner learns nothing.
type Policy struct {
	// Planner is whom to ask; nil is that of the zero Config.
	Planner *colloc.Planner
	// NoLearning leaves predictions as they are.
	NoLearning bool
	// Title is the name in reports; empty is "planner".
	Title string
}

var _ sim.Policy = Policy{}

// Name implements [sim.Policy].
func (p Policy) Name() string { return cmp.Or(p.Title, "planner") }

// Begin implements [sim.Policy].
func (p Policy) Begin(s *sim.State) (sim.Scheduler, error) {
	var c colloc.Config
	if p.Planner != nil {
		c = p.Planner.Config()
	}
	c.Shared = false
	own, err := colloc.New(c)
	if err != nil {
		return nil, err
	}
	d := &decider{planner: own, state: s, booked: map[int]colloc.Task{}}
	for _, g := range s.GPUs() {
		d.most = max(d.most, colloc.Usable(min(g.Total, largest), own.Config().Headroom.Or(0)))
	}
	if p.NoLearning {
		return struct{ sim.Scheduler }{d}, nil
	}
	return d, nil
}

// decider is the scheduler of one run.
type decider struct {
	planner *colloc.Planner
	state   *sim.State
	booked  map[int]colloc.Task // what runs, as it was placed, by index
	most    profile.Bytes       // that any GPU offers
	cards   []colloc.GPU
	index   []int // of cards
}

var _ sim.Learner = (*decider)(nil)

// Decide implements [sim.Scheduler].
func (d *decider) Decide(s *sim.State) error {
	for _, t := range s.Ended() {
		delete(d.booked, t.Index)
	}
	if len(s.Arrived()) == 0 && !s.Freed() && len(s.Turned()) == 0 {
		return nil
	}
	for t := range s.Waiting() {
		var err error
		switch {
		case t.HostOnly:
			d.host(s, t)
		case t.GPUs > 1:
			d.gang(s, t)
		default:
			err = d.single(s, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// host places a task without GPUs on the first machine with room.
func (d *decider) host(s *sim.State, t *sim.TaskView) {
	for i := range s.Nodes() {
		if s.FitsHost(t, &s.Nodes()[i], 0) {
			s.Place(sim.Launch{Task: t.Index, Node: i})
			return
		}
	}
}

// task describes a task for the planner.
func (d *decider) task(t *sim.TaskView) colloc.Task {
	return colloc.Task{
		ID: strconv.Itoa(t.Index), Profile: t.Profile, GPUs: t.GPUs, Reserved: max(1, min(t.Reserve, d.most)),
		Alone: t.Deaths > 0 || t.Reserve > d.most, MaxSlowdown: slowdown(t.Floor),
	}
}

// single places a task where the planner wants it.
func (d *decider) single(s *sim.State, t *sim.TaskView) error {
	task := d.task(t)
	d.cards, d.index = d.cards[:0], d.index[:0]
	for _, g := range s.GPUs() {
		if s.Accepts(t, g) && task.Reserved <= g.Free() && (!task.Alone || len(g.Set) == 0) {
			d.cards, d.index = append(d.cards, d.card(g)), append(d.index, g.Index)
		}
	}
	at, v, err := d.planner.Best(task, d.cards)
	if err != nil || at < 0 {
		return err
	}
	s.Place(sim.Launch{Task: t.Index, GPUs: []int{d.index[at]}, Mechanism: v.Mechanism, Reserve: profile.Some(task.Reserved)})
	d.booked[t.Index] = task
	return nil
}

// card is a GPU with the tasks that run there.
func (d *decider) card(g *sim.GPUView) colloc.GPU {
	c := cardOf(strconv.Itoa(g.Index), g.GPU, g.Total)
	for _, t := range g.Set {
		c.Residents = append(c.Residents, d.booked[t.Index])
	}
	return c
}

// gang places a gang on idle GPUs: of the first machine with enough, or, where the
// task allows it, of any.
func (d *decider) gang(s *sim.State, t *sim.TaskView) {
	task := d.task(t)
	var all []int
	for _, n := range s.Nodes() {
		var here []int
		for g := range s.Idle() {
			if g.Node == n.Index && s.Accepts(t, g) && task.Reserved <= g.Free() {
				here = append(here, g.Index)
			}
		}
		if len(here) >= t.GPUs && d.start(s, t, here[:t.GPUs], &task) {
			return
		}
		all = append(all, here...)
	}
	if !t.OneNode && len(all) >= t.GPUs {
		d.start(s, t, all[:t.GPUs], &task)
	}
}

func (d *decider) start(s *sim.State, t *sim.TaskView, gpus []int, task *colloc.Task) bool {
	if !s.FitsHosts(t, gpus) {
		return false
	}
	s.Place(sim.Launch{Task: t.Index, GPUs: slices.Clone(gpus), Reserve: profile.Some(task.Reserved)})
	d.booked[t.Index] = *task
	return true
}

// Observe implements [sim.Learner]: what the simulator measured of a set, as speeds
// over that alone, and of a death that there was one.
func (d *decider) Observe(o *sim.CoRun) error {
	seen := colloc.Observation{GPU: o.GPU.Model, Mechanism: o.Mechanism}
	if t := o.OutOfMemory; t != nil {
		if !described(t) {
			return nil
		}
		seen.Members = []colloc.Measurement{{Profile: t.Profile, OutOfMemory: true, Reserved: d.booked[t.Index].Reserved}}
		return d.planner.Observe(seen)
	}
	if len(o.Set) < 2 || o.Mechanism == profile.MIG {
		return nil
	}
	var alone [1]float64
	for i, t := range o.Set {
		if !described(t) {
			return nil
		}
		if err := d.state.Speeds(o.GPU, profile.Exclusive, o.Set[i:i+1], alone[:]); err != nil {
			return err
		}
		m := colloc.Measurement{Profile: t.Profile}
		if speed := o.Speeds[i] / alone[0]; speed > 0 && speed <= predict.MostSpeed {
			m.Speed = profile.Some(speed)
		}
		seen.Members = append(seen.Members, m)
	}
	return d.planner.Observe(seen)
}

// described reports whether a planner can learn of a task at all.
func described(t *sim.TaskView) bool { return t.Profile != nil && t.Profile.Spec.Validate() == nil }
