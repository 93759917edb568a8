package fleet

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// nearlyFull is the share of a GPU's memory from which a death by signal, or a
// failure of CUDA, is taken for lack of memory.
const nearlyFull = 0.98

// Lacked says why a failed run is thought to have run out of the GPU's
// memory; empty if it is not. line is what its output says of it, vague that it
// may mean something else. For want of that memory nobody is killed.
func (f *Fleet) Lacked(e *backlog.Entry, o *supervise.Outcome, line string, vague bool) string {
	switch {
	case o.OK() || o.Lost || o.Final || e.Stop != 0:
		return ""
	case line != "" && !vague:
		return "its output says so: " + line
	case o.Killed() || line == "" && o.Signal == 0:
		return ""
	}
	for _, c := range f.CardsOf(e) {
		if used, total := c.Highest.Or(0), c.Info.Memory.Or(0); total > 0 && float64(used) >= float64(nearlyFull*float64(total)) {
			return fmt.Sprintf("the GPU's memory was full, %v of %v: %s", used, total, cmp.Or(line, o.String()))
		}
	}
	return ""
}

// raise is the factor by which a reservation grows that was too small.
const raise = 1.5

// Recover decides what to do for a task that ran out of memory: reserve
// more, run alone. It returns false when nothing is left.
func (f *Fleet) Recover(e *backlog.Entry) bool {
	needed := max(e.Reserved, e.Peak.Or(0))
	least, largest := profile.BytesOf(raise*float64(needed)), f.largestUsable()
	if float64(needed)*(1+online.DefaultGrowth) <= float64(largest) {
		least = min(least, largest)
	}
	if e.Recovery < queue.ReservedMore && e.Reserved > 0 && least <= largest && !e.Task.Alone {
		e.Recovery, e.Raised = queue.ReservedMore, least
		return true
	}
	if e.Recovery < queue.RanAlone {
		e.Recovery = queue.RanAlone
		return true
	}
	return false
}

// Follow lets the reservations of a card's tasks follow what they were seen to use, and
// returns those that changed. Less is set aside once a peak has stood for long enough, more
// as soon as a task needs it, if there is room beside the others: else it keeps what it has.
func (f *Fleet) Follow(c *Card, now time.Time) (changed []*backlog.Entry) {
	after := f.config.Steady
	if after == 0 {
		after = math.MaxInt64
	}
	for _, e := range c.Entries {
		if f.alone(e) || e.Stop != 0 {
			continue
		}
		if w := watched(e, now); f.amend(e, w.Needs(after, online.DefaultGrowth)) {
			changed = append(changed, e)
		}
	}
	return changed
}

// watched is what is known of a task's memory: what it was seen to use, and others like it.
func watched(e *backlog.Entry, now time.Time) online.Watched {
	peak, seen := e.Peak.Get()
	if e.Stood.IsZero() || float64(peak) > (1+online.DefaultGrowth)*float64(e.Stands) {
		e.Stood, e.Stands = now, peak
	}
	w := online.Watched{Reserved: e.Reserved, Bound: e.Asked(), For: now.Sub(e.Stood)}
	if seen {
		if e.Profile != nil {
			peak = max(peak, profile.BytesOf(e.Profile.Vector.Or(profile.PeakMemory, 0)))
		}
		w.Peak = profile.Some(peak)
	}
	return w
}
