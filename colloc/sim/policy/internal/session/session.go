package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy/internal/learn"
	"example.com/colloc/colloc/sim/policy/internal/place"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

var _ sim.Learner = (*session)(nil)

// Config is policy.Session; see there.
type Config struct {
	MaxSet      int
	Threshold   profile.Opt[float64]
	Headroom    profile.Opt[float64]
	MaxSlowdown float64
}

// New returns the scheduler of one run on the empty cluster that s shows.
func New(p Config, s *sim.State) (sim.Scheduler, error) {
	r := &session{
		Config: p, known: learn.New(), tasks: map[string]*sim.TaskView{},
		held: map[string]*sim.TaskView{}, kinds: map[kindOf]string{},
	}
	r.model = &sessionModel{known: r.known, tasks: r.tasks, state: s}
	limits := packer.Limits{Headroom: p.Headroom}
	for _, g := range s.GPUs() {
		r.largest = max(r.largest, limits.Usable(capacity(g)))
	}
	r.gangs.init(len(s.Nodes()))
	return r, r.begin(s)
}

// begin makes an online.Session of what runs and waits, with what is known by
// now.
func (r *session) begin(s *sim.State) error {
	r.blocked = r.blocked[:0]
	clear(r.tasks)
	clear(r.held)
	clear(r.kinds)
	var gpus []packer.GPU
	for _, g := range s.GPUs() {
		p := Card(g)
		p.Residents = r.residents(g)
		for _, t := range g.Set {
			if t.GPUs == 1 {
				p.Residents = append(p.Residents, r.describe(t, t.ID))
			}
		}
		gpus = append(gpus, p)
	}
	limits := packer.Limits{Headroom: r.Headroom, MaxSet: place.MaxSet(r.MaxSet)}
	var err error
	r.packer, err = online.NewSession(gpus, r.model, limits, &online.SessionOptions{Threshold: r.Threshold})
	if err != nil {
		return err
	}
	var down []int
	for _, g := range s.GPUs() {
		if !g.Up {
			down = append(down, g.Index)
		}
	}
	if _, err := r.packer.Fail(down...); err != nil {
		return err
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

type session struct {
	Config
	packer  *online.Session
	model   *sessionModel
	known   *learn.Known
	tasks   map[string]*sim.TaskView // the model's
	held    map[string]*sim.TaskView // by ID: what packer holds
	kinds   map[kindOf]string
	largest profile.Bytes // what a task may reserve
	gangs   gangs
	singles []packer.Task
	hosts   []*sim.TaskView // without GPUs, that wait for CPU and host memory
	blocked []*sim.TaskView // with a GPU, that wait for them or a share; packer does not hold them
}

// Observe implements [sim.Learner].
func (r *session) Observe(o *sim.CoRun) error {
	return r.known.Observe(r.model.state, o)
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
	r.hosts = slices.DeleteFunc(r.hosts, func(t *sim.TaskView) bool { return place.Host(s, t) })
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
	if err := r.seatGangs(s); err != nil || !r.known.Learn() {
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
	p.MinSpeed = max(p.MinSpeed, t.Floor)
	r.held[id] = t
	if t.Type != "" && len(t.Only) == 0 && !p.Alone && t.GPUs == 1 && t.Floor == 0 {
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

// seatGangs lets the next gangs take seats on machines where none does.
func (r *session) seatGangs(s *sim.State) error {
	r.gangs.seated = slices.DeleteFunc(r.gangs.seated, func(c *crew) bool { return r.gangs.start(s, c) })
	rest := r.gangs.queue[:0]
	for _, t := range r.gangs.queue {
		node := r.machine(s, t)
		if node < 0 {
			rest = append(rest, t)
			continue
		}
		c := &crew{task: t, node: node}
		r.gangs.of[t.ID], r.gangs.seating[node] = c, c
		for i := range t.GPUs {
			c.parts = append(c.parts, t.ID+"/"+strconv.Itoa(i))
			r.gangs.parts[c.parts[i]] = c
		}
		if err := r.seatParts(s, c, 0); err != nil {
			return err
		}
	}
	r.gangs.queue = rest
	return nil
}

// part describes one part of a gang: it must be on another GPU of the machine
// than the others.
func (r *session) part(c *crew, i int) packer.Task {
	p := r.describe(c.task, c.parts[i])
	if c.node < len(r.gangs.seating)-1 {
		p.On = append(p.On, nodeLabel(c.node))
	}
	p.Labels, p.Avoid = []string{c.task.ID}, []string{c.task.ID}
	return p
}

// seatParts hands the parts of a gang to packer.
func (r *session) seatParts(s *sim.State, c *crew, from int) error {
	for i := from; i < len(c.parts); i++ {
		d, err := r.packer.Arrive(r.part(c, i))
		if err != nil {
			return err
		}
		if err := r.start(s, []online.Decision{d}); err != nil {
			return err
		}
	}
	return nil
}

// seatRest hands the parts without seats to a new online.Session.
func (r *session) seatRest(s *sim.State) error {
	for _, c := range r.gangs.seating {
		if c != nil {
			if err := r.seatParts(s, c, len(c.seats)); err != nil {
				return err
			}
		}
	}
	return nil
}

// residents are the parts that have their seat on a GPU: the i-th part has the
// i-th seat.
func (r *session) residents(gpu *sim.GPUView) []packer.Task {
	var parts []packer.Task
	add := func(c *crew) {
		if i := slices.Index(c.seats, gpu.Index); i >= 0 {
			parts = append(parts, r.part(c, i))
		}
	}
	for _, t := range gpu.Set {
		if c := r.gangs.of[t.ID]; c != nil {
			add(c)
		}
	}
	for _, c := range r.gangs.seating {
		if c != nil {
			add(c)
		}
	}
	return parts
}

// machine is the one with the most idle GPUs among those that are large enough
// and where no gang takes seats; their number if the gang is larger than all and
// may take seats anywhere; -1 if it must wait.
func (r *session) machine(s *sim.State, t *sim.TaskView) int {
	best, most := -1, -1
	nodes := s.Nodes()
	anywhere := len(nodes)
	if r.gangs.seating[anywhere] != nil {
		return -1
	}
	if !t.OneNode && !slices.ContainsFunc(nodes, func(n sim.NodeView) bool { return n.Count >= t.GPUs }) {
		if slices.ContainsFunc(r.gangs.seating, func(c *crew) bool { return c != nil }) {
			return -1
		}
		return anywhere
	}
	for i := range nodes {
		if nodes[i].Count < t.GPUs || r.gangs.seating[i] != nil {
			continue
		}
		idle := 0
		for g := nodes[i].First; g < nodes[i].First+nodes[i].Count; g++ {
			if v := s.GPUs()[g]; v.Up && len(v.Set) == 0 {
				idle++
			}
		}
		if idle > most {
			best, most = i, idle
		}
	}
	return best
}
