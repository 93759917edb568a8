package runner

import (
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// fewestSteps is how many steps a window must hold to tell a speed.
const fewestSteps = 5

// window is a stretch of time in which the same tasks share a card.
type window struct {
	since time.Time
	seen  time.Time // when the card was last looked at
	marks map[*entry]mark
}

// mark is where a task stood when the window began.
type mark struct {
	step  profile.Opt[int64]
	busy  float64 // sum of shares of time with kernels of the task
	looks int     // how many were added
}

// rate is how fast a task works: steps per second, or its share of the GPU where
// it tells no steps. The two are never compared.
type rate struct {
	value float64
	steps bool
}

// solo are the rates of tasks that had a GPU to themselves, by profile, and by
// entry.
type solo struct {
	byProfile map[*profile.Profile]rate
	byEntry   map[*entry]rate
}

// openWindow begins to measure a card's tasks.
func (r *Runner) openWindow(c *card, now time.Time) {
	c.window = window{since: now, seen: now, marks: make(map[*entry]mark, len(c.entries))}
	for _, e := range c.entries {
		c.window.marks[e] = mark{step: e.Step}
	}
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
	if w.since.IsZero() || lasted < r.config.Window || len(w.marks) != len(c.entries) {
		return
	}
	rates := make([]profile.Opt[rate], len(c.entries))
	for i, e := range c.entries {
		rates[i] = w.marks[e].rate(e, lasted)
	}
	if len(c.entries) == 1 {
		if v, ok := rates[0].Get(); ok {
			r.learnSolo(c.entries[0], v)
		}
		return
	}
	r.learnSet(c, rates)
}

// rate is a task's rate since the mark; missing if too little was seen.
func (m mark) rate(e *entry, lasted time.Duration) profile.Opt[rate] {
	step, known := e.Step.Get()
	if from, ok := m.step.Get(); known && ok && step-from >= fewestSteps {
		return profile.Some(rate{value: float64(step-from) / lasted.Seconds(), steps: true})
	}
	if !known && m.looks >= fewestSteps && m.busy > 0 {
		return profile.Some(rate{value: m.busy / float64(m.looks)})
	}
	return profile.Opt[rate]{}
}

// learnSolo keeps the rate of a task alone. It is fully known: 1.
func (r *Runner) learnSolo(e *entry, v rate) {
	r.solo.byEntry[e] = v
	if e.profile != nil {
		r.solo.byProfile[e.profile] = v
	}
}

// soloRate is the rate of a task alone: measured of itself, of a task of the same
// profile, or told by the profile.
func (r *Runner) soloRate(e *entry) (rate, bool) {
	if v, ok := r.solo.byEntry[e]; ok {
		return v, true
	}
	if e.profile == nil {
		return rate{}, false
	}
	if v, ok := r.solo.byProfile[e.profile]; ok {
		return v, true
	}
	if seconds, ok := e.profile.Vector.Get(profile.MedianStepTime); ok && seconds > 0 {
		return rate{value: 1 / seconds, steps: true}, true
	}
	return rate{}, false
}

// learnSet tells the Planner the speeds of tasks that shared a card.
func (r *Runner) learnSet(c *card, rates []profile.Opt[rate]) {
	o := colloc.Observation{GPU: c.model, Mechanism: c.mechanism}
	measured, described := false, true
	for i, e := range c.entries {
		member := colloc.Measurement{Profile: e.profile}
		v, seen := rates[i].Get()
		if alone, ok := r.soloRate(e); ok && seen && alone.steps == v.steps && alone.value > 0 {
			e.Speed = profile.Some(v.value / alone.value)
			member.Speed = e.Speed
			measured = true
			r.tell(EventProgress, e, "")
		}
		described = described && e.profile != nil
		o.Members = append(o.Members, member)
	}
	if !measured || !described {
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
