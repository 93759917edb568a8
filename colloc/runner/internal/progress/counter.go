package progress

import "example.com/colloc/profile"

// counter is one count of steps, which may begin anew, as with every epoch.
type counter struct {
	total    int64 // 0 if it tells none
	last     int64 // as told
	before   int64 // what was reached before it began anew
	restarts int
	seen     int64 // how far the main one was when this one moved
	stray    bool  // it moved though the main one had not: it counts no epochs
}

// take notes a step. One that is a little smaller comes late, as where several
// processes print, and counts for nothing.
func (c *counter) take(step int64) {
	const fewest = 4 // steps of a count that is not known to be at its end
	switch {
	case step >= c.last:
		c.last = step
	case step <= c.last/2 && (c.last >= fewest || c.last == c.total):
		c.before += c.last
		c.last = step
		c.restarts++
	}
}

func (c *counter) done() int64 { return c.before + c.last }

// counters are all counts of a run.
type counters struct {
	all      []counter
	main     int // the one that came farthest
	restarts int // how often that began anew or became another one
	epochs   int64
}

// maxCounters bounds the counts that are told apart by their totals. A program
// with more of them has a total of its own for each, and one count.
const maxCounters = 16

// take notes a step of the count with a total; 0 is one that tells none.
func (cs *counters) take(step, total int64) {
	at := -1
	for i := range cs.all {
		if cs.all[i].total == total {
			at = i
		}
	}
	switch {
	case at >= 0:
	case len(cs.all) < maxCounters:
		at = len(cs.all)
		cs.all = append(cs.all, counter{total: total})
	default:
		at = maxCounters - 1
		cs.all[at].total = total
	}
	c, main := &cs.all[at], cs.all[cs.main].done()
	if step > c.last {
		c.stray = c.stray || c.last > 0 && main == c.seen
		c.seen = main
	}
	before := c.restarts
	c.take(step)
	switch {
	case at == cs.main && c.restarts > before:
		cs.restarts++
	case c.done() > cs.all[cs.main].done():
		cs.main = at
		cs.restarts++
	}
}

// total is the number of all steps; missing if a count begins anew and nothing
// tells how often.
func (cs *counters) total() profile.Opt[int64] {
	main := &cs.all[cs.main]
	if main.total == 0 {
		return profile.Opt[int64]{}
	}
	if cs.epochs > 0 {
		return profile.Some(cs.epochs * main.total)
	}
	for i := range cs.all {
		c := &cs.all[i]
		behind := int64(main.restarts) - c.last
		if i != cs.main && !c.stray && c.restarts == 0 && c.total > 0 && behind >= -1 && behind <= 1 {
			return profile.Some(c.total * main.total)
		}
	}
	if main.restarts > 0 {
		return profile.Opt[int64]{}
	}
	return profile.Some(main.total)
}
