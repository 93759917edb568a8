package rollout

import (
	"cmp"
	"math"
	"slices"
)

// stop makes room for a job that waits by stopping jobs that come much later in the
// order of sizes, and starts it; false if that cannot be.
func (e *Engine) stop(i int32) bool {
	e.paces()
	j := &e.Jobs[i]
	best, most, class := []seat(nil), 0.0, 0
	for _, cards := range e.where(j) {
		if sum, c := e.free(i, cards); sum > 0 && (best == nil || c < class || c == class && sum > most) {
			best, most, class = slices.Clone(e.seats[:j.Width]), sum, c
		}
	}
	if best == nil {
		return false
	}
	for _, s := range best {
		for e.gain(i, s.card) == 0 {
			v := e.victim(i, &e.cards[s.card])
			if v < 0 { // it gained from company that a gang took along
				return false
			}
			e.vacate(v)
		}
	}
	on := make([]int32, len(best))
	for k, s := range best {
		if on[k] = s.card; e.gain(i, s.card) == 0 { // a gang that stopped for a later card ran here, too
			return false
		}
	}
	e.start(i, on)
	return true
}

// free leaves the cards of some where those of the lowest class and most work stop for a job, or none at all, in
// e.seats, and returns how much and the highest class; 0 if there are too few.
func (e *Engine) free(i int32, of []int32) (sum float64, class int) {
	j := &e.Jobs[i]
	e.seats = e.seats[:0]
	for _, g := range of {
		if x, class := e.sacrifice(i, g); x > 0 {
			e.seats = append(e.seats, seat{card: g, gain: x, rate: float64(class)})
		}
	}
	if len(e.seats) < int(j.Width) {
		return 0, 0
	}
	slices.SortStableFunc(e.seats, func(a, b seat) int { return cmp.Or(cmp.Compare(a.rate, b.rate), cmp.Compare(b.gain, a.gain)) })
	for _, s := range e.seats[:j.Width] {
		sum += s.gain
	}
	return sum, int(e.seats[j.Width-1].rate)
}

// sacrifice is the size of the smallest job that must stop on a card so that another can
// start there, and the highest class of those that must; a year's worth if none must, 0 if that does not help.
func (e *Engine) sacrifice(i, g int32) (size float64, class int) {
	if class = math.MinInt; e.gain(i, g) > 0 {
		return MaxLeft, class
	}
	had := e.cards[g]
	defer func() { e.cards[g] = had }()
	c := &e.cards[g]
	for {
		v := e.victim(i, c)
		if v < 0 {
			return 0, 0
		}
		class = max(class, e.Jobs[v].Class)
		e.remove(c, v)
		c.set = e.running(c, e.Sets.nodes[c.set].mech)
		if e.gain(i, g) > 0 {
			return e.Jobs[v].size(), class
		}
	}
}

// victim is the largest job of the lowest class on a card that may stop for another, or -1.
func (e *Engine) victim(i int32, c *state) int32 {
	best := int32(-1)
	j := &e.Jobs[i]
	for _, v := range c.jobs[:c.n] {
		o := &e.Jobs[v]
		least := float64(stopFactor*(j.size()/j.weight())) + float64(o.Restart)*One*float64(o.Width)
		yields := o.Yields && o.Class < j.Class || o.Stoppable && e.rule.Stop && o.Class == j.Class && o.Tier >= j.Tier && !o.Due && o.size()/o.weight() > least
		if yields && len(o.On) > 0 && !e.lives[v].stopped && (best < 0 || cmp.Or(cmp.Compare(e.Jobs[best].Class, o.Class), cmp.Compare(o.size(), e.Jobs[best].size())) > 0) {
			best = v
		}
	}
	return best
}

// stopFactor is how much larger a job must be to stop for another.
const stopFactor = 2

// vacate stops a job, which then waits.
func (e *Engine) vacate(v int32) {
	l := &e.lives[v]
	e.again.holds = false
	e.lift(v)
	l.status, l.end, l.stopped = waits, never, true
	e.spend(v, -1, e.purses)
	e.active = slices.DeleteFunc(e.active, func(o int32) bool { return o == v })
	at, _ := slices.BinarySearchFunc(e.queue, v, e.before)
	e.queue = slices.Insert(e.queue, at, v)
	e.out.Stops = append(e.out.Stops, v)
}

// settle forgets the stops of jobs that start again where they ran: they go on.
func (e *Engine) settle() {
	e.starts = slices.DeleteFunc(e.starts, func(s Start) bool {
		j, l := &e.Jobs[s.Job], &e.lives[s.Job]
		if !l.stopped || !slices.Equal(slices.Sorted(slices.Values(j.On)), slices.Sorted(slices.Values(s.On))) {
			return false
		}
		l.stopped, l.left = false, max(1, l.left-j.Restart*One)
		e.pace(s.Job)
		e.out.Stops = slices.DeleteFunc(e.out.Stops, func(v int32) bool { return v == s.Job })
		return true
	})
}
