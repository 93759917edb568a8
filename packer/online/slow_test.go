package online

import (
	"cmp"
	"math"
	"slices"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// slowSession is Session's twin: it keeps lists of tasks, remembers nothing and
// asks the model for everything, one set at a time.
type slowSession struct {
	p         packer.Problem
	threshold float64
	cards     []slowCard
	queue     []slowTask // by weight, then arrival
	arrivals  int
}

type slowCard struct {
	down  bool
	lead  int // the card that stands for the gang here, or none
	mech  profile.Mechanism
	tasks []slowTask
}

type slowTask struct {
	packer.Task
	arrival int
}

func newSlowSession(gpus []packer.GPU, model packer.Model, limits packer.Limits, threshold float64) *slowSession {
	s := &slowSession{p: packer.Problem{Model: model, Limits: limits}, threshold: threshold}
	for _, g := range gpus {
		s.add(g)
	}
	return s
}

func (s *slowSession) add(g packer.GPU) []Decision {
	c := slowCard{lead: none}
	for _, t := range g.Residents {
		c.tasks = append(c.tasks, s.next(t))
	}
	g.Residents = nil
	s.p.GPUs = append(s.p.GPUs, g)
	s.cards = append(s.cards, c)
	s.settleMechanism(len(s.cards) - 1)
	return s.drain(len(s.cards) - 1)
}

func (s *slowSession) next(t packer.Task) slowTask {
	s.arrivals++
	return slowTask{t, s.arrivals}
}

// speeds returns the speeds of tasks on GPU g and their weighted sum.
func (s *slowSession) speeds(g int, mech profile.Mechanism, tasks []slowTask) ([]float64, float64) {
	set := make([]*packer.Task, len(tasks))
	for i := range tasks {
		set[i] = &tasks[i].Task
	}
	dst := make([]float64, len(set))
	if len(set) > 0 {
		if err := s.p.Model.Speeds(set, &s.p.GPUs[g], mech, dst); err != nil {
			panic(err)
		}
	}
	sum := 0.0
	for i, t := range set {
		sum += float64(t.EffectiveWeight() * s.pace(t, g) * dst[i])
	}
	return dst, sum
}

// pace returns the pace of t on GPU g, 1 if nobody knows.
func (s *slowSession) pace(t *packer.Task, g int) float64 {
	if m, ok := s.p.Model.(packer.PaceModel); ok {
		return m.Pace(t, &s.p.GPUs[g])
	}
	return 1
}

// scale returns the highest pace of t, rounded up to a power of two.
func (s *slowSession) scale(t *packer.Task) float64 {
	scale := 1.0 / 4096
	for g := range s.p.GPUs {
		for s.pace(t, g) > scale {
			scale *= 2
		}
	}
	return scale
}

// settleMechanism chooses how the tasks on a GPU share, if they do not yet.
func (s *slowSession) settleMechanism(g int) {
	c := &s.cards[g]
	if len(c.tasks) < 2 {
		c.mech = profile.Exclusive
		return
	}
	if c.mech != profile.Exclusive {
		return
	}
	mechs := s.p.GPUs[g].Sharing()
	if len(mechs) == 0 {
		mechs = []profile.Mechanism{profile.TimeSlice}
	}
	best := -1.0
	for _, m := range mechs {
		if _, v := s.speeds(g, m, c.tasks); v > best {
			best, c.mech = v, m
		}
	}
}

// add returns how many steps of its weight t adds to GPU g, 0 if it must not
// go there, and by which mechanism.
func (s *slowSession) gain(g int, t packer.Task) (int64, profile.Mechanism) {
	c, gpu := &s.cards[g], &s.p.GPUs[g]
	if len(c.tasks) == 0 && len(s.emptyLike(g)) < t.Width() {
		return 0, 0
	}
	with := append(slices.Clone(c.tasks), slowTask{Task: t})
	used := 0.0
	for _, m := range with {
		used += float64(m.Memory)
		if m.Alone && len(with) > 1 || m.Width() != t.Width() {
			return 0, 0
		}
	}
	if c.down || c.lead != none || used > math.Floor(float64(gpu.Total())*(1-s.p.Limits.Headroom.Or(packer.DefaultHeadroom))) || len(with) > 1 && len(with) > s.p.Limits.LargestSet() {
		return 0, 0
	}
	mechs := gpu.Sharing()
	switch {
	case len(with) == 1:
		mechs = []profile.Mechanism{profile.Exclusive}
	case len(with) > 2 && !slices.Contains(mechs, c.mech):
		return 0, 0
	case len(with) > 2:
		mechs = []profile.Mechanism{c.mech}
	}
	_, before := s.speeds(g, c.mech, c.tasks)
	solo, _ := s.speeds(g, profile.Exclusive, with[len(c.tasks):])
	best, steps, how := 0.0, int64(0), profile.Exclusive
	for _, m := range mechs {
		speeds, total := s.speeds(g, m, with)
		ok := true
		for i, m := range with {
			ok = ok && speeds[i] > 0 && speeds[i] >= m.MinSpeed
		}
		if !ok || total <= best {
			continue
		}
		scale := s.scale(&t)
		n := int64(math.Round(min((total-before)/(t.EffectiveWeight()*scale), 1e9) * (1 << 20)))
		switch {
		case len(with) == 1:
			n = max(1, int64(math.Round(speeds[0]*s.pace(&t, g)/scale*(1<<20))))
		case total <= before || total < (1+s.p.Limits.MinGain)*before || n < int64(math.Round(s.threshold*solo[0]*s.pace(&t, g)/scale*(1<<20))):
			continue
		default:
			n = max(1, n)
		}
		best, steps, how = total, n, m
	}
	return steps, how
}

// best returns the GPU on which t adds most, or none.
func (s *slowSession) best(t packer.Task) int {
	gpu, steps := none, int64(0)
	for g := range s.cards {
		n, _ := s.gain(g, t)
		if n == 0 {
			continue
		}
		better := gpu == none || n > steps
		if !better && n == steps {
			a, b := len(s.cards[g].tasks) == 0, len(s.cards[gpu].tasks) == 0
			better = a && (!b || s.p.GPUs[g].Total() < s.p.GPUs[gpu].Total())
		}
		if better {
			gpu, steps = g, n
		}
	}
	return gpu
}

func (s *slowSession) start(t slowTask, g int) Decision {
	c := &s.cards[g]
	_, before := s.speeds(g, c.mech, c.tasks)
	if len(c.tasks) == 0 {
		for _, o := range s.emptyLike(g)[1:t.Width()] {
			s.cards[o].lead = g
		}
	}
	_, c.mech = s.gain(g, t.Task)
	c.tasks = append(c.tasks, t)
	speeds, after := s.speeds(g, c.mech, c.tasks)
	return Decision{Task: t.ID, Placed: true, GPU: g, Gang: s.gang(g), Mechanism: c.mech, Speed: speeds[len(speeds)-1], Gain: after - before}
}

// emptyLike returns the empty cards of the class of g, itself first.
func (s *slowSession) emptyLike(g int) []int {
	out := []int{g}
	for o := range s.cards {
		c := &s.cards[o]
		if o != g && !c.down && c.lead == none && len(c.tasks) == 0 && s.p.GPUs[g].Alike(&s.p.GPUs[o]) {
			out = append(out, o)
		}
	}
	return out
}

// gang returns the other cards of the gang on g.
func (s *slowSession) gang(g int) (out []int) {
	for o := range s.cards {
		if s.cards[o].lead == g {
			out = append(out, o)
		}
	}
	return out
}

func (s *slowSession) wait(t slowTask) {
	s.queue = append(s.queue, t)
	slices.SortFunc(s.queue, func(a, b slowTask) int {
		return cmp.Or(cmp.Compare(b.EffectiveWeight(), a.EffectiveWeight()), cmp.Compare(a.arrival, b.arrival))
	})
}

func (s *slowSession) arrive(t packer.Task) Decision {
	j := s.next(t)
	if g := s.best(t); g != none {
		return s.start(j, g)
	}
	s.wait(j)
	return Decision{Task: t.ID}
}

// drain starts waiting tasks on GPU g.
func (s *slowSession) drain(g int) (out []Decision) {
	for i := 0; i < len(s.queue); {
		if n, _ := s.gain(g, s.queue[i].Task); n == 0 {
			i++
			continue
		}
		out = append(out, s.start(s.queue[i], g))
		s.queue = slices.Delete(s.queue, i, i+1)
		i = 0
	}
	return out
}

func (s *slowSession) finish(id string) []Decision {
	if at := slices.IndexFunc(s.queue, func(t slowTask) bool { return t.ID == id }); at >= 0 {
		s.queue = slices.Delete(s.queue, at, at+1)
		return nil
	}
	for g := range s.cards {
		c := &s.cards[g]
		if at := slices.IndexFunc(c.tasks, func(t slowTask) bool { return t.ID == id }); at >= 0 {
			c.tasks = slices.Delete(c.tasks, at, at+1)
			s.settleMechanism(g)
			freed := []int{g}
			if len(c.tasks) == 0 {
				freed = append(freed, s.release(g)...)
			}
			return s.drainAll(freed)
		}
	}
	return nil
}

func (s *slowSession) fail(gpus []int) (out []Decision) {
	var victims []slowTask
	var freed, leads []int
	for _, g := range gpus {
		if s.cards[g].down {
			continue
		}
		s.cards[g].down = true
		if l := s.cards[g].lead; l != none {
			g = l
		}
		if !slices.Contains(leads, g) {
			leads = append(leads, g)
		}
	}
	for _, g := range leads {
		c := &s.cards[g]
		victims = append(victims, c.tasks...)
		c.tasks, c.mech = nil, profile.Exclusive
		freed = append(append(freed, g), s.release(g)...)
	}
	slices.SortFunc(victims, func(a, b slowTask) int {
		return cmp.Or(cmp.Compare(b.EffectiveWeight(), a.EffectiveWeight()), cmp.Compare(a.arrival, b.arrival))
	})
	for _, t := range victims {
		if to := s.best(t.Task); to != none {
			out = append(out, s.start(t, to))
		} else {
			s.wait(t)
			out = append(out, Decision{Task: t.ID})
		}
	}
	return append(out, s.drainAll(freed)...)
}

// release gives back the cards for which g stood.
func (s *slowSession) release(g int) []int {
	out := s.gang(g)
	for _, o := range out {
		s.cards[o].lead = none
	}
	return out
}

func (s *slowSession) drainAll(cards []int) (out []Decision) {
	for _, g := range cards {
		out = append(out, s.drain(g)...)
	}
	return out
}

func (s *slowSession) restore(g int) []Decision {
	s.cards[g].down = false
	return s.drain(g)
}

// reweigh sets weights and starts what may start.
func (s *slowSession) reweigh(weight func(*packer.Task) float64) []Decision {
	for g := range s.cards {
		for i := range s.cards[g].tasks {
			t := &s.cards[g].tasks[i].Task
			t.Weight = weight(t)
		}
	}
	queue := s.queue
	s.queue = nil
	for _, t := range queue {
		t.Weight = weight(&t.Task)
		s.wait(t)
	}
	return s.sweep()
}

// sweep starts what may start, in policy order each task where it adds most, and after
// each what its GPU then takes.
func (s *slowSession) sweep() (out []Decision) {
	for i := 0; i < len(s.queue); {
		t := s.queue[i]
		g := s.best(t.Task)
		if g == none {
			i++
			continue
		}
		s.queue = slices.Delete(s.queue, i, i+1)
		out = append(append(out, s.start(t, g)), s.drain(g)...)
		i = 0
	}
	return out
}

// change makes a GPU another one.
func (s *slowSession) change(g int, gpu packer.GPU) []Decision {
	s.p.GPUs[g] = gpu
	return s.drain(g)
}

// renew is a new model.
func (s *slowSession) renew(m packer.Model) []Decision {
	s.p.Model = m
	return s.sweep()
}

// adopt takes over the state of a session that decided in ways of its own.
func (s *slowSession) adopt(fast *Session) {
	s.queue, s.arrivals = nil, int(fast.arrivals)
	for g := range s.cards {
		s.cards[g].tasks, s.cards[g].mech, s.cards[g].lead = nil, fast.Mechanism(g), int(fast.cards[g].lead)
		for _, j := range fast.cards[g].set {
			s.cards[g].tasks = append(s.cards[g].tasks, slowTask{j.task, int(j.arrival)})
		}
	}
	for _, j := range fast.queue() {
		s.queue = append(s.queue, slowTask{j.task, int(j.arrival)})
	}
}
