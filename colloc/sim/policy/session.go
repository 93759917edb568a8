package policy

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// Session is colloc's own policy: a [online.Session] decides online where each
// task adds most to the throughput, within memory after headroom and speed limits;
// bursts are planned together; and what is measured of sets improves what is
// predicted, see learned in this package. Whenever twice as much was measured as
// the last time, or GPUs come or go, a new online.Session takes over.
//
// A gang takes one seat after the other, each on another GPU of one machine, and
// starts when it has all; one gang at a time does so on each machine. One that is
// larger than every machine takes seats anywhere, while no other gang does. A task
// that ran out of memory runs alone from then on, and so does one that reserves
// more than a GPU has after headroom. It starts when a GPU is empty: no GPU is
// drained for it, so that under constant load it may wait long.
type Session struct {
	// MaxSet is the largest set; 0 means 2.
	MaxSet int
	// Threshold is the least that a task must add to a GPU that runs others, see
	// [online.SessionOptions]; missing means [online.DefaultThreshold].
	Threshold profile.Opt[float64]
	// Headroom is the fraction of memory left free; missing means 0.10.
	Headroom profile.Opt[float64]
	// MaxSlowdown is the most that a task may be slowed down, at least 1; 0
	// means no limit.
	MaxSlowdown float64
	// ByLength lets tasks wait in the order of their predicted lengths, short ones
	// first; without it the queue is in the order of arrival.
	ByLength bool
	// NoLearning ignores what is measured.
	NoLearning bool
}

var (
	_ sim.Policy  = Session{}
	_ sim.Learner = (*session)(nil)
)

// Name implements [sim.Policy].
func (p Session) Name() string {
	name := "colloc"
	if p.MaxSet > 2 {
		name += "-" + strconv.Itoa(p.MaxSet)
	}
	if p.ByLength {
		name += "-short"
	}
	if p.NoLearning {
		name += "-fixed"
	}
	return name
}

// Begin implements [sim.Policy].
func (p Session) Begin(s *sim.State) (sim.Scheduler, error) {
	r := &session{
		Session: p, known: newLearned(), tasks: map[string]*sim.TaskView{},
		held: map[string]*sim.TaskView{}, kinds: map[kindOf]string{},
	}
	r.model = &sessionModel{session: r, state: s}
	for _, g := range s.GPUs() {
		r.largest = max(r.largest, capacity(g))
	}
	r.largest = profile.BytesOf(float64(r.largest) * (1 - p.Headroom.Or(packer.DefaultHeadroom)))
	r.gangs.init(len(s.Nodes()))
	return r, r.begin(s)
}

// begin makes a online.Session of what runs and waits, with what is known by
// now.
func (r *session) begin(s *sim.State) error {
	r.blocked = r.blocked[:0]
	clear(r.tasks)
	clear(r.held)
	clear(r.kinds)
	var gpus []packer.GPU
	for _, g := range s.GPUs() {
		p := packed(g)
		p.Residents = r.gangs.residents(r, g)
		for _, t := range g.Set {
			if t.GPUs == 1 {
				p.Residents = append(p.Residents, r.describe(t, t.ID))
			}
		}
		gpus = append(gpus, p)
	}
	limits := packer.Limits{Headroom: r.Headroom, MaxSet: maxSet(r.MaxSet)}
	var err error
	r.packer, err = online.NewSession(gpus, r.model, limits, &online.SessionOptions{Threshold: r.Threshold})
	if err != nil {
		return err
	}
	for _, g := range s.GPUs() {
		if !g.Up {
			if _, err := r.packer.Fail(g.Index); err != nil {
				return err
			}
		}
	}
	if err := r.seatRest(s); err != nil {
		return err
	}
	r.singles = r.singles[:0]
	for t := range s.Waiting() {
		if t.GPUs == 1 {
			r.singles = append(r.singles, r.describe(t, t.ID))
		}
	}
	return r.arrive(s)
}

// memory is a GPU's memory as packer counts it: limited, so that sums do not
// overflow.
func capacity(g *sim.GPUView) profile.Bytes { return min(g.Total, 1<<50) }

// packed describes a GPU to packer. Its labels name its machine.
func packed(g *sim.GPUView) packer.GPU {
	return packer.GPU{ID: strconv.Itoa(g.Index), Type: &g.Model, Memory: capacity(g), Labels: []string{nodeLabel(g.Node)}}
}

func nodeLabel(node int) string { return "node" + strconv.Itoa(node) }

type session struct {
	Session
	packer  *online.Session
	model   *sessionModel
	known   *learned
	tasks   map[string]*sim.TaskView // by Kind, or by ID where there is none
	held    map[string]*sim.TaskView // by ID: what packer holds
	kinds   map[kindOf]string
	largest profile.Bytes // what a task may reserve
	gangs   gangs
	singles []packer.Task
	hosts   []*sim.TaskView // without GPUs, that wait for CPU and host memory
	blocked []*sim.TaskView // with a GPU, that wait for them or a share; packer does not hold them
}

// kindOf is what makes tasks equal to packer.
type kindOf struct {
	name    string
	profile *profile.Profile
	reserve profile.Bytes
}

// Observe implements [sim.Learner].
func (r *session) Observe(o *sim.CoRun) error {
	if r.NoLearning {
		return nil
	}
	return r.known.observe(r.model.state, o)
}

