package rollout

import (
	"cmp"
	"math"
	"slices"
)

// Play plays a rule until all jobs that can start have finished.
func (e *Engine) Play(r *Rule) Outcome {
	e.reset(r)
	e.open()
	for len(e.active) > 0 && !e.lost {
		e.now = never
		for _, i := range e.active {
			e.now = min(e.now, e.lives[i].end)
		}
		if e.now == never {
			break
		}
		e.finish()
		e.fill()
	}
	if e.lost || len(e.queue) > 0 && (len(r.Hold) > 0 || r.Strict) { // some wait for ever that need not
		e.out.Sum, e.out.Last = never/4, never/4
	}
	e.out.Starts = e.starts
	return e.out
}

// reset goes back to now.
func (e *Engine) reset(r *Rule) {
	e.rule, e.now, e.out, e.starts, e.lost = r, 0, Outcome{}, e.starts[:0], false
	copy(e.cards, e.first)
	for i := range e.Jobs {
		j, l := &e.Jobs[i], &e.lives[i]
		*l = life{left: j.Left, on: j.On, weight: 1, end: never}
		if r.Power > 0 {
			l.weight = math.Pow(float64(max(1, j.Left>>20)), -r.Power)
		}
	}
	e.queue = append(e.queue[:0], e.waits...)
	slices.SortFunc(e.queue, func(a, b int32) int {
		x, y := &e.Jobs[a], &e.Jobs[b]
		by := 0
		switch r.Order {
		case Arrival:
		case Shortest:
			by = cmp.Compare(x.size(), y.size())
		case Longest:
			by = cmp.Compare(y.size(), x.size())
		}
		return cmp.Or(by, cmp.Compare(x.Turn, y.Turn))
	})
	e.active = append(e.active[:0], e.runs...)
	for _, i := range e.active {
		e.lives[i].status = runs
		e.pace(i)
	}
}

// open decides what starts now.
func (e *Engine) open() {
	for _, j := range e.rule.Hold {
		e.lives[j].status = held
	}
	for _, s := range e.rule.Force {
		if !e.takes(s.On, s.Job) {
			e.lost = true
			return
		}
		e.start(s.Job, s.On)
	}
	for _, i := range e.queue {
		if e.lives[i].status != waits {
			continue
		}
		if on := e.place(i, nil); on != nil {
			e.start(i, on)
		} else if e.rule.Strict {
			break
		}
	}
	for _, j := range e.rule.Hold {
		if e.lives[j].status == held {
			e.lives[j].status = waits
		}
	}
	e.compact()
}

// fill starts jobs on cards that became freer.
func (e *Engine) fill() {
	had := len(e.active)
	clear(e.refused)
	for _, i := range e.queue {
		j := &e.Jobs[i]
		if least, ok := e.refused[[2]int32{j.Kind, j.Width}]; ok && j.Memory >= least && e.rule.Power == 0 {
			continue
		}
		if on := e.place(i, e.freed); on != nil {
			e.start(i, on)
			continue
		}
		if e.rule.Strict {
			break
		}
		e.refused[[2]int32{j.Kind, j.Width}] = j.Memory
	}
	if len(e.active) > had {
		e.compact()
	}
}

// compact takes what has started out of the queue.
func (e *Engine) compact() {
	e.queue = slices.DeleteFunc(e.queue, func(i int32) bool { return e.lives[i].status >= runs })
}

// start puts a job that waits on cards.
func (e *Engine) start(i int32, on []int32) {
	j, l := &e.Jobs[i], &e.lives[i]
	l.on = slices.Clone(on)
	l.status, l.at = runs, e.now
	e.active = append(e.active, i)
	for _, g := range on {
		c := &e.cards[g]
		c.set = e.Sets.With(c.set, j.Kind)
		e.insert(c, i)
		c.room -= j.Memory
	}
	for _, g := range l.on {
		e.change(g)
	}
	e.out.Events++
	if e.now == 0 {
		e.starts = append(e.starts, Start{i, l.on})
	}
}

// change gives the jobs of a card whose set changed their rates.
func (e *Engine) change(g int32) {
	c := &e.cards[g]
	for k := range c.n {
		e.pace(c.jobs[k])
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
}

// finish takes the jobs that end now off their cards, which are noted in freed.
func (e *Engine) finish() {
	e.freed = e.freed[:0]
	n := 0
	for _, i := range e.active {
		l := &e.lives[i]
		if l.end > e.now {
			e.active[n] = i
			n++
			continue
		}
		l.status = over
		e.out.Events++
		e.out.Ended++
		e.out.Sum += min(e.now, 1<<42)
		e.out.Last = max(e.out.Last, e.now)
		for _, g := range l.on {
			c := &e.cards[g]
			at := slices.Index(c.jobs[:c.n], i)
			copy(c.jobs[at:c.n], c.jobs[at+1:c.n])
			c.n--
			c.room += e.Jobs[i].Memory
			if !slices.Contains(e.freed, g) {
				e.freed = append(e.freed, g)
			}
		}
	}
	e.active = e.active[:n]
	slices.Sort(e.freed)
	for _, g := range e.freed {
		c := &e.cards[g]
		c.set = e.running(c, e.Sets.nodes[c.set].mech)
		e.change(g)
	}
}

// Open returns what a rule starts now, and plays no further.
func (e *Engine) Open(r *Rule) []Start {
	e.reset(r)
	e.open()
	return e.starts
}
