package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// Restore returns a Dispatcher that goes on where another stood when it gave its State: told
// the same, it does the same. The Mind and the options must be as they were. What is no state, or
// one of another version, or says what cannot be, is an [ErrState] that names the place.
func Restore(m Mind, o *Options, state []byte) (*Dispatcher, error) {
	d, err := New(m, o)
	if err != nil {
		return nil, err
	}
	var b book
	if err := json.Unmarshal(state, &b); err != nil {
		return nil, fmt.Errorf("dispatch: %w: %w", ErrState, err)
	}
	if b.Version != version {
		return nil, fmt.Errorf("dispatch: %w: version is %d; want %d", ErrState, b.Version, version)
	}
	if err := d.restore(&b); err != nil {
		return nil, fmt.Errorf("dispatch: %w: %w", ErrState, err)
	}
	err = d.commit()
	if err == nil && b.Online != nil {
		err = d.online.RestoreState(b.Online)
	}
	if err != nil {
		return nil, fmt.Errorf("dispatch: %w: %w", ErrState, err)
	}
	d.stale = b.Stale
	return d, nil
}

// restore fills an empty Dispatcher.
func (d *Dispatcher) restore(b *book) error {
	if b.Now != nil {
		if *b.Now < 0 {
			return fmt.Errorf("now_ns is %d; want 0 or more", *b.Now)
		}
		d.begun, d.now = true, *b.Now
	}
	if b.Mean < 0 || b.Ended < 0 {
		return errors.New("mean or ended is negative")
	}
	for kind, floor := range b.Floors {
		if floor <= 0 || floor > maxMemory || len(b.Floors) > mostFloors {
			return fmt.Errorf("floors_bytes[%q] is %d", kind, floor)
		}
		d.floors[kind] = floor
	}
	d.runs, d.losses, d.mean, d.ended = b.Runs, b.Losses, b.Mean, b.Ended
	for i, c := range b.GPUs {
		if err := d.restoreCard(c); err != nil {
			return fmt.Errorf("gpus[%d]: %w", i, err)
		}
	}
	for i := range b.Jobs {
		if err := d.restoreJob(&b.Jobs[i]); err != nil {
			return fmt.Errorf("jobs[%d]: %w", i, err)
		}
	}
	for i := range b.Jobs {
		for _, a := range b.Jobs[i].After {
			if d.jobs[a.Job] == nil || a.Job == b.Jobs[i].Task.ID {
				return fmt.Errorf("jobs[%d].after: %w job %q", i, ErrUnknown, a.Job)
			}
		}
	}
	return d.restoreRuns(b)
}

func (d *Dispatcher) restoreCard(p *cardPage) error {
	if p == nil {
		d.slots = append(d.slots, nil)
		return nil
	}
	if d.cards[p.GPU.ID] != nil {
		return fmt.Errorf("%w GPU %q", ErrDuplicate, p.GPU.ID)
	}
	if p.Foreign < 0 || p.Foreign > maxMemory {
		return fmt.Errorf("foreign_bytes is %d", p.Foreign)
	}
	if _, err := d.checkCard(p.GPU, p.Machine); err != nil {
		return err
	}
	c := &card{gpu: bare(p.GPU), total: p.GPU.Total(), machine: p.Machine, index: len(d.slots), failed: p.Failed, drained: p.Drained, foreign: p.Foreign, reserved: p.Reserved}
	for i := range p.Reserved {
		if err := p.Reserved[i].check(); err != nil {
			return err
		}
	}
	d.slots = append(d.slots, c)
	d.cards[p.GPU.ID] = c
	d.most = max(d.most, c.total)
	d.booking(c)
	return nil
}

func (d *Dispatcher) restoreJob(p *page) error {
	j := Job{Task: p.Task, User: p.User, Left: p.Left, Done: p.Done, Restart: p.Restart, After: p.After, Fixed: p.Fixed}
	if p.Unlimited {
		j.MaxSlowdown = math.Inf(1)
	}
	e := &entry{Job: j, held: p.Held, over: p.Over, trials: p.Trials, guess: p.Guess, shuns: p.Shuns, bars: p.Bars, shunned: p.Shunned, refused: p.Refused, rest: p.Rest, came: p.Came, began: p.Began, tier: p.Tier}
	if d.jobs[j.ID] != nil {
		return fmt.Errorf("%w job %q", ErrDuplicate, j.ID)
	}
	if p.Over > Lost || p.Trials.Deaths < 0 || p.Trials.Memory < 0 || p.Trials.Memory > maxMemory {
		return errors.New("over or trials are none that there are")
	}
	if err := j.check(); err != nil {
		return err
	}
	if p.Guess < 0 || p.Guess > maxMemory || p.Refused < 0 || p.Came < 0 || p.Came > d.now || p.Tier < 0 || p.Rest < 0 || !slices.IsSorted(p.Shunned) || slices.ContainsFunc(p.Shunned, func(i int) bool { return i < 0 || i >= len(d.slots) || d.slots[i] == nil }) {
		return errors.New("refused, rest or shunned are none that there are")
	}
	if len(e.shuns) > 0 || e.rest > 0 || slices.ContainsFunc(p.Runs, func(r runPage) bool { return r.Until > 0 }) {
		d.shy = append(d.shy, e)
	}
	d.enter(e)
	return d.restoreLives(e, p)
}

