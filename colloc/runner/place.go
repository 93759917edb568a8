package runner

import (
	"cmp"
	"slices"
	"time"

	"example.com/colloc/colloc/ledger"
	"example.com/colloc/profile"
)

// patience is how many later tasks may start before a task that waits for room;
// then a GPU is kept free for it.
const patience = 16

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
	refused, disks := make(map[class]string), make(map[string]string)
	var kept []int // the cards that are kept free for a task that waited too long
	var waits []*entry
	for _, e := range slices.Clone(r.queue.ready) {
		if !alive {
			r.withdraw(e, Failed, "no GPU is left")
			continue
		}
		if seats <= 0 || r.halted {
			break
		}
		full, looked := disks[e.Task.Dir]
		if !looked {
			full = r.diskFull(e.Task.Dir)
			disks[e.Task.Dir] = full
		}
		if full != "" {
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
				seats -= len(p.cards)
				starts = append(starts, e)
				overtake(waits)
				continue
			}
		}
		refused[e.class()] = why
		e.Waiting = why
		waits = append(waits, e)
		if kept == nil && e.overtaken >= patience {
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
func (r *Runner) keep(e *entry) []int {
	if e.Task.width() > 1 {
		return r.keepGang(e)
	}
	best := -1
	for i, c := range r.cards {
		if c.lost || best >= 0 && len(c.entries) >= len(r.cards[best].entries) {
			continue
		}
		if v, err := r.planner.Fit(r.demand(e), c.gpu(r.config.Mechanisms)); err == nil && v.Fits {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return []int{best}
}

// reserve enters a placement in queue and books; why says what the Ledger
// objected to.
func (r *Runner) reserve(e *entry, p placed) (why string) {
	cards := make([]*card, len(p.cards))
	for i, at := range p.cards {
		cards[i] = r.cards[at]
	}
	reserved := max(1, p.verdict.Reserved) // the books refuse a task that needs nothing, as one seen to use no memory
	if err := r.book(e, cards, reserved); err != nil {
		return err.Error()
	}
	r.queue.start(e)
	e.GPU, e.GPUs, e.Mechanism, e.Reserved = cards[0].info.ID, nil, p.mechanism, reserved
	for _, c := range cards {
		r.closeWindow(c)
		if len(cards) > 1 {
			e.GPUs = append(e.GPUs, c.info.ID)
		}
	}
	r.join(e, p.mechanism)
	e.Predicted, e.Speed, e.Peak = p.verdict.Speed, profile.Opt[float64]{}, profile.Opt[profile.Bytes]{}
	e.Step, e.Total, e.StepTime = profile.Opt[int64]{}, profile.Opt[int64]{}, profile.Opt[time.Duration]{}
	e.Started, e.Waiting, e.Err = r.now(), "", ""
	e.Exit, e.Signal, e.Stop = 0, 0, 0
	e.PID, e.PIDStart = 0, 0
	e.adopted, e.gone, e.killed, e.told, e.keeper, e.port, e.overtaken = false, false, false, false, 0, 0, 0
	e.Restarts, e.restarted, e.cycle = 0, time.Time{}, 0
	e.Log = r.newLog(e)
	e.termAt = time.Time{}
	r.change(e)
	return ""
}

// book reserves for a task on all its cards and commits at once.
func (r *Runner) book(e *entry, cards []*card, reserved profile.Bytes) error {
	lease, err := r.ledger.Reserve(r.ledger.Snapshot().Version, r.claims(e, cards, reserved)...)
	if err != nil {
		return err
	}
	return r.ledger.Commit(lease)
}

// keepGang chooses the cards that a task of several will get: those with the fewest
// tasks, of the product that has enough.
func (r *Runner) keepGang(e *entry) []int {
	byProduct := make(map[string][]int)
	for i, c := range r.cards {
		if v, err := r.planner.Fit(r.demand(e), c.gpu(r.config.Mechanisms)); !c.lost && err == nil && v.Fits {
			byProduct[c.model.Name] = append(byProduct[c.model.Name], i)
		}
	}
	for _, c := range r.cards {
		if all := byProduct[c.model.Name]; len(all) >= e.Task.width() {
			slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(len(r.cards[a].entries), len(r.cards[b].entries)) })
			return all[:e.Task.width()]
		}
	}
	return nil
}

// claims are what a task asks of the books: all of it, or nothing.
func (r *Runner) claims(e *entry, cards []*card, reserved profile.Bytes) []ledger.Claim {
	claims := make([]ledger.Claim, len(cards))
	for i, c := range cards {
		t := r.demand(e)
		t.Reserved = reserved
		claims[i] = ledger.Claim{Task: t, GPU: string(c.info.ID)}
	}
	return claims
}
