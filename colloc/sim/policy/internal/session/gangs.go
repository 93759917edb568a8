package session

import (
	"slices"

	"example.com/colloc/colloc/sim"
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

// disband forgets a gang that ended or waits again: it ran, and takes no seats.
func (g *gangs) disband(c *crew) {
	delete(g.of, c.task.ID)
	for _, id := range c.parts {
		delete(g.parts, id)
	}
}
