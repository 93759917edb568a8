package runner

import (
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// openWindow begins to measure a card's tasks.
func (r *Runner) openWindow(c *card, now time.Time) {
	c.window = window{since: now, seen: now, marks: make(map[*entry]mark, len(c.entries))}
	for _, e := range c.entries {
		c.window.marks[e] = mark{step: e.Step, restarts: e.Restarts}
	}
}

// ripens reports whether a window tells nothing yet and will before long: an epoch
// ended in it, and they are short.
func (r *Runner) ripens(c *card, now time.Time) bool {
	if now.Sub(c.window.since) >= 2*fewestEpochs*r.config.Window {
		return false
	}
	return slices.ContainsFunc(c.entries, func(e *entry) bool {
		n := e.Restarts - c.window.marks[e].restarts
		return n > 0 && n < fewestEpochs && e.cycle > 0 && e.cycle <= r.config.Window
	})
}

// sawBusy adds a share of time with kernels of the task.
func (w *window) sawBusy(e *entry, share float64) {
	if m, ok := w.marks[e]; ok {
		m.busy += share
		m.looks++
		w.marks[e] = m
	}
}

// closeWindow ends the measurement, learns from it if it was long enough, and
// begins none: the next look at the card does.
func (r *Runner) closeWindow(c *card) {
	w := c.window
	c.window = window{}
	lasted := w.seen.Sub(w.since)
	if len(c.entries) == 1 && len(c.entries[0].GPUs) > 0 {
		return // what it does rests on other cards too
	}
	if w.since.IsZero() || lasted < r.config.Window || len(w.marks) != len(c.entries) {
		return
	}
	seen := make([]profile.Opt[rate], len(c.entries))
	for i, e := range c.entries {
		seen[i] = w.marks[e].rate(e, lasted)
	}
	if len(c.entries) == 1 {
		if v, ok := seen[0].Get(); ok {
			r.learnSolo(c.entries[0], v)
		}
		return
	}
	r.learnSet(c, seen)
}

// learnSolo keeps the rate of a task alone. It is fully known: 1.
func (r *Runner) learnSolo(e *entry, v rate) {
	own := r.solo.byEntry[e]
	own[v.unit] = v.value
	r.solo.byEntry[e] = own
	if e.profile != nil {
		kind := r.solo.byProfile[e.profile]
		kind[v.unit] = v.value
		r.solo.byProfile[e.profile] = kind
	}
}

// soloRate is the rate of a task alone in a unit: measured of itself, of a task of
// the same profile, or told by the profile. It is 0 if none is known.
func (r *Runner) soloRate(e *entry, of unit) float64 {
	if v := r.solo.byEntry[e][of]; v > 0 || e.profile == nil {
		return v
	}
	if v := r.solo.byProfile[e.profile][of]; v > 0 {
		return v
	}
	if seconds, ok := e.profile.Vector.Get(profile.MedianStepTime); ok && seconds > 0 && of == steps {
		return 1 / seconds
	}
	return 0
}

// learnSet tells the Planner the speeds of tasks that shared a card.
func (r *Runner) learnSet(c *card, measured []profile.Opt[rate]) {
	o := colloc.Observation{GPU: c.model, Mechanism: c.mechanism}
	learned, described := false, true
	for i, e := range c.entries {
		member := colloc.Measurement{Profile: e.profile}
		v, seen := measured[i].Get()
		if alone := r.soloRate(e, v.unit); seen && alone > 0 {
			e.Speed = profile.Some(v.value / alone)
			member.Speed = e.Speed
			learned = true
			r.tell(EventProgress, e, "")
		}
		described = described && e.profile != nil
		o.Members = append(o.Members, member)
	}
	if !learned || !described {
		return
	}
	if err := r.planner.Observe(o); err != nil {
		r.warn("observe", nil, "a measurement was not learned: "+err.Error())
	}
}

// learn tells the Planner the memory that a task needed, or that was not enough.
func (r *Runner) learn(e *entry, lacked bool) {
	peak, seen := e.Peak.Get()
	if !seen && lacked {
		peak = e.Reserved // it had at least that
	}
	c := r.card(e.GPU)
	if peak <= 0 || e.profile == nil || c == nil {
		return
	}
	err := r.planner.Observe(colloc.Observation{
		GPU: c.model, Mechanism: e.Mechanism,
		Members: []colloc.Measurement{{Profile: e.profile, Peak: profile.Some(peak), OutOfMemory: lacked}},
	})
	if err != nil {
		r.warn("observe", nil, "a measurement was not learned: "+err.Error())
	}
}
