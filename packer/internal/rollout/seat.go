package rollout

import "slices"

// start puts a job that waits on cards.
func (e *Engine) start(i int32, on []int32) {
	e.lives[i].status, e.lives[i].at, e.lives[i].began = runs, e.now, e.now
	e.spend(i, 1, e.purses)
	if e.opened {
		e.enter(i)
	} else {
		e.active = append(e.active, i)
	}
	e.seatOn(i, on)
	e.out.Events++
	if e.now == 0 {
		e.starts = append(e.starts, Start{i, e.lives[i].on})
	}
}

// seatOn gives a job that runs its cards.
func (e *Engine) seatOn(i int32, on []int32) {
	j, l := &e.Jobs[i], &e.lives[i]
	l.on = slices.Clone(on)
	for _, g := range on {
		c := &e.cards[g]
		c.set = e.Sets.With(c.set, j.Kind)
		e.insert(c, i)
		c.room -= j.Memory
	}
	e.change(l.on)
}

// lift takes a job that has not ended off its cards, to run on others.
func (e *Engine) lift(v int32) {
	l := &e.lives[v]
	for _, g := range l.on {
		c := &e.cards[g]
		e.remove(c, v)
		c.set = e.running(c, e.Sets.nodes[c.set].mech)
	}
	on := l.on
	l.left, l.at, l.on = min(MaxLeft, l.left-(e.now-l.at)*l.rate+e.Jobs[v].Restart*One), e.now, nil
	e.change(on)
}

// change gives the jobs of cards whose sets changed their rates.
func (e *Engine) change(cards []int32) {
	e.round++
	for _, g := range cards {
		c := &e.cards[g]
		for _, i := range c.jobs[:c.n] {
			if l := &e.lives[i]; l.round != e.round {
				l.round = e.round
				e.pace(i)
			}
		}
	}
}

// pace gives a job the rate of its slowest card, and says when it ends.
func (e *Engine) pace(i int32) {
	l := &e.lives[i]
	l.left -= (e.now - l.at) * l.rate
	l.at, l.rate, l.end = e.now, never, never
	for _, g := range l.on {
		c := &e.cards[g]
		k := 0
		for c.jobs[k] != i {
			k++
		}
		l.rate = min(l.rate, e.Sets.nodes[c.set].rates[k])
	}
	if l.rate > 0 {
		l.end = e.now + max(0, (l.left+l.rate-1)/l.rate)
	}
	if l.page > 0 {
		e.postpone(i)
	}
}

// running is the set of a card's jobs, which share by mech.
func (e *Engine) running(c *state, mech int) int32 {
	var kinds [MaxSet]int32
	for k := range c.n {
		kinds[k] = e.Jobs[c.jobs[k]].Kind
	}
	return e.Sets.Running(c.class, mech, kinds[:c.n])
}

// insert notes a member, in the order of kinds.
func (e *Engine) insert(c *state, i int32) {
	at := c.n
	for at > 0 && e.Jobs[c.jobs[at-1]].Kind > e.Jobs[i].Kind {
		c.jobs[at] = c.jobs[at-1]
		at--
	}
	c.jobs[at] = i
	c.n++
}

// remove takes a job off a card.
func (e *Engine) remove(c *state, i int32) {
	at := slices.Index(c.jobs[:c.n], i)
	copy(c.jobs[at:c.n], c.jobs[at+1:c.n])
	c.n--
	c.jobs[c.n] = 0 // cards that hold the same are equal
	c.room += e.Jobs[i].Memory
}

// paces gives those that run now their rates and ends, once.
func (e *Engine) paces() {
	if e.paced {
		return
	}
	e.paced = true
	for _, i := range e.active {
		e.pace(i)
	}
}

// compact takes what has started out of the queue.
func (e *Engine) compact() {
	e.queue = slices.DeleteFunc(e.queue, func(i int32) bool { return e.lives[i].status >= runs })
}