// restoreLives restores the runs of a job.
func (d *Dispatcher) restoreLives(e *entry, p *page) error {
	for i := range p.Runs {
		r := &p.Runs[i]
		if r.Number == 0 || r.Number > d.runs || d.lives[r.Number] != nil {
			return fmt.Errorf("runs[%d]: %w number %d", i, ErrDuplicate, r.Number)
		}
		if r.Phase < granted || r.Phase > stopping || r.Phase != stopping && len(r.GPUs) != e.Width() || len(r.GPUs) > e.Width() || len(r.GPUs) == 0 || r.cannotBe(d.now) {
			return fmt.Errorf("runs[%d]: phase %d on %d GPUs, stays %d times until %v", i, r.Phase, len(r.GPUs), r.Stays, r.Until)
		}
		life := &run{
			number: r.Number, job: e.ID, gpus: r.GPUs, phase: r.Phase, mechanism: r.Mechanism, speed: r.Speed, gain: r.Gain,
			due: r.Due, since: r.Since, vain: r.Vain, asked: r.Asked, why: r.Why, stays: r.Stays, until: r.Until,
		}
		stops := r.Phase == stopping
		for k, id := range r.GPUs {
			if c := d.cards[id]; c == nil || slices.Contains(r.GPUs[:k], id) || !stops && (c.failed || d.crowd(id) >= MostOnGPU) {
				return fmt.Errorf("runs[%d]: %w GPU %q, or one that cannot run it", i, ErrUnknown, id)
			}
		}
		if !stops {
			if e.run != nil || e.over != 0 {
				return fmt.Errorf("runs[%d]: %w", i, ErrDuplicate)
			}
			e.run = life
		}
		d.begin(e, life)
	}
	if e.over != 0 && len(p.Runs) == 0 {
		return errors.New("it is over and has no run")
	}
	return nil
}

// cannotBe reports whether what is said of a run, or of a stop of it that was not carried out, cannot be.
func (r *runPage) cannotBe(now time.Duration) bool {
	return r.Speed < 0 || r.Since < 0 || r.Since > now || r.Stays < 0 || r.Until < 0 || r.Until > 0 && r.Phase != running
}

// restoreRuns puts the runs in their lists, and tells online everything.
func (d *Dispatcher) restoreRuns(b *book) error {
	for i, n := range b.Grants {
		r := d.lives[n]
		if r == nil || r.phase != granted || slices.Contains(b.Grants[:i], n) {
			return fmt.Errorf("grants[%d]: no such run", i)
		}
		d.grants = append(d.grants, r)
	}
	for i, n := range b.Leaves {
		r := d.lives[n]
		if r == nil || r.phase != stopping || slices.Contains(b.Leaves[:i], n) {
			return fmt.Errorf("leaves[%d]: no such run", i)
		}
		d.leaves = append(d.leaves, r)
	}
	for n, r := range d.lives {
		if r.phase == starting {
			d.asks = append(d.asks, r)
		}
		if r.phase == granted && !slices.Contains(d.grants, r) || r.phase == stopping && !slices.Contains(d.leaves, r) {
			return fmt.Errorf("run %d is in no list", n)
		}
	}
	if err := d.restoreUsers(b.Users); err != nil {
		return err
	}
	return d.restoreOnline()
}

// restoreOnline tells an empty Scheduler of everything.
func (d *Dispatcher) restoreOnline() error {
	for i, c := range d.slots {
		if c == nil { // its index stays free
			if _, err := d.online.AddGPU(packer.GPU{ID: fmt.Sprintf("removed\x00%d", i), Memory: 1, Type: new(profile.GPUModel)}, 0); err != nil {
				return err
			}
			d.later(func() error { return d.online.RemoveGPU(i) })
			continue
		}
		gpu, err := d.checkCard(c.gpu, c.machine)
		if err != nil {
			return err
		}
		if _, err = d.online.AddGPU(gpu, c.machine); err != nil {
			return err
		}
	}
	for _, e := range d.order {
		if err := d.resubmit(e); err != nil {
			return err
		}
	}
	for _, c := range d.slots {
		if c == nil {
			continue
		}
		d.later(func() error {
			err := d.online.Foreign(c.index, c.foreign)
			switch {
			case c.failed:
				err = errors.Join(err, d.online.Fail(c.index))
			case c.drained:
				err = errors.Join(err, d.online.Drain(c.index))
			}
			return err
		})
	}
	return nil
}

// resubmit tells an empty Scheduler of a job.
func (d *Dispatcher) resubmit(e *entry) error {
	if e.over != 0 {
		return nil
	}
	if _, err := e.wants(d); err != nil {
		return err
	}
	var at []int
	if e.run != nil {
		for _, id := range e.run.gpus {
			at = append(at, d.cards[id].index)
		}
	}
	d.later(func() error { return d.introduce(e, at...) })
	d.sync(e)
	d.later(func() error { return d.online.Forbid(e.ID, e.shunned...) })
	return nil
}
