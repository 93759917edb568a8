package runner

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// patience is how many later tasks may start before a task that waits for room;
// then a GPU is kept free for it.
const patience = 16

// class are the tasks that fit, or do not, for the same reasons.
type class struct {
	profile             *profile.Profile
	reserved            profile.Bytes
	weight, slowdown    float64
	alone, all, avoided bool
	avoid               profile.Mechanism
}

func (e *entry) class() class {
	avoid, avoided := e.Avoid.Get()
	return class{
		profile: e.profile, reserved: e.reserve(), weight: e.Task.Weight, slowdown: e.Task.MaxSlowdown,
		alone: e.alone(), all: e.takesAll(), avoided: avoided, avoid: avoid,
	}
}

// reserve is what is set aside for the task; 0 lets the Planner predict it.
func (e *entry) reserve() profile.Bytes {
	if e.Raised > 0 {
		return e.Raised
	}
	return e.Task.Memory
}

// demand is the task as the Planner knows it. One that takes a whole GPU
// reserves what is free there, which is not known before.
func (r *Runner) demand(e *entry) colloc.Task {
	t := colloc.Task{
		ID: e.Task.ID, Profile: e.profile, Reserved: e.reserve(),
		Weight: e.Task.Weight, MaxSlowdown: e.Task.MaxSlowdown, Alone: e.alone(),
		GPUs: 1, // one process on one card, whatever its profile says
	}
	if t.Profile == nil {
		t.Profile = &r.blank
	}
	if e.takesAll() {
		t.Reserved = 1
	}
	return t
}

// placed is where a task goes.
type placed struct {
	card      int
	verdict   colloc.Verdict
	mechanism profile.Mechanism
	score     float64
}

// place decides which tasks start now and enters them in queue and books. The
// caller holds the lock and starts them after the transaction.
func (r *Runner) place() (starts []*entry) {
	seats, alive := 0, false
	for _, c := range r.cards {
		seats += c.seats(r.config.PerGPU)
		alive = alive || !c.lost
	}
	if full := r.diskFull(r.config.Dir); full != "" {
		r.warn("disk", nil, full+"; no task starts until there is room")
		return nil
	}
	delete(r.warned, "disk")
	refused := make(map[class]string)
	kept := -1 // the card that is kept free for a task that waited too long
	var waits []*entry
	for _, e := range slices.Clone(r.queue.ready) {
		if !alive {
			r.withdraw(e, Failed, "no GPU is left")
			continue
		}
		if seats == 0 || r.halted {
			break
		}
		if full := r.diskFull(e.Task.Dir); full != "" {
			e.Waiting = full
			waits = append(waits, e)
			continue
		}
		if why, ok := refused[e.class()]; ok {
			e.Waiting = why
			waits = append(waits, e)
			continue
		}
		p, why, err := r.fit(e, kept)
		switch {
		case err != nil:
			r.withdraw(e, Failed, err.Error())
			continue
		case why == "":
			if why = r.reserve(e, p); why == "" {
				seats--
				starts = append(starts, e)
				overtake(waits)
				continue
			}
		}
		refused[e.class()] = why
		e.Waiting = why
		waits = append(waits, e)
		if kept < 0 && e.overtaken >= patience {
			kept = r.keep(e)
		}
	}
	return starts
}

// overtake counts one more task that started before those that wait. Counting
// for the first is enough: it is the first to wait longest.
func overtake(waits []*entry) {
	if len(waits) > 0 {
		waits[0].overtaken++
	}
}

// keep chooses the card that a task which waited too long will get: of those on
// which it fits when they are empty, the one with the fewest tasks.
func (r *Runner) keep(e *entry) int {
	best := -1
	for i, c := range r.cards {
		if c.lost || best >= 0 && len(c.entries) >= len(r.cards[best].entries) {
			continue
		}
		if v, err := r.planner.Fit(r.demand(e), c.gpu(r.config.Mechanisms)); err == nil && v.Fits {
			best = i
		}
	}
	return best
}

// fit finds the best card for a task; why says what was missing where there is
// none. An error means that there will never be one.
func (r *Runner) fit(e *entry, kept int) (best placed, why string, err error) {
	best.card = -1
	snapshot := r.ledger.Snapshot()
	for i, c := range r.cards {
		if c.seats(r.config.PerGPU) == 0 || i == kept {
			continue
		}
		p := placed{card: i}
		reason, err := r.fitOn(e, c, snapshot.GPUs[i], &p)
		if err != nil && !e.takesAll() && e.reserve() == 0 {
			e.unknown = true
			return r.fit(e, kept)
		}
		if err != nil {
			return best, "", err
		}
		switch {
		case reason != "":
			why = string(c.info.ID) + ": " + reason
		case best.card < 0 || p.score > best.score || p.score == best.score && len(c.entries) < len(r.cards[best.card].entries):
			best = p
		}
	}
	if best.card >= 0 {
		return best, "", nil
	}
	if why == "" {
		why = "no GPU has a place left"
	}
	return best, why, r.tooLarge(e)
}

