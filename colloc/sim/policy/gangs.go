package policy

import (
	"slices"
	"strconv"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// gangs are the tasks of a session that need several GPUs.
type gangs struct {
	queue   []*sim.TaskView  // those that take no seats yet
	of      map[string]*crew // by task: those that do, or run
	parts   map[string]*crew // by part
	seating []*crew          // by machine: who takes seats there; last, who takes them anywhere
	seated  []*crew          // those that wait for CPU, host memory or shares only
}

// crew is a gang that takes seats: parts that packer places one by one.
type crew struct {
	task  *sim.TaskView
	parts []string
	seats []int // GPUs
	mech  profile.Mechanism
	node  int // the machine, or their number for one that takes seats anywhere
}

func (g *gangs) init(nodes int) {
	g.of, g.parts = map[string]*crew{}, map[string]*crew{}
	g.seating = make([]*crew, nodes+1)
}

// seat notes that a part has its GPU; the last one starts the gang.
func (g *gangs) seat(s *sim.State, c *crew, d online.Decision) {
	c.seats, c.mech = append(c.seats, d.GPU), d.Mechanism
	if len(c.seats) == c.task.GPUs && !g.start(s, c) {
		g.seated = append(g.seated, c)
	}
}

// start starts a gang that has its seats, if CPU, host memory and shares suffice.
func (g *gangs) start(s *sim.State, c *crew) bool {
	full := func(gpu int) bool { return !s.Accepts(c.task, s.GPUs()[gpu]) }
	if slices.ContainsFunc(c.seats, full) || !s.FitsHosts(c.task, c.seats) {
		return false
	}
	g.seating[c.node] = nil
	s.Place(sim.Launch{
		Task: c.task.Index, GPUs: c.seats, Mechanism: c.mech,
		Reserve: profile.Some[profile.Bytes](0), // packer keeps the books
	})
	return true
}

// lose forgets the seats on a GPU that failed; packer finds others.
func (g *gangs) lose(gpu int) {
	for _, c := range g.seating {
		if c != nil {
			c.seats = slices.DeleteFunc(c.seats, func(seat int) bool { return seat == gpu })
		}
	}
	g.seated = slices.DeleteFunc(g.seated, func(c *crew) bool { return len(c.seats) < c.task.GPUs })
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
func (g *gangs) residents(r *session, gpu *sim.GPUView) []packer.Task {
	var parts []packer.Task
	add := func(c *crew) {
		if i := slices.Index(c.seats, gpu.Index); i >= 0 {
			parts = append(parts, r.part(c, i))
		}
	}
	for _, t := range gpu.Set {
		if c := g.of[t.ID]; c != nil {
			add(c)
		}
	}
	for _, c := range g.seating {
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

// disband forgets a gang that ended or waits again.
func (g *gangs) disband(c *crew) {
	delete(g.of, c.task.ID)
	for _, id := range c.parts {
		delete(g.parts, id)
	}
	if g.seating[c.node] == c {
		g.seating[c.node] = nil
	}
}
