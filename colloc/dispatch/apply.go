package dispatch

import (
	"fmt"
	"slices"
	"time"

	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

func (e Submitted) apply(d *Dispatcher) error {
	j, _, err := d.admit(e.Job)
	if err != nil {
		return err
	}
	d.enter(j)
	d.later(func() error { return d.introduce(j) })
	d.sync(j)
	return nil
}

// introduce tells online of a job that waits, or runs on some GPUs: as it is known by now, after
// what other events of the call have taught.
func (d *Dispatcher) introduce(j *entry, at ...int) error {
	job, err := j.wants(d)
	if err != nil {
		return err
	}
	j.known = true
	if len(at) > 0 {
		return d.online.Adopt(job, at...)
	}
	return d.online.Submit(job)
}

// admit checks a job that is new.
func (d *Dispatcher) admit(j Job) (*entry, online.Job, error) {
	if d.jobs[j.ID] != nil {
		return nil, online.Job{}, fmt.Errorf("%w job", ErrDuplicate)
	}
	if err := j.check(); err != nil {
		return nil, online.Job{}, err
	}
	for _, a := range j.After {
		if d.jobs[a.Job] == nil {
			return nil, online.Job{}, fmt.Errorf("%w job %q in After", ErrUnknown, a.Job)
		}
	}
	e := &entry{Job: j, came: j.Came.Or(d.now)}
	if e.Came = (profile.Opt[time.Duration]{}); e.came < 0 || e.came > d.now {
		return nil, online.Job{}, fmt.Errorf("%w: Came is %v; want 0 to %v, or missing", ErrInvalid, e.came, d.now)
	}
	job, err := e.wants(d)
	if err != nil {
		return nil, online.Job{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return e, job, nil
}

func (e Adopted) apply(d *Dispatcher) error {
	e.Job.After = nil
	j, job, err := d.admit(e.Job)
	if err != nil {
		return err
	}
	if e.Run == 0 || d.lives[e.Run] != nil {
		return fmt.Errorf("%w: run %d; want a number above 0 that no other run has", ErrInvalid, e.Run)
	}
	if len(e.GPUs) != job.Width() {
		return fmt.Errorf("%w: it runs on %d GPUs and needs %d", ErrInvalid, len(e.GPUs), job.Width())
	}
	at := make([]int, len(e.GPUs))
	for i, id := range e.GPUs {
		c := d.cards[id]
		if c == nil || c.failed {
			return fmt.Errorf("%w GPU %q, or one that failed", ErrUnknown, id)
		}
		if slices.Contains(e.GPUs[:i], id) || d.crowd(id) >= MostOnGPU {
			return fmt.Errorf("%w: GPU %q is named twice or runs %d; tell of further ones as Foreign", ErrInvalid, id, MostOnGPU)
		}
		at[i] = c.index
	}
	d.enter(j)
	r := &run{number: e.Run, job: j.ID, gpus: slices.Clone(e.GPUs), phase: running, since: d.now}
	put(d, &j.run, r)
	put(d, &d.runs, max(d.runs, e.Run))
	put(d, &j.began, true)
	d.begin(j, r)
	d.later(func() error { return d.introduce(j, at...) })
	d.sync(j)
	return nil
}

// MostOnGPU is how many jobs a Dispatcher knows on one GPU; further ones are told of as [Foreign].
const MostOnGPU = 4

// crowd is how many runs are on a GPU as online knows it.
func (d *Dispatcher) crowd(gpu string) int {
	n := 0
	for _, r := range d.cards[gpu].runs {
		if r.phase != stopping {
			n++
		}
	}
	return n
}

func (e Held) apply(d *Dispatcher) error     { return d.hold(e.Job, true) }
func (e Released) apply(d *Dispatcher) error { return d.hold(e.Job, false) }

func (d *Dispatcher) hold(id string, held bool) error {
	j, err := d.job(id)
	if err != nil {
		return err
	}
	if j.held == held {
		return fmt.Errorf("%w: held is %v already", ErrDuplicate, held)
	}
	put(d, &j.held, held)
	d.sync(j)
	return nil
}

func (e Withdrawn) apply(d *Dispatcher) error {
	j, err := d.job(e.Job)
	if err != nil {
		return err
	}
	if j.over != 0 {
		return fmt.Errorf("%w: it was withdrawn before", ErrDuplicate)
	}
	d.later(func() error { return d.online.Withdraw(e.Job) })
	if r := j.run; r != nil && r.phase == granted {
		d.end(j, r)
	} else if r != nil {
		d.leave(j, r, "it is no longer wanted")
	}
	d.finish(j, Failed)
	return nil
}

// finish takes a job out of the books that is over, at once or with its last run.
func (d *Dispatcher) finish(j *entry, how How) {
	if d.lingers(j.ID) {
		put(d, &j.over, how)
		return
	}
	d.drop(j, how)
}

func (e Started) apply(d *Dispatcher) error {
	j, r, err := d.life(e.Job, e.Run)
	switch {
	case err != nil:
		return err
	case r.phase == running:
		return fmt.Errorf("%w: run %d has started before", ErrDuplicate, e.Run)
	case r.phase == granted:
		return fmt.Errorf("%w run %d: it was not asked for yet", ErrUnknown, e.Run)
	case r.phase == stopping && r.vain:
		d.alter(r, func() { put(d, &r.vain, false) }) // it lives: it must say that it has gone
	case r.phase == starting:
		d.alter(r, func() { put(d, &r.phase, running) })
		put(d, &j.refused, 0)
	}
	put(d, &r.since, d.now)
	d.noteStart(j)
	return nil
}

// noteStart notes how long a job has waited that starts for the first time.
func (d *Dispatcher) noteStart(j *entry) {
	if !j.began {
		put(d, &j.began, true)
		d.change(j.User, func(u *user) { u.started, u.wait = u.started+1, u.wait+(d.now-j.came).Seconds() })
	}
}

func (e Refused) apply(d *Dispatcher) error {
	j, r, err := d.life(e.Job, e.Run)
	if err != nil {
		return err
	}
	switch r.phase {
	case running:
		return fmt.Errorf("%w: run %d has started; tell that it has Ended", ErrInvalid, e.Run)
	case granted:
		return fmt.Errorf("%w run %d: it was not asked for yet", ErrUnknown, e.Run)
	case stopping:
		d.end(j, r)
		d.last(j, Stopped)
	case starting:
		d.refuse(j, r, e.Why)
		d.end(j, r)
	case ended: // it is in no list of runs
	}
	return nil
}

// patience is in how many places a job may be refused, one after the other, before it rests.
const patience = 3

// refuse lets a job wait again and shun where it was to start.
func (d *Dispatcher) refuse(j *entry, r *run, why string) {
	shuns := slices.Clone(j.shuns)
	for _, id := range r.gpus {
		at := slices.IndexFunc(shuns, func(s shun) bool { return s.GPU == id })
		if at < 0 {
			at = len(shuns)
			shuns = append(shuns, shun{GPU: id, Wait: d.o.Shun / 2})
		}
		s := &shuns[at]
		s.Wait = max(1, min(2*s.Wait, maxShun))
		s.Until, s.Why = d.now+s.Wait, why
	}
	put(d, &j.shuns, shuns)
	put(d, &j.refused, j.refused+1)
	if n := j.refused - patience; n > 0 {
		put(d, &j.rest, d.now+max(1, min(d.o.Shun<<min(n-1, 20), maxShun)))
		d.sync(j)
	}
	if !slices.Contains(d.shy, j) {
		put(d, &d.shy, append(slices.Clip(d.shy), j))
	}
	id := j.ID
	d.later(func() error { return d.online.Return(id) })
	d.forbid(j)
}

// last settles a job of which a run has ended that was to stop.
func (d *Dispatcher) last(j *entry, how How) {
	switch {
	case j.over != 0:
		d.finish(j, j.over)
	case how == Done || how == Failed: // it was quicker than the stop
		if r := j.run; r != nil && r.phase == granted {
			d.end(j, r)
		} else if r != nil {
			d.leave(j, r, "another run of it has ended")
		}
		d.close(j, how)
	}
}

// close ends a job whose work is done or that failed.
func (d *Dispatcher) close(j *entry, how How) {
	id := j.ID
	d.later(func() error {
		if how == Done {
			return d.online.Finish(id)
		}
		return d.online.Withdraw(id)
	})
	d.finish(j, how)
}

func (e Ended) apply(d *Dispatcher) error {
	j, r, err := d.life(e.Job, e.Run)
	if err != nil {
		return err
	}
	if e.How < Done || e.How > Lost || e.Peak.Or(0) < 0 || e.Left.Or(0) < 0 {
		return fmt.Errorf("%w: How is %d, Peak %v and Left %v; want a How, and no negative number", ErrInvalid, e.How, e.Peak.Or(0), e.Left.Or(0))
	}
	if r.phase == granted {
		return fmt.Errorf("%w run %d: it was not asked for yet", ErrUnknown, e.Run)
	}
	present := r.phase != stopping
	if e.How == OutOfMemory {
		d.change(j.User, func(u *user) { u.deaths++ })
	}
	d.end(j, r)
	switch {
	case !present:
		if left, ok := e.Left.Get(); ok && j.over == 0 {
			d.later(func() error { return d.online.Report(e.Job, left) })
		}
		d.last(j, e.How)
	case e.How == Done || e.How == Failed:
		d.close(j, e.How)
	default:
		d.later(func() error { return d.online.Return(e.Job) })
		if left, ok := e.Left.Get(); ok {
			d.later(func() error { return d.online.Report(e.Job, left) })
		}
		if e.How == OutOfMemory {
			d.later(func() error { return d.raise(j, e.Peak, r.on) })
		}
	}
	return nil
}

func (e Seen) apply(d *Dispatcher) error {
	if err := d.reports(e.Job, e.Run); err != nil {
		return err
	}
	if e.Peak <= 0 || e.Peak > maxMemory {
		return fmt.Errorf("%w: Peak is %v; want more than 0, up to %v", ErrInvalid, e.Peak, maxMemory)
	}
	j := d.jobs[e.Job]
	d.later(func() error { return d.seen(j, e.Peak) })
	return nil
}

const maxMemory profile.Bytes = 1 << 56 // as packer

func (e Progress) apply(d *Dispatcher) error {
	if err := d.reports(e.Job, e.Run); err != nil {
		return err
	}
	left, told := e.Left.Get()
	in, ends := e.Ends.Get()
	if told == ends || min(left, in) < 0 {
		return fmt.Errorf("%w: Left is %v and Ends %v; want one of them, 0 or more", ErrInvalid, e.Left, e.Ends)
	}
	d.quietly(func() error {
		if ends {
			return d.online.ReportEnd(e.Job, in)
		}
		return d.online.Report(e.Job, left)
	})
	return nil
}

// reports says why nothing can be reported of a run.
func (d *Dispatcher) reports(job string, number uint64) error {
	_, r, err := d.life(job, number)
	switch {
	case err != nil:
		return err
	case r.phase == granted:
		return fmt.Errorf("%w run %d: it was not asked for yet", ErrUnknown, number)
	case r.phase == stopping:
		return fmt.Errorf("%w: run %d is to stop", ErrLate, number)
	}
	return nil
}
