package runner

import (
	"errors"
	"fmt"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/fleet"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// patience is how many later tasks may start before a task that waits for room;
// then a GPU is kept free for it.
const patience = 16

// place decides which tasks start now and enters them in queue and books. The
// caller holds the lock and starts them after the transaction.
func (r *Runner) place() []*backlog.Entry {
	seats, alive := 0, false
	for _, c := range r.fleet.Cards {
		seats += r.fleet.Seats(c)
		alive = alive || !c.Lost
	}
	if full := r.diskFull(r.config.Dir, r.config.Dir); full != "" {
		r.warn("disk", nil, full+"; no "+r.config.Noun+" starts until there is room")
		return nil
	}
	delete(r.warned, "disk")
	if seats <= 0 && r.config.Serve || alive && (seats <= 0 || r.halted) {
		return nil
	}
	p := &pass{r: r, seats: seats, refused: make(map[barred]refusal), disks: make(map[string]string)}
	for _, e := range r.turn() {
		if !alive {
			r.withdraw(e, Failed, "no GPU is left")
			continue
		}
		if p.seats <= 0 {
			break
		}
		p.try(e)
	}
	return p.starts
}

// pass is one look at all tasks that may start.
type pass struct {
	r       *Runner
	seats   int
	refused map[barred]refusal
	disks   map[string]string // what is wrong with that of a folder
	kept    []int             // the cards that are kept free for a task that waited too long
	waits   []*backlog.Entry
	starts  []*backlog.Entry
}

// refusal is why tasks do not start.
type refusal struct {
	why       string
	absent    bool // no room would help, but a GPU that comes back
	inherited bool // it would not wait for that, had it come today
}

// try starts a task, or notes what it waits for.
func (p *pass) try(e *backlog.Entry) {
	class, closed, why := p.r.allowed(e)
	if why != "" {
		e.Waiting = why
		return
	}
	full, looked := p.disks[e.Task.Dir]
	if !looked {
		full = p.r.diskFull(e.Task.Dir, "its folder")
		p.disks[e.Task.Dir] = full
	}
	if full != "" {
		e.Waiting = full // no GPU could help it: who comes after it does not overtake
		return
	}
	refused, known := p.refused[class]
	if !known || refused.inherited && !e.Inherited {
		why, err := p.fit(e, append(closed, p.kept...))
		refused = refusal{why: why}
		if absent := errors.Is(err, fleet.ErrAbsent); p.r.config.Serve && (absent || e.Inherited && err != nil) {
			refused, err = refusal{why: err.Error(), absent: true, inherited: !absent}, nil
		}
		if err != nil {
			p.r.withdraw(e, Failed, err.Error())
			return
		}
		if refused.why == "" {
			return
		}
		p.refused[class] = refused
	}
	e.Waiting = refused.why
	if refused.absent {
		return // as with a full disk
	}
	p.waits = append(p.waits, e)
	if !known && p.kept == nil && e.Overtaken >= patience {
		p.kept = p.r.fleet.Keep(e, closed)
	}
}

// fit places a task if it fits anywhere but on the closed cards; why says why not.
func (p *pass) fit(e *backlog.Entry, closed []int) (why string, err error) {
	r := p.r
	at, why, err := r.fleet.Fit(e, closed)
	if err != nil || why != "" {
		return why, err
	}
	if why = r.reserve(e, at); why != "" {
		return why, nil
	}
	p.seats -= len(at.Cards)
	p.starts = append(p.starts, e)
	if r.config.Turns != nil {
		r.config.Turns.Placed(&e.Record)
	}
	overtake(p.waits)
	return "", nil
}

// overtake counts one more task that started before those that wait. Counting
// for the first is enough: it is the first to wait longest.
func overtake(waits []*backlog.Entry) {
	if len(waits) > 0 {
		waits[0].Overtaken++
	}
}

// reserve enters a placement in queue and books; why says what the Ledger
// objected to.
func (r *Runner) reserve(e *backlog.Entry, p fleet.Place) (why string) {
	cards := make([]*fleet.Card, len(p.Cards))
	for i, at := range p.Cards {
		cards[i] = r.fleet.Cards[at]
	}
	reserved := max(1, p.Verdict.Reserved) // the books refuse a task that needs nothing, as one seen to use no memory
	if err := r.fleet.Book(e, cards, reserved); err != nil {
		return err.Error()
	}
	r.queue.Start(e)
	e.GPU, e.GPUs, e.Mechanism, e.Reserved = cards[0].Info.ID, nil, p.Mechanism, reserved
	for _, c := range cards {
		r.measured(r.fleet.CloseWindow(c))
		if len(cards) > 1 {
			e.GPUs = append(e.GPUs, c.Info.ID)
		}
	}
	r.fleet.Join(e, p.Mechanism)
	e.Predicted, e.Speed, e.Peak = p.Verdict.Speed, profile.Opt[float64]{}, profile.Opt[profile.Bytes]{}
	e.Step, e.Total, e.StepTime = profile.Opt[int64]{}, profile.Opt[int64]{}, profile.Opt[time.Duration]{}
	e.Started, e.Waiting, e.Err = r.now(), "", ""
	e.Exit, e.Signal, e.Stop, e.LogDropped = 0, 0, 0, 0
	e.PID, e.PIDStart, e.Stood = 0, 0, time.Time{}
	e.Adopted, e.Gone, e.Killed, e.Told, e.Keeper, e.Port, e.Overtaken = false, false, false, false, 0, 0, 0
	e.Restarts, e.Restarted, e.Cycle = 0, time.Time{}, 0
	e.Log = r.newLog(e)
	e.TermAt = time.Time{}
	r.change(e)
	return ""
}

// diskFull says that the disk of a folder, which others know by a name, has no room for
// another task; empty if it has, or if nobody knows.
func (r *Runner) diskFull(dir, name string) string {
	free, ok := r.config.free(dir)
	if !ok || free >= r.config.DiskFloor {
		return ""
	}
	return fmt.Sprintf("the disk of %s is full: %v are free, want %v", name, free, r.config.DiskFloor)
}

// holdShared looks at what other runners of this user have reserved and keeps them from
// reserving more until tellShared; false if one of them is at it, or nobody knows.
func (r *Runner) holdShared() bool {
	if r.shared == nil {
		return true
	}
	others, err := r.shared.Hold()
	if err != nil {
		if !errors.Is(err, supervise.ErrInUse) {
			r.warn("shared", nil, "the book that runners share cannot be read, and no "+r.config.Noun+" starts: "+err.Error())
		}
		return false
	}
	r.fleet.Promise(others, r.queue.Active)
	return true
}

// tellShared tells the other runners what this one has reserved.
func (r *Runner) tellShared() {
	if r.shared == nil {
		return
	}
	if err := r.shared.Release(fleet.Promises(r.queue.Active)); err != nil {
		r.warn("shared", nil, "the book that runners share cannot be written: "+err.Error())
	}
}
