package rollout

import (
	"cmp"
	"slices"
)

// place returns the cards where a job adds most, of some or, for a gang and if there
// are none, of all; nil if it must wait.
func (e *Engine) place(i int32, of []int32) []int32 {
	if e.Jobs[i].Width > 1 {
		return e.gang(i)
	}
	best, most := int32(-1), 0.0
	look := func(g int32) {
		if x := e.gain(i, g); x > most || x == most && best >= 0 && e.cards[best].n > 0 && e.cards[g].n == 0 {
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
// the gang is larger than all.
func (e *Engine) gang(i int32) []int32 {
	j := &e.Jobs[i]
	e.on = e.on[:0]
	best := 0.0
	for from := 0; from < len(e.cards); {
		to := from + 1
		for to < len(e.cards) && e.cards[to].class == e.cards[from].class && (j.Width > e.widest || e.cards[to].machine == e.cards[from].machine) {
			to++
		}
		if sum := e.choose(i, from, to); sum > best {
			best = sum
			e.on = e.on[:0]
			for _, s := range e.seats[:j.Width] {
				e.on = append(e.on, s.card)
			}
		}
		from = to
	}
	if best == 0 {
		return nil
	}
	return e.on
}

// choose leaves the best seats of a gang among a range of cards in e.seats, and
// returns what it adds there; 0 if there are too few.
func (e *Engine) choose(i int32, from, to int) float64 {
	e.seats = e.seats[:0]
	for g := from; g < to; g++ {
		if x := e.gain(i, int32(g)); x > 0 {
			e.seats = append(e.seats, seat{int32(g), x})
		}
	}
	width := int(e.Jobs[i].Width)
	if len(e.seats) < width {
		return 0
	}
	slices.SortStableFunc(e.seats, func(a, b seat) int { return cmp.Compare(b.gain, a.gain) })
	sum := 0.0
	for _, s := range e.seats[:width] {
		sum += s.gain
	}
	return sum
}

// gain is what a job adds to a card, 0 if it must not go there.
func (e *Engine) gain(i, g int32) float64 {
	j, c := &e.Jobs[i], &e.cards[g]
	if c.down || c.n >= e.rule.Most && c.n > 0 || c.room < j.Memory+e.Cards[g].Less[c.n+1] {
		return 0
	}
	alone := &e.Sets.nodes[e.Sets.With(c.class, j.Kind)]
	if !alone.ok {
		return 0
	}
	weight := e.lives[i].weight
	solo := float64(alone.total) * weight
	if c.n == 0 {
		return solo
	}
	with := &e.Sets.nodes[e.Sets.With(c.set, j.Kind)]
	if !with.ok {
		return 0
	}
	had := &e.Sets.nodes[c.set]
	gain := float64(with.total - had.total)
	if e.rule.Power > 0 {
		own := with.slot(j.Kind)
		gain = float64(float64(with.rates[own]) * weight)
		for k := range c.n {
			at := k
			if k >= own {
				at++
			}
			gain -= float64(float64(had.rates[k]-with.rates[at]) * e.lives[c.jobs[k]].weight)
		}
	}
	if gain <= 0 || gain < float64(e.rule.Least*solo) {
		return 0
	}
	return gain
}

// takes reports whether cards have room for a job, whatever it adds.
func (e *Engine) takes(on []int32, i int32) bool {
	for _, g := range on {
		c := &e.cards[g]
		if c.down || c.n > 0 && c.n >= e.rule.Most || c.room < e.Jobs[i].Memory+e.Cards[g].Less[c.n+1] || !e.Sets.nodes[e.Sets.With(c.set, e.Jobs[i].Kind)].ok {
			return false
		}
	}
	return e.lives[i].status == waits || e.lives[i].status == held
}

// slot is the place of the last task of a kind.
func (n *node) slot(kind int32) int32 {
	at := n.n - 1
	for n.kinds[at] != kind {
		at--
	}
	return at
}
