package rollout

import (
	"cmp"
	"slices"
)

// moves lets jobs go on elsewhere: those that end last first, each once.
func (e *Engine) moves() {
	late := slices.Clone(e.active)
	slices.SortFunc(late, func(a, b int32) int {
		return cmp.Or(cmp.Compare(e.lives[b].end, e.lives[a].end), cmp.Compare(a, b))
	})
	for _, i := range late {
		if e.mayMove(i) && e.move(i) {
			e.moved(i)
		}
	}
}

// moved notes that a job that ran goes on elsewhere from now on.
func (e *Engine) moved(i int32) {
	e.lives[i].stopped = true
	e.out.Stops = append(e.out.Stops, i)
	e.starts = append(e.starts, Start{i, e.lives[i].on})
}

// goFirst sends the jobs of Rule.First where they should go, however little they add there,
// and reports whether all can.
func (e *Engine) goFirst() bool {
	rule := e.rule
	if len(rule.First) == 0 {
		return true
	}
	bare := *rule
	bare.Least = 0
	e.rule = &bare
	defer func() { e.rule = rule }()
	for _, s := range rule.First {
		if !e.send(s.Job, s.On) {
			return false
		}
	}
	e.compact()
	return true
}

// send lets a job start or go on elsewhere, and reports whether it can.
func (e *Engine) send(i int32, on []int32) bool {
	l := &e.lives[i]
	runs := l.status == runs
	if runs && (!e.mayMove(i) || slices.Equal(l.on, on)) || !runs && !e.affords(i) || e.gain(i, on[0]) == 0 {
		return false
	}
	if !runs {
		e.start(i, on)
		return true
	}
	e.lift(i)
	e.seatOn(i, on)
	e.out.Events++
	e.moved(i)
	return true
}

// passing is how many jobs of Rule.First start though they come after one that waits.
func (e *Engine) passing(i int32) int {
	n := 0
	for _, s := range e.rule.First {
		if len(e.Jobs[s.Job].On) == 0 && e.before(i, s.Job) < 0 {
			n++
		}
	}
	return n
}

// later is how many jobs of its class and tier start that came after a gang of which nobody knows how long it
// runs: then who goes before whom is a guess, and short ones that never cease to come would starve it.
func (e *Engine) later(i int32) int {
	n, j := 0, &e.Jobs[i]
	if j.Width == 1 || j.Rank == 0 {
		return 0
	}
	for _, s := range e.starts {
		if o := &e.Jobs[s.Job]; len(o.On) == 0 && o.Turn > j.Turn && o.Class == j.Class && o.Tier == j.Tier {
			n++
		}
	}
	return n
}

// mayMove reports whether a job that runs may go on elsewhere. A gang does not, nor one that
// starts now or stops for another.
func (e *Engine) mayMove(i int32) bool {
	return e.Jobs[i].Stoppable && e.Jobs[i].Width == 1 && len(e.Jobs[i].On) > 0 && !e.lives[i].stopped
}

// move lets a job go on where it adds most, if it ends earlier there, and reports whether it does.
func (e *Engine) move(i int32) bool {
	l := &e.lives[i]
	home, left, end := l.on, l.left-(e.now-l.at)*l.rate, l.end
	e.spared = e.spare(e.spared[:0], home)
	e.lift(i)
	on := e.place(i, nil)
	if on == nil || slices.ContainsFunc(home, func(g int32) bool { return slices.Contains(on, g) }) {
		on = nil
	} else {
		e.spared = e.spare(e.spared, on)
		e.seatOn(i, on)
		if l.end < end {
			e.out.Events++
			return true
		}
		on = l.on
		e.lift(i)
	}
	l.left, l.on = left, home
	for _, s := range e.spared {
		e.cards[s.card] = s.state
	}
	e.change(home)
	e.change(on)
	return false
}

// spare notes cards as they are.
func (e *Engine) spare(had []spared, cards []int32) []spared {
	for _, g := range cards {
		had = append(had, spared{g, e.cards[g]})
	}
	return had
}
