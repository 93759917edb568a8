package rollout

import (
	"cmp"
	"math"
	"slices"
)

// place returns the cards where a job adds most, of some or, for a gang and if there
// are none, of all; nil if it must wait.
func (e *Engine) place(i int32, of []int32) []int32 {
	if e.Jobs[i].Width > 1 {
		return e.gang(i, of)
	}
	best, most := int32(-1), 0.0
	look := func(g int32) {
		if x := e.gain(i, g); x > most || x == most && best >= 0 && e.prefers(i, g, best) {
			best, most = g, x
		}
	}
	if of == nil {
		for g := range e.cards {
			look(int32(g))
		}
	}
	for _, g := range of {
		look(g)
	}
	if best < 0 {
		return nil
	}
	e.on = append(e.on[:0], best)
	return e.on
}

// gang returns the cards of one class where a gang adds most, in one machine unless
// the gang is larger than all that have cards for it; only where some of of are, if any.
func (e *Engine) gang(i int32, of []int32) []int32 {
	j := &e.Jobs[i]
	e.on = e.on[:0]
	best := 0.0
	for _, cards := range e.where(j) {
		if len(cards) < int(j.Width) || of != nil && !slices.ContainsFunc(of, func(g int32) bool { return slices.Contains(cards, g) }) {
			continue
		}
		if sum := e.choose(i, cards); sum > best {
			best = sum
			e.on = e.on[:0]
			for _, s := range e.seats[:j.Width] {
				e.on = append(e.on, s.card)
			}
		}
	}
	if best == 0 {
		return nil
	}
	return e.on
}

// keep keeps the cards of one class for a gang where it could start first, in one
// machine unless it is larger than all: nobody else starts there. It does nothing
// where it could never start, or others are kept for.
func (e *Engine) keep(i int32) {
	if !e.fits(i) {
		return
	}
	e.paces()
	j := &e.Jobs[i]
	e.on = e.on[:0]
	first := int64(never)
	for _, cards := range e.where(j) {
		if at := e.soonest(i, cards); at < first {
			first = at
			e.on = e.on[:0]
			for _, s := range e.seats[:j.Width] {
				e.on = append(e.on, s.card)
			}
		}
	}
	for _, g := range e.on {
		e.cards[g].keeper = i + 1
		e.kept = true
	}
}

// soonest leaves the cards of some where a job could start first in e.seats, and
// returns when.
func (e *Engine) soonest(i int32, of []int32) int64 {
	j := &e.Jobs[i]
	e.seats = e.seats[:0]
	for _, g := range of {
		c := &e.cards[g]
		if c.down || c.keeper != 0 || !e.suits(j, g) {
			continue
		}
		at := e.now
		if e.gain(i, g) == 0 {
			for _, k := range c.jobs[:c.n] {
				at = max(at, e.lives[k].end)
			}
		}
		e.seats = append(e.seats, seat{card: g, gain: float64(at)})
	}
	if len(e.seats) < int(j.Width) {
		return never
	}
	slices.SortStableFunc(e.seats, func(a, b seat) int { return cmp.Compare(a.gain, b.gain) })
	return int64(min(e.seats[j.Width-1].gain, 1<<62))
}

// choose leaves the best seats of a gang among some cards in e.seats, and returns what
// it adds there, at the rate of its slowest seat; 0 if there are too few or it adds too
// little.
func (e *Engine) choose(i int32, of []int32) float64 {
	e.seats = e.seats[:0]
	width := int(e.Jobs[i].Width)
	var x, rate float64
	for k, g := range of {
		if k == 0 || e.Jobs[i].Ban != nil || !e.alike(of[k-1], g) {
			x, rate = e.join(i, g)
		}
		if x > 0 {
			e.seats = append(e.seats, seat{g, x, rate})
		} else if len(e.seats)+len(of)-k-1 < width {
			return 0
		}
	}
	slices.SortStableFunc(e.seats, func(a, b seat) int { return cmp.Compare(b.gain, a.gain) })
	sum, slowest := 0.0, math.Inf(1)
	for _, s := range e.seats[:width] {
		slowest = min(slowest, s.rate)
	}
	for _, s := range e.seats[:width] {
		sum += s.gain - float64((s.rate-slowest)*e.lives[i].weight)
	}
	solo := float64(e.Sets.nodes[e.Sets.With(e.cards[of[0]].class, e.Jobs[i].Kind)].total) * e.lives[i].weight
	if sum < float64(e.rule.Least*solo)*float64(width) {
		return 0
	}
	return max(0, sum)
}

