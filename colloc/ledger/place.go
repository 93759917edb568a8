package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"example.com/colloc/colloc"
)

// MaxTries is how often [Ledger.Place] decides before it gives up because others were
// quicker each time.
const MaxTries = 16

// Placed is what [Ledger.Place] did.
type Placed struct {
	// Lease holds the reservation: start the task and commit it, or roll it back.
	Lease Lease
	// GPUs are the IDs of the cards, one but for a gang.
	GPUs []string
	// Verdict is that of the planner; of a gang it speaks of the first of its GPUs.
	Verdict colloc.Verdict
	// Tries is how often it decided, 1 where nobody was quicker.
	Tries int
}

// UnplacedError is why [Ledger.Place] took nothing. It is [ErrFull] if the task fits on
// none of the GPUs, and [ErrConflict] if it did, but others were quicker every time.
type UnplacedError struct {
	// Task is the task's ID, Tries how often it was decided.
	Task  string
	Tries int
	// Verdict names the limit that binds on the GPU that comes first, see
	// [colloc.Planner.Best]. The zero Verdict where
	// the task fitted, or where there was no GPU.
	Verdict colloc.Verdict
	// Err is the last refusal of the books, a [*RefusedError]; nil if the planner found
	// no GPU. One that is ErrFull and no conflict says that the books are stricter than
	// the planner: give both the same Headroom and MaxSet.
	Err error
}

// Error says why, and what would help.
func (e *UnplacedError) Error() string {
	switch {
	case e.Err != nil && errors.Is(e.Err, ErrConflict):
		return fmt.Sprintf("ledger: place: task %q: others were quicker %d times; try again: %v", e.Task, e.Tries, e.Err)
	case e.Err != nil:
		return fmt.Sprintf("ledger: place: task %q: the books are stricter than the planner: %v", e.Task, e.Err)
	case e.Verdict == (colloc.Verdict{}):
		return fmt.Sprintf("ledger: place: task %q: there is no GPU", e.Task)
	default:
		return fmt.Sprintf("ledger: place: task %q fits on none of the GPUs; on the first: %v", e.Task, e.Verdict)
	}
}

// Unwrap returns Err.
func (e *UnplacedError) Unwrap() error { return e.Err }

// Is makes errors.Is answer for [ErrFull].
func (e *UnplacedError) Is(target error) bool { return target == ErrFull && e.Err == nil }

// Place finds the best GPU for a task and reserves it there: it looks at the books,
// asks [colloc.Planner.Best], reserves, and where another scheduler was quicker looks
// again, up to [MaxTries] times. gpus are the IDs of those it may take, all if none is
// named. A gang takes those of [colloc.Planner.BestGang].
//
//	placed, err := books.Place(ctx, planner, task)
//	... start the task on placed.GPUs ...
//	err = books.Commit(placed.Lease) // or Rollback
//
// The planner must have the headroom and the MaxSet of the books. That the task cannot
// be placed now is an [*UnplacedError]; the others are [ErrDuplicate] for a task that is
// in the books already, [ErrUnknown] for a GPU that is not, those of
// [colloc.Planner.Best], and ctx.Err(). Safe for concurrent use; no lock is held while
// the planner thinks. Tasks that arrive together are placed better by one Plan.
func (l *Ledger) Place(ctx context.Context, p *colloc.Planner, task colloc.Task, gpus ...string) (Placed, error) {
	var last error
	for try := 1; try <= MaxTries; try++ {
		if try == 2 { // one after the other: those who tried once do not get in each other's way again
			select {
			case l.turn <- struct{}{}:
				defer func() { <-l.turn }()
			case <-ctx.Done():
			}
		}
		if err := ctx.Err(); err != nil {
			return Placed{}, fmt.Errorf("ledger: place: task %q: %w", task.ID, err)
		}
		placed, err := l.try(ctx, p, task, gpus)
		var refused *RefusedError
		var full *UnplacedError
		switch {
		case err == nil:
			placed.Tries = try
			return placed, nil
		case errors.As(err, &full):
			full.Tries = try
			return Placed{}, full
		case errors.As(err, &refused) && !refused.Stale:
			return Placed{}, &UnplacedError{Task: task.ID, Tries: try, Err: err}
		case refused == nil && !errors.Is(err, errGone):
			return Placed{}, err
		}
		last = err
	}
	return Placed{}, &UnplacedError{Task: task.ID, Tries: MaxTries, Err: last}
}

// errGone is ErrUnknown of a card that left between look and Reserve.
var errGone = fmt.Errorf("%w; it left meanwhile", ErrUnknown)

// try looks, decides and reserves once.
func (l *Ledger) try(ctx context.Context, p *colloc.Planner, task colloc.Task, gpus []string) (Placed, error) {
	seen, err := l.look(task.ID, gpus)
	if err != nil {
		return Placed{}, fmt.Errorf("ledger: place: %w", err)
	}
	claims, verdict, err := choose(p, task, seen.GPUs)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return Placed{}, fmt.Errorf("ledger: place: %w", err)
	}
	if len(claims) == 0 {
		return Placed{}, &UnplacedError{Task: task.ID, Verdict: verdict}
	}
	placed := Placed{Verdict: verdict}
	for i := range claims {
		placed.GPUs = append(placed.GPUs, claims[i].GPU)
	}
	placed.Lease, err = l.Reserve(seen.Version, claims...)
	if errors.Is(err, ErrUnknown) && len(gpus) == 0 {
		return Placed{}, errGone
	}
	return placed, err
}

// look is a Snapshot of some GPUs, or of all if none is named, for a task that must not
// be in the books.
func (l *Ledger) look(task string, gpus []string) (Snapshot, error) {
	l.mu.Lock()
	old := l.seats[task]
	l.mu.Unlock()
	if len(old) > 0 {
		return Snapshot{}, fmt.Errorf("%w: task %q is in the books already", ErrDuplicate, task)
	}
	if len(gpus) == 0 {
		return l.Snapshot(), nil
	}
	return l.View(gpus...)
}

// choose claims the GPUs on which a task gains most, none if it fits nowhere.
func choose(p *colloc.Planner, task colloc.Task, gpus []colloc.GPU) ([]Claim, colloc.Verdict, error) {
	var on []int
	var v colloc.Verdict
	var err error
	if task.Width() > 1 {
		on, v, err = p.BestGang(task, gpus)
	} else if at, one, fault := p.Best(task, gpus); at >= 0 {
		on, v = []int{at}, one
	} else {
		v, err = one, fault
	}
	if err != nil || len(on) == 0 {
		return nil, v, err
	}
	task.Reserved, task.GPUs = v.Reserved, gangSize(&task)
	var claims []Claim
	for _, at := range on {
		claims = append(claims, Claim{Task: task, GPU: gpus[at].ID})
	}
	return claims, v, nil
}
