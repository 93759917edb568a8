package harness

import (
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Event is the end of a task.
type Event struct {
	At   time.Time
	Task string
	// GPUs are where it ran.
	GPUs []string
	// Died says that it ran out of memory, and did not finish.
	Died bool
	// Seen is what was measured until then on the first of its GPUs: the speeds of the
	// set over those alone, the peak of the task that ended, or that it died with what
	// the others left it. [colloc.Planner.Observe] takes it. Without members where a
	// task has no profile.
	Seen colloc.Observation
}

// Step lets time pass to the next end of a task and tells of it, but not beyond until,
// if that is not zero. It returns false where none ends before: time is then until, or
// as it was if that is zero. Of two that end at once the one that started first is told
// of first; its neighbours run on as though it had left in time. It returns false, too,
// when the truth failed, see [Fleet.Err]. O(running tasks).
func (f *Fleet) Step(until time.Time) (Event, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var next *job
	var at time.Time
	died := false
	for _, j := range f.jobs {
		when, dies := f.end(j)
		if !when.IsZero() && (next == nil || when.Before(at)) {
			next, at, died = j, when, dies
		}
	}
	if f.err != nil || next == nil || !until.IsZero() && at.After(until) {
		if f.err == nil && until.After(f.now) {
			f.advance(until)
		}
		return Event{}, false
	}
	f.advance(at)
	e := Event{At: at, Task: next.task.ID, Died: died, Seen: f.seen(next, died)}
	for _, c := range next.on {
		e.GPUs = append(e.GPUs, c.gpu.ID)
	}
	f.remove(next)
	f.err = f.refresh(next.on)
	return e, true
}

// Err is why the fleet stands still: [Config].Truth gave no speeds.
func (f *Fleet) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// end is when a task ends as things are, zero for never, and whether it dies.
func (f *Fleet) end(j *job) (time.Time, bool) {
	if j.speed <= 0 {
		return j.dies, !j.dies.IsZero()
	}
	left := math.Ceil(max(0, float64(j.truth.Work)-j.done) / j.speed)
	if left > math.MaxInt64/4 {
		return j.dies, !j.dies.IsZero()
	}
	done := f.now.Add(time.Duration(left))
	if !j.dies.IsZero() && j.dies.Before(done) {
		return j.dies, true
	}
	return done, false
}

func (f *Fleet) advance(to time.Time) {
	d := float64(to.Sub(f.now))
	for _, j := range f.jobs {
		j.done = min(float64(j.truth.Work), j.done+float64(j.speed*d))
	}
	f.now = to
}

// seen is what was measured of the set of a task that ends.
func (f *Fleet) seen(j *job, died bool) colloc.Observation {
	c := j.on[0]
	o := colloc.Observation{GPU: c.gpu.Model, Mechanism: profile.TimeSlice}
	if !slices.Contains(c.gpu.Mechanisms, profile.TimeSlice) && slices.Contains(c.gpu.Mechanisms, profile.MPS) {
		o.Mechanism = profile.MPS
	}
	for _, other := range c.set {
		alone, err := f.ask(c, []*sim.Task{other.truth})
		if other.task.Profile == nil || err != nil {
			return colloc.Observation{}
		}
		m := colloc.Measurement{Profile: other.task.Profile}
		if len(c.set) > 1 {
			m.Speed = profile.Some(other.here[slices.Index(other.on, c)] / alone[0])
		}
		if other == j {
			m.OutOfMemory = died
			peak := j.truth.Memory
			if died {
				peak = c.left() + j.truth.Memory
			}
			if peak > 0 {
				m.Peak = profile.Some(peak)
			}
		}
		o.Members = append(o.Members, m)
	}
	return o
}