// fitOn asks the Planner about one card.
func (r *Runner) fitOn(e *entry, c *card, g colloc.GPU, p *placed) (reason string, err error) {
	p.mechanism = c.mechanism
	if len(c.entries) == 0 {
		p.mechanism = preferred(Sharing(c.info, r.config.Mechanisms), e.Avoid)
	}
	if avoid, ok := e.Avoid.Get(); ok && avoid == p.mechanism {
		return "its tasks share by " + avoid.String() + ", under which memory ran out", nil
	}
	g.Mechanisms = c.gpu([]profile.Mechanism{p.mechanism}).Mechanisms
	t := r.demand(e)
	if p.verdict, err = r.planner.Fit(t, g); err != nil {
		return "", err
	}
	v := &p.verdict
	switch {
	case !v.Fits && t.Reserved == 1:
		return fmt.Sprintf("it takes all that is free, and others use all of it: %v", v.Free), nil
	case !v.Fits:
		return v.String(), nil
	case v.Free < r.config.MemoryFloor:
		return fmt.Sprintf("memory floor: %v are free, want %v", v.Free, r.config.MemoryFloor), nil
	}
	if t.Reserved == 1 {
		v.Reserved = max(1, v.Free)
	}
	if p.score, err = r.planner.Score(t, g); err == nil && p.score <= 0 && len(g.Residents) > 0 {
		reason = "sharing would gain nothing"
	}
	return reason, err
}

// tooLarge is an error if a task would fit no card even if it were empty.
func (r *Runner) tooLarge(e *entry) error {
	var last string
	for _, c := range r.cards {
		if c.lost {
			continue
		}
		v, err := r.planner.Fit(r.demand(e), c.gpu(r.config.Mechanisms))
		if err != nil || v.Fits && v.Free >= r.config.MemoryFloor {
			return err
		}
		last = fmt.Sprintf("%s, when empty: %v", c.info.ID, v)
	}
	return errors.New("fits no GPU: " + last)
}

// reserve enters a placement in queue and books; why says what the Ledger
// objected to.
func (r *Runner) reserve(e *entry, p placed) (why string) {
	c := r.cards[p.card]
	t := r.demand(e)
	t.Reserved = max(1, p.verdict.Reserved) // the books refuse a task that needs nothing, as one seen to use no memory
	if err := r.book(t, c); err != nil {
		return err.Error()
	}
	r.queue.start(e)
	r.closeWindow(c)
	c.join(e, p.mechanism)
	e.GPU, e.Mechanism, e.Reserved = c.info.ID, p.mechanism, t.Reserved
	e.Predicted, e.Speed, e.Peak = p.verdict.Speed, profile.Opt[float64]{}, profile.Opt[profile.Bytes]{}
	e.Step, e.Total, e.StepTime = profile.Opt[int64]{}, profile.Opt[int64]{}, profile.Opt[time.Duration]{}
	e.Started, e.Waiting, e.Err = r.now(), "", ""
	e.Exit, e.Signal, e.Stop = 0, 0, 0
	e.PID, e.PIDStart = 0, 0
	e.adopted, e.gone, e.killed, e.told, e.keeper, e.overtaken = false, false, false, false, 0, 0
	e.Restarts, e.restarted, e.cycle = 0, time.Time{}, 0
	e.Log = r.newLog(e)
	e.termAt = time.Time{}
	r.change(e)
	return ""
}

// book reserves for a task and commits at once.
func (r *Runner) book(t colloc.Task, c *card) error {
	lease, err := r.ledger.Reserve(r.ledger.Snapshot().Version, ledger.Claim{Task: t, GPU: string(c.info.ID)})
	if err != nil {
		return err
	}
	return r.ledger.Commit(lease)
}

// preferred is the first mechanism that a task does not avoid.
func preferred(mechanisms []profile.Mechanism, avoid profile.Opt[profile.Mechanism]) profile.Mechanism {
	for _, m := range mechanisms {
		if a, ok := avoid.Get(); !ok || a != m {
			return m
		}
	}
	return profile.Exclusive
}
