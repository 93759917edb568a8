package fleet

import (
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Tick goes on with the measurement of a card's tasks; see CloseWindow for what it
// returns.
func (f *Fleet) Tick(c *Card, now time.Time) (measured []*backlog.Entry, err error) {
	c.window.seen = now
	if !c.window.since.IsZero() && now.Sub(c.window.since) >= f.config.Window && !f.ripens(c, now) {
		measured, err = f.CloseWindow(c)
	}
	if c.window.since.IsZero() {
		openWindow(c, now)
	}
	return measured, err
}

// openWindow begins to measure a card's tasks.
func openWindow(c *Card, now time.Time) {
	c.window = window{since: now, seen: now, marks: make(map[*backlog.Entry]mark, len(c.Entries))}
	for _, e := range c.Entries {
		c.window.marks[e] = mark{step: e.Step, restarts: e.Restarts}
	}
}

// ripens reports whether a window tells nothing yet and will before long: an epoch
// ended in it, and they are short.
func (f *Fleet) ripens(c *Card, now time.Time) bool {
	if now.Sub(c.window.since) >= 2*fewestEpochs*f.config.Window {
		return false
	}
	return slices.ContainsFunc(c.Entries, func(e *backlog.Entry) bool {
		n := e.Restarts - c.window.marks[e].restarts
		return n > 0 && n < fewestEpochs && e.Cycle > 0 && e.Cycle <= f.config.Window
	})
}

// sawBusy adds a share of time with kernels of the task.
func (w *window) sawBusy(e *backlog.Entry, share float64) {
	if m, ok := w.marks[e]; ok {
		m.busy += share
		m.looks++
		w.marks[e] = m
	}
}

// CloseWindow ends the measurement, learns from it if it was long enough, and
// begins none: the next look at the card does. It returns the tasks whose speed it
// measured; an error means that the Planner did not learn it.
func (f *Fleet) CloseWindow(c *Card) (measured []*backlog.Entry, err error) {
	w := c.window
	c.window = window{}
	lasted := w.seen.Sub(w.since)
	if slices.ContainsFunc(c.Entries, func(e *backlog.Entry) bool { return len(e.GPUs) > 0 }) {
		return nil, nil // what it does rests on other cards too
	}
	if w.since.IsZero() || lasted < f.config.Window || len(w.marks) != len(c.Entries) {
		return nil, nil
	}
	seen := make([]profile.Opt[rate], len(c.Entries))
	for i, e := range c.Entries {
		seen[i] = w.marks[e].rate(e, lasted)
	}
	if len(c.Entries) == 1 {
		if v, ok := seen[0].Get(); ok {
			f.learnSolo(c.Entries[0], v)
		}
		return nil, nil
	}
	return f.learnSet(c, seen)
}

// learnSolo keeps the rate of a task alone. It is fully known: 1.
func (f *Fleet) learnSolo(e *backlog.Entry, v rate) {
	own := f.solo.byEntry[e]
	own[v.unit] = v.value
	f.solo.byEntry[e] = own
	if e.Profile != nil {
		kind := f.solo.byProfile[e.Profile]
		kind[v.unit] = v.value
		f.solo.keep(e.Profile, kind)
	}
}

// soloRate is the rate of a task alone in a unit: measured of itself, of a task of
// the same profile, or told by the profile. It is 0 if none is known.
func (f *Fleet) soloRate(e *backlog.Entry, of unit) float64 {
	if v := f.solo.byEntry[e][of]; v > 0 || e.Profile == nil {
		return v
	}
	if v := f.solo.byProfile[e.Profile][of]; v > 0 {
		return v
	}
	if seconds, ok := e.Profile.Vector.Get(profile.MedianStepTime); ok && seconds > 0 && of == steps {
		return 1 / seconds
	}
	return 0
}

// learnSet tells the Planner the speeds of tasks that shared a card.
func (f *Fleet) learnSet(c *Card, seen []profile.Opt[rate]) (measured []*backlog.Entry, err error) {
	o := colloc.Observation{GPU: c.model, Mechanism: c.Mechanism}
	described := true
	for i, e := range c.Entries {
		member := colloc.Measurement{Profile: e.Profile}
		v, ok := seen[i].Get()
		if alone := f.soloRate(e, v.unit); ok && alone > 0 {
			e.Speed = profile.Some(v.value / alone)
			if member.Speed = e.Speed; v.value > alone && v.value <= predict.MostSpeed*alone {
				member.Speed = profile.Some(1.0) // who prints its steps may say anything, and few such speeds move all others'
			}
			measured = append(measured, e)
		}
		described = described && e.Profile != nil
		o.Members = append(o.Members, member)
	}
	if len(measured) == 0 || !described {
		return measured, nil
	}
	return measured, f.planner.Observe(o)
}

// Forget drops what is known of a task whose run is over.
func (f *Fleet) Forget(e *backlog.Entry) { delete(f.solo.byEntry, e) }

// Describe lets what was measured of a task alone count for all tasks of its profile.
func (f *Fleet) Describe(e *backlog.Entry) {
	if alone, ok := f.solo.byEntry[e]; ok && e.Profile != nil {
		f.solo.keep(e.Profile, alone)
	}
}

// Learn tells the Planner the memory that a task needed, or that was not enough.
func (f *Fleet) Learn(e *backlog.Entry, lacked bool) error {
	peak, seen := e.Peak.Get()
	if !seen && lacked {
		peak = e.Reserved // it had at least that
	}
	c := f.Card(e.GPU)
	if peak <= 0 || e.Profile == nil || c == nil {
		return nil
	}
	return f.planner.Observe(colloc.Observation{
		GPU: c.model, Mechanism: e.Mechanism,
		Members: []colloc.Measurement{{Profile: e.Profile, Peak: profile.Some(peak), OutOfMemory: lacked}},
	})
}
