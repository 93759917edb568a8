package dispatch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"example.com/colloc/packer/online"
)

// Decide says what to do now, and takes it for done until it is told otherwise. Where nothing
// happened since the last call it may still say something: a start was not answered in time, a
// stop neither, or what was refused may be tried again; see [Dispatcher.Next].
//
// The actions hold with an error, too: that of ctx means that it looked less far ahead than
// the Scheduler's Budget says, any other is the Mind's, and what it is about waits.
func (d *Dispatcher) Decide(ctx context.Context, at time.Duration) ([]Action, error) {
	if err := d.clock(at); err != nil {
		return nil, err
	}
	d.undo, d.ops = d.undo[:0], d.ops[:0]
	d.begun, d.now = true, at
	d.expire()
	d.quotas()
	d.windows()
	errs := d.commit()
	out := slices.Clone(d.losses)
	d.losses = nil
	var decisions []online.Decision
	if d.stale { // else all that could start has started
		d.turns()
		errs = errors.Join(errs, d.commit())
		var err error
		decisions, err = d.online.Decide(ctx, at)
		errs = errors.Join(errs, err)
		d.stale = err != nil
	}
	for i := range decisions {
		out = d.carry(out, &decisions[i])
	}
	out = d.stops(out)
	out = d.starts(out)
	return out, errors.Join(errs, d.commit())
}

// expire ends what was not answered in time, and lets jobs go again where they were refused.
func (d *Dispatcher) expire() {
	var late []*run
	d.asks = slices.DeleteFunc(d.asks, func(r *run) bool {
		if r.phase == starting && r.due <= d.now {
			late = append(late, r)
		}
		return r.phase != starting || r.due <= d.now
	})
	slices.SortFunc(late, func(a, b *run) int { return cmp.Compare(a.number, b.number) })
	for _, r := range late {
		j := d.jobs[r.job]
		d.refuse(j, r, "the start was not answered in time")
		d.leave(j, r, "the start was not answered in time")
	}
	for _, r := range slices.Clone(d.leaves) {
		if r.phase == stopping && r.vain && r.asked && r.due <= d.now {
			j := d.jobs[r.job]
			d.end(j, r)
			d.last(j, Lost)
		}
	}
	d.shy = slices.DeleteFunc(d.shy, func(j *entry) bool {
		if j.gone {
			return true
		}
		if j.rest <= d.now {
			j.rest = 0
			d.sync(j)
		}
		d.forbid(j)
		if r := j.run; r != nil && r.until > 0 {
			if r.until > d.now {
				return false
			}
			d.unpin(j, r)
		}
		return j.rest == 0 && !slices.ContainsFunc(j.shuns, func(s shun) bool { return s.Until > d.now })
	})
}

// carry turns a decision into runs.
func (d *Dispatcher) carry(out []Action, x *online.Decision) []Action {
	j := d.jobs[x.Task]
	if !x.Placed {
		r := j.run
		switch {
		case r.phase == granted:
			d.end(j, r)
		case d.o.AtOnce:
			d.end(j, r)
			out = append(out, Action{Verb: Stop, Job: j.ID, Run: r.number, GPUs: r.gpus, Why: makesRoom})
		default:
			d.leave(j, r, makesRoom)
		}
		return out
	}
	d.runs++
	r := &run{number: d.runs, job: j.ID, phase: granted, mechanism: x.Mechanism, speed: x.Speed, gain: x.Gain}
	for _, g := range append([]int{x.GPU}, x.Gang...) {
		r.gpus = append(r.gpus, d.slots[g].gpu.ID)
	}
	j.run = r
	d.begin(j, r)
	d.grants = append(d.grants, r)
	return out
}

const makesRoom = "the rest of the day is better if others run there or it runs elsewhere, or a job there must be faster than beside it"

// stops asks for what is to stop, again if it was not told in time.
func (d *Dispatcher) stops(out []Action) []Action {
	for _, r := range d.leaves {
		if r.due <= d.now {
			r.due, r.asked = d.now+d.o.Lease, true
			next, gain := d.follow(r)
			out = append(out, Action{Verb: Stop, Job: r.job, Run: r.number, GPUs: r.gpus, Why: r.why, For: next, Gain: gain})
		}
	}
	return out
}

// follow are the jobs that start where a run stops, or move there, and what that gains.
func (d *Dispatcher) follow(r *run) (jobs []string, gain float64) {
	gain = -r.gain
	for _, g := range d.grants {
		here := slices.ContainsFunc(g.on, func(c *card) bool { return slices.Contains(r.on, c) })
		if g.phase != granted || !here && g.job != r.job {
			continue
		}
		gain += g.gain
		if here {
			jobs = append(jobs, g.job)
		}
	}
	if len(jobs) == 0 {
		return nil, 0
	}
	return jobs, gain
}

// starts asks for the runs that were decided, once nobody is there any more who is to stop.
func (d *Dispatcher) starts(out []Action) []Action {
	blocked := func(r *run) bool {
		return d.lingers(r.job) || d.full(r) || slices.ContainsFunc(r.on, func(c *card) bool {
			return slices.ContainsFunc(c.runs, func(o *run) bool { return o.phase == stopping })
		})
	}
	d.grants = slices.DeleteFunc(d.grants, func(r *run) bool {
		switch {
		case r.phase != granted: // it is over
			return true
		case blocked(r):
			return false
		}
		d.alter(r, func() {
			if r.phase, r.due = starting, d.now+d.o.Lease; d.o.AtOnce {
				r.phase, r.since = running, d.now
			}
		})
		if d.o.AtOnce {
			d.noteStart(d.jobs[r.job])
		} else {
			d.asks = append(d.asks, r)
		}
		reserve, _ := d.online.Why(r.job) // of one that runs it says what is reserved
		out = append(out, Action{
			Verb: Start, Job: r.job, Run: r.number, GPUs: r.gpus, Mechanism: r.mechanism,
			Reserve: reserve.Memory, Speed: r.speed, Gain: r.gain, Due: r.due,
		})
		return true
	})
	return out
}

// full reports whether runs of its user that stop leave a run no room under the limits.
func (d *Dispatcher) full(r *run) bool {
	l := d.limits(r.user)
	return l.keep(d.users[r.user], len(r.on))
}

// Next is when Decide has something to say though nothing happens; false if never.
func (d *Dispatcher) Next() (at time.Duration, ok bool) {
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if len(d.losses) > 0 {
		sooner(d.now)
	}
	for _, r := range d.asks {
		if r.phase == starting {
			sooner(r.due)
		}
	}
	for _, r := range d.leaves {
		sooner(r.due)
	}
	for _, j := range d.shy {
		if !j.gone && j.rest > 0 {
			sooner(j.rest)
		}
		if r := j.run; !j.gone && r != nil && r.until > 0 {
			sooner(r.until)
		}
		for _, s := range j.shuns {
			if !j.gone && s.Until > d.now {
				sooner(s.Until)
			}
		}
	}
	d.nextUser(sooner)
	return at, ok
}

// nextUser tells when a quota or a reservation changes what may start.
func (d *Dispatcher) nextUser(sooner func(time.Duration)) {
	for name, u := range d.users {
		if at, ok := d.relief(name).Get(); ok && u.over {
			sooner(at)
		}
	}
	for _, c := range d.booked {
		for _, r := range c.reserved {
			if d.now < r.From {
				sooner(r.From)
			}
			if r.Until > 0 {
				sooner(r.Until)
			}
		}
	}
}