// alike reports whether cards hold the same jobs and as much room for one more.
func (e *Engine) alike(a, b int32) bool {
	return e.cards[a] == e.cards[b] && e.Cards[a].Less == e.Cards[b].Less
}

// prefers reports whether a job that adds as much to two cards takes the first: where it ran,
// if all begin anew, or the one that is empty.
func (e *Engine) prefers(i, a, b int32) bool {
	if on := e.Jobs[i].On; e.rule.Anew && len(on) > 0 && slices.Contains(on, a) != slices.Contains(on, b) {
		return slices.Contains(on, a)
	}
	return e.Jobs[i].Width == 1 && e.cards[a].n == 0 && e.cards[b].n > 0
}

// gain is what a job adds to a card, 0 if it must not go there.
func (e *Engine) gain(i, g int32) float64 {
	gain, _ := e.join(i, g)
	return gain
}

// join returns what a job adds to a card, 0 if it must not go there, and its rate there.
func (e *Engine) join(i, g int32) (gain, rate float64) {
	j, c := &e.Jobs[i], &e.cards[g]
	if c.down || c.keeper != 0 && c.keeper != i+1 || c.n >= e.rule.Most && c.n > 0 || c.room < j.Memory+e.Cards[g].Less[c.n+1] ||
		j.Ban.Has(g) {
		return 0, 0
	}
	e.out.Looks++
	alone := &e.Sets.nodes[e.Sets.With(c.class, j.Kind)]
	if !alone.ok {
		return 0, 0
	}
	solo := float64(alone.total) * e.lives[i].weight
	if c.n == 0 {
		return solo, float64(alone.total)
	}
	with := &e.Sets.nodes[e.Sets.With(c.set, j.Kind)]
	if !with.ok {
		return 0, 0
	}
	own := with.slot(j.Kind)
	rate = float64(with.rates[own])
	if e.rule.Power > 0 || e.weighted || e.gangs {
		gain = float64(rate*e.lives[i].weight) - e.loss(j, c, with, own)
	} else {
		gain = float64(with.total - e.Sets.nodes[c.set].total)
	}
	if gain <= 0 || e.MinGain > 0 && !e.better(i, c, with) || gain < float64(e.rule.Least*solo) {
		return 0, 0
	}
	return gain, rate
}

// loss is what those on a card lose by one more, with whom they are the set with, for each of
// its cards: a gang that loses here is as slow on all of its own.
func (e *Engine) loss(j *Job, c *state, with *node, own int32) float64 {
	sum := 0.0
	for k := range c.n {
		at := k
		if k >= own {
			at++
		}
		o, l := &e.Jobs[c.jobs[k]], &e.lives[c.jobs[k]]
		lost := (e.Sets.nodes[c.set].rates[k] - with.rates[at]) * int64(j.Width)
		if o.Width > 1 {
			lost = max(0, l.rate-with.rates[at]) * int64(max(o.Width, j.Width))
		}
		sum += float64(float64(lost) * l.weight)
	}
	return sum / float64(j.Width)
}

// better reports whether a set with one more is by MinGain better than its best member
// is alone.
func (e *Engine) better(i int32, c *state, with *node) bool {
	alone := func(j *Job) float64 {
		return float64(e.Sets.nodes[e.Sets.With(c.class, j.Kind)].total) * j.weight()
	}
	j := &e.Jobs[i]
	own := with.slot(j.Kind)
	sum, most := float64(with.rates[own])*j.weight(), alone(j)
	for k := range c.n {
		at := k
		if k >= own {
			at++
		}
		o := &e.Jobs[c.jobs[k]]
		sum += float64(float64(with.rates[at]) * o.weight())
		most = max(most, alone(o))
	}
	return sum >= float64((1+e.MinGain)*most)
}

// slot is the place of the last task of a kind.
func (n *node) slot(kind int32) int32 {
	at := n.n - 1
	for n.kinds[at] != kind {
		at--
	}
	return at
}
