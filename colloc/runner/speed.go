package runner

import (
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

const (
	// fewestSteps is how many steps a window must hold to tell a speed,
	fewestSteps = 5
	// fewestEpochs how many epochs if one ends in it: what is done between two of
	// them takes part of the time, and of many epochs about the same part.
	fewestEpochs = 5
)

// window is a stretch of time in which the same tasks share a card.
type window struct {
	since time.Time
	seen  time.Time // when the card was last looked at
	marks map[*entry]mark
}

// mark is where a task stood when the window began.
type mark struct {
	step     profile.Opt[int64]
	restarts int
	busy     float64 // sum of shares of time with kernels of the task
	looks    int     // how many were added
}

// rate is how fast a task works, by a unit. Only rates of one unit are compared.
type rate struct {
	value float64
	unit  unit
}

// unit is what a rate counts.
type unit int

const (
	steps  unit = iota // a second, within an epoch
	epochs             // steps a second, over many epochs and what is between them
	busy               // share of the GPU, of a task that tells no steps
	units
)

// rates are those of one task, by unit; 0 is not known.
type rates [units]float64

// solo are the rates of tasks that had a GPU to themselves, by profile, and by
// entry.
type solo struct {
	byProfile map[*profile.Profile]rates
	byEntry   map[*entry]rates
}

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

// rate is a task's rate since the mark; missing if too little was seen.
func (m mark) rate(e *entry, lasted time.Duration) profile.Opt[rate] {
	step, known := e.Step.Get()
	if from, ok := m.step.Get(); known && ok && step-from >= fewestSteps {
		v := rate{value: float64(step-from) / lasted.Seconds()}
		switch n := e.Restarts - m.restarts; {
		case n >= fewestEpochs:
			v.unit = epochs
		case n > 0:
			return profile.Opt[rate]{}
		}
		return profile.Some(v)
	}
	if !known && m.looks >= fewestSteps && m.busy > 0 {
		return profile.Some(rate{value: m.busy / float64(m.looks), unit: busy})
	}
	return profile.Opt[rate]{}
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
