package runner

import (
	"os"
	"strconv"
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/body"
	"example.com/colloc/nvmlx"
)

type (
	// Limits are what a user may have.
	Limits = dispatch.Limits
	// Used is what a user had.
	Used = dispatch.Used
	// Account is how a user stands.
	Account = dispatch.Account
)

// Users say how users share the GPUs, by the rules of package dispatch. Their names are their numbers.
type Users struct {
	// HalfLife and Window are those of [dispatch.Options], Limits what users may have; "" is all others.
	HalfLife, Window time.Duration
	Limits           map[string]Limits
}

// userOf is whose a task is; nobody's where users do not matter.
func (c *Config) userOf(e *backlog.Entry) string {
	switch {
	case c.Users == nil:
		return ""
	case c.whose != nil:
		return c.whose(&e.Task)
	case e.Task.Owner == nil:
		return strconv.Itoa(os.Geteuid())
	}
	return strconv.FormatUint(uint64(e.Task.Owner.UID), 10)
}

// Accounts are what users had and have, with hours of GPU time counted from 1970.
func (r *Runner) Accounts() map[string]Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body.Accounts()
}

// Account tells what users had before, as it was kept elsewhere. Tell it before Run.
func (r *Runner) Account(used map[string]Used) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body.Account(r.now(), used)
}

// Reserve keeps tasks from starting on a GPU: of all but one user until a time, or, with a zero User, of everybody. None lifts
// it. It holds for a GPU that comes back, too.
func (r *Runner) Reserve(id nvmlx.DeviceID, of ...Reservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.body.Reserve(string(id), of)
	r.poke()
}

// Reservation keeps a GPU for the tasks of a user until a time; a zero time is without end.
type Reservation = body.Reservation

// Pause lets nothing start any more, or things start again. What runs goes on.
func (r *Runner) Pause(paused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = paused
	r.poke()
}

// Hold keeps tasks from starting until Release: also one that runs, should it be queued
// again. No IDs means all; ErrUnknown changes nothing. O(tasks).
func (r *Runner) Hold(ids ...string) error { return r.hold(true, ids) }

// Release takes Hold back, and [Task].Held.
func (r *Runner) Release(ids ...string) error { return r.hold(false, ids) }

func (r *Runner) hold(held bool, ids []string) error {
	return r.each(ids, func(e *backlog.Entry) {
		if e.State.Over() || e.Task.Held == held {
			return
		}
		e.Task.Held, e.Waiting = held, ""
		if e.State == Queued {
			r.queue.Leave(e)
			r.queue.Wait(e)
		}
		r.tell(EventProgress, e, "")
	})
}
