package rollout

import (
	"math"
	"slices"
)

// Play plays a rule until all jobs that can start have finished.
func (e *Engine) Play(r *Rule) Outcome {
	e.reset(r)
	e.paces()
	e.again.holds = false
	if e.open(); e.out.Void {
		return e.out
	}
	for e.enter(e.active...); ; e.fill() {
		if e.now = e.next(); e.now == never {
			break
		}
		e.finish()
	}
	for _, i := range e.queue {
		if e.fits(i) {
			e.out.Lost++
		}
	}
	e.out.Starts = e.starts
	return e.out
}

// reset goes back to now.
func (e *Engine) reset(r *Rule) {
	e.rule, e.now, e.starts, e.kept, e.barred = r, 0, e.starts[:0], false, false
	e.out = Outcome{Passed: e.out.Passed, Stops: e.out.Stops[:0]}
	clear(e.out.Passed)
	copy(e.cards, e.first)
	e.purses = append(e.purses[:0], e.Purses...)
	for i := range e.Jobs {
		j, l := &e.Jobs[i], &e.lives[i]
		*l = life{left: j.Left, on: j.On, weight: j.weight(), size: j.size(), end: never}
		if r.Order == Shortest && e.weighted {
			l.size /= l.weight
		}
		if r.Power > 0 {
			l.weight *= math.Pow(float64(max(1, j.Left>>20)), -r.Power)
		}
	}
	e.sort()
	e.queue = append(e.queue[:0], e.waits...)
	e.calendar = calendar{days: e.days[:0], ending: e.ending}
	e.active = append(e.active[:0], e.runs...)
	for _, i := range e.active {
		e.lives[i].status = runs
	}
	e.paced = false
}

// open decides what starts now.
func (e *Engine) open() {
	if e.out.Void = !e.goFirst(); e.out.Void {
		return
	}
	started := 0
	if e.rule.Anew {
		e.regroup()
	}
	e.retry()
	for k := 0; k < len(e.queue); k++ { // who stops comes later
		i := e.queue[k]
		if e.lives[i].status == waits && !e.affords(i) {
			e.barred = true
			continue
		}
		if e.lives[i].status == runs || e.seek(i) || (e.rule.Stop || e.Jobs[i].Class > e.lowest) && e.stop(i) {
			if len(e.Jobs[i].On) == 0 {
				started++
			}
			e.retry()
			continue
		}
		e.wait(i)
		if (e.Jobs[i].Width > 1 || len(e.out.Passed) == 0) && e.fits(i) && (!e.rule.Anew || e.rigid) {
			e.out.Passed[i] = e.passing(i) - started // how many had started before
		}
	}
	for i, n := range e.out.Passed {
		e.out.Passed[i] = max(started+n, e.later(i))
	}
	if e.rule.Move {
		e.moves()
	}
	e.compact()
	e.settle()
}

// seek starts a job if it finds a place. It does not look where one of its shape found none.
func (e *Engine) seek(i int32) bool {
	if e.hopeless(i) {
		return false
	}
	if on := e.place(i, e.among(i)); on != nil {
		e.start(i, on)
		e.stir(e.lives[i].on)
		return true
	}
	e.note(i)
	e.refuse(i)
	return false
}

// hopeless reports whether a job of its shape that needs no more was refused.
func (e *Engine) hopeless(i int32) bool {
	j := &e.Jobs[i]
	return j.Memory >= e.refused[e.shape[i]] && e.rule.Power == 0 && !e.weighted && !j.Due
}

// refuse notes that a job found no place.
func (e *Engine) refuse(i int32) { e.refused[e.shape[i]] = e.Jobs[i].Memory }

// retry forgets who was refused.
func (e *Engine) retry() {
	e.refused = append(e.refused[:0], e.possible...)
	for k := range e.refused {
		e.refused[k] = never
	}
}

// wait notes that a job does not start, and keeps cards for the first that is due.
func (e *Engine) wait(i int32) {
	if e.Jobs[i].Due && !e.kept {
		e.keep(i)
	}
}

// depth is how many jobs that could run are tried in vain on cards that became freer.
const depth = 64

// fill starts jobs on cards that became freer.
func (e *Engine) fill() {
	had, failed := len(e.days), 0
	e.retry()
	of := e.freed
	if e.barred { // what was free may be affordable now
		of, e.barred = nil, false
	}
	if e.kept { // what was kept may be free now
		of, e.kept = nil, false
		for g := range e.cards {
			e.cards[g].keeper = 0
		}
	}
	for _, i := range e.queue {
		if !e.affords(i) {
			e.barred = true
			continue
		}
		if e.hopeless(i) {
			continue
		}
		if on := e.place(i, of); on != nil {
			e.start(i, on)
			continue
		}
		if e.fits(i) {
			failed++
		}
		if e.wait(i); failed == depth {
			break
		}
		e.refuse(i)
	}
	if len(e.days) > had {
		e.compact()
	}
}

// finish takes the jobs that end now off their cards, which are noted in freed.
func (e *Engine) finish() {
	e.freed = e.freed[:0]
	for _, i := range e.pop() {
		l := &e.lives[i]
		l.status = over
		e.spend(i, -1, e.purses)
		e.out.Events++
		e.out.Ended++
		e.out.Sum += min(e.now, 1<<42)
		e.out.Cost += float64(e.Jobs[i].weight() * float64(e.now))
		e.out.Last = max(e.out.Last, e.now)
		for _, g := range l.on {
			c := &e.cards[g]
			e.remove(c, i)
			if !slices.Contains(e.freed, g) {
				e.freed = append(e.freed, g)
			}
		}
	}
	slices.Sort(e.freed)
	for _, g := range e.freed {
		c := &e.cards[g]
		c.set = e.running(c, e.Sets.nodes[c.set].mech)
	}
	e.change(e.freed)
}

// Span is when a job began and ended in the last play, in milliseconds; false if it never began.
func (e *Engine) Span(i int32) (began, ended int64, ok bool) {
	l := &e.lives[i]
	return l.began, l.end, l.status == over
}

// Open returns what a rule starts now, and plays no further.
func (e *Engine) Open(r *Rule) Outcome {
	e.reset(r)
	if e.recall(); !e.again.holds {
		e.paces()
	}
	e.open()
	e.leave()
	e.out.Starts = e.starts
	return e.out
}