// Decide implements [sim.Scheduler].
func (r *session) Decide(s *sim.State) error {
	turned := len(s.Turned()) > 0
	for _, over := range [][]*sim.TaskView{s.Ended(), s.Arrived()} { // those that come again died or were lost
		for _, t := range over {
			if err := r.forget(s, t, turned); err != nil {
				return err
			}
		}
	}
	r.singles = r.singles[:0]
	for _, t := range s.Arrived() {
		switch {
		case t.Running() || t.Ended():
		case t.HostOnly:
			r.hosts = append(r.hosts, t)
		case t.GPUs > 1:
			r.gangs.queue = append(r.gangs.queue, t)
		case !turned:
			r.singles = append(r.singles, r.describe(t, t.ID))
		}
	}
	r.hosts = slices.DeleteFunc(r.hosts, func(t *sim.TaskView) bool { return startHost(s, t) })
	if s.Freed() && !turned {
		for _, t := range r.blocked {
			r.singles = append(r.singles, r.describe(t, t.ID))
		}
		r.blocked = r.blocked[:0]
	}
	if turned { // GPUs failed, returned, or are new
		for _, g := range s.Turned() {
			r.gangs.lose(g.Index)
		}
		if err := r.begin(s); err != nil {
			return err
		}
		return r.seatGangs(s)
	}
	if err := r.arrive(s); err != nil {
		return err
	}
	if err := r.seatGangs(s); err != nil || !r.known.learn() {
		return err
	}
	return r.begin(s)
}

// arrive hands single tasks to packer: one, or a burst.
func (r *session) arrive(s *sim.State) error {
	if len(r.singles) == 1 {
		d, err := r.packer.Arrive(r.singles[0])
		if err != nil {
			return err
		}
		return r.start(s, []online.Decision{d})
	}
	if len(r.singles) == 0 {
		return nil
	}
	ds, err := r.packer.ArriveAll(context.Background(), r.singles)
	if err != nil {
		return err
	}
	return r.start(s, ds)
}

// describe makes a task for packer and remembers it.
func (r *session) describe(t *sim.TaskView, id string) packer.Task {
	p := packer.Task{ID: id, Memory: min(t.Reserve, r.largest)}
	p.Alone = t.Deaths > 0 || t.Reserve > r.largest
	if r.MaxSlowdown >= 1 {
		p.MinSpeed = 1 / r.MaxSlowdown
	}
	if r.ByLength {
		p.Weight = weigh(t)
	}
	r.held[id] = t
	if t.Type != "" && len(t.Only) == 0 && !p.Alone && t.GPUs == 1 {
		key := kindOf{t.Type, t.Profile, p.Memory}
		p.Kind = r.kinds[key]
		if p.Kind == "" {
			p.Kind = t.Type + "/" + strconv.Itoa(len(r.kinds))
			r.kinds[key] = p.Kind
			r.tasks[p.Kind] = t
		}
		return p
	}
	r.tasks[id] = t
	p.On = slices.Clone(t.Only[:min(1, len(t.Only))]) // of several products packer can ask for one only
	return p
}

// weigh falls with length, so that the queue is in that order, but by so little
// that the packing still looks at throughput. Weights that fall faster, such as
// 1/√length, made both mean completion times and throughput worse on Gavel's pairs.
func weigh(t *sim.TaskView) float64 {
	return 1 + 0.1/(1+t.Length.Hours())
}

// start places what packer decided; parts of gangs take a seat. What cannot start is
// forgotten at the end: packer uses ds again when it is asked.
func (r *session) start(s *sim.State, ds []online.Decision) error {
	first := len(r.blocked)
	for _, d := range ds {
		if !d.Placed {
			continue
		}
		if g := r.gangs.parts[d.Task]; g != nil {
			r.gangs.seat(s, g, d)
			continue
		}
		t := r.held[d.Task]
		if t == nil {
			return fmt.Errorf("packer placed %q, which is unknown", d.Task)
		}
		if !s.Accepts(t, s.GPUs()[d.GPU]) { // packer knows nothing of CPU and shares
			r.blocked = append(r.blocked, t)
			continue
		}
		s.Place(sim.Launch{
			Task: t.Index, GPUs: []int{d.GPU}, Mechanism: d.Mechanism,
			Reserve: profile.Some(min(t.Reserve, r.largest)),
		})
	}
	for _, t := range r.blocked[first:] {
		if err := r.forget(s, t, false); err != nil {
			return err
		}
	}
	return nil
}

// forget takes a task out of packer and starts what comes in its place, unless a
// new online.Session takes over anyway.
func (r *session) forget(s *sim.State, t *sim.TaskView, anew bool) error {
	ids := []string{t.ID}
	if c := r.gangs.of[t.ID]; c != nil {
		ids = c.parts
		r.gangs.disband(c)
	}
	if anew {
		return nil
	}
	for _, id := range ids {
		if r.held[id] == nil {
			continue
		}
		delete(r.held, id)
		delete(r.tasks, id)
		ds, err := r.packer.Finish(id)
		if err != nil {
			return err
		}
		if err := r.start(s, ds); err != nil {
			return err
		}
	}
	return nil
}

// sessionModel answers packer's questions with what is known by now.
type sessionModel struct {
	session *session
	state   *sim.State
	set     []*sim.TaskView
}

// Speeds implements [packer.Model].
func (m *sessionModel) Speeds(set []*packer.Task, gpu *packer.GPU, mech profile.Mechanism, dst []float64) error {
	m.set = m.set[:0]
	for _, t := range set {
		key := t.Kind
		if key == "" {
			key = t.ID
		}
		m.set = append(m.set, m.session.tasks[key])
	}
	g, err := strconv.Atoi(gpu.ID)
	if err != nil {
		return err
	}
	return m.session.known.speeds(m.state, m.state.GPUs()[g], mech, m.set, dst)
}
