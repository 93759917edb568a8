package runner

import (
	"errors"

	"example.com/colloc/colloc/runner/internal/shared"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// holdShared looks at what other runners of this user have reserved and keeps them from
// reserving more until tellShared; false if one of them is at it, or nobody knows.
func (r *Runner) holdShared() bool {
	if r.shared == nil {
		return true
	}
	others, err := r.shared.Hold()
	if err != nil {
		if !errors.Is(err, supervise.ErrInUse) {
			r.warn("shared", nil, "the book that runners share cannot be read, and no task starts: "+err.Error())
		}
		return false
	}
	own := make(map[supervise.Process]bool) // also on the page of the runner that they were adopted from
	for _, e := range r.queue.active {
		own[supervise.Process{PID: e.PID, Start: e.PIDStart}] = e.PID != 0
	}
	for _, c := range r.cards {
		c.promised = 0
	}
	for _, run := range others {
		if c := r.card(nvmlx.DeviceID(run.GPU)); c != nil && !own[run.Process] {
			c.promised += max(0, run.Reserved-c.usedBy(run.Process))
		}
	}
	return true
}

// usedBy is what a task of another runner was seen to use: what it reserved beyond
// that is promised to it. What is used counts already.
func (c *card) usedBy(p supervise.Process) (used profile.Bytes) {
	if p.PID == 0 {
		return 0
	}
	for _, process := range c.processes {
		if _, ok := supervise.Owner(process.InnerPID.Or(process.PID), map[int]bool{p.PID: true}); ok {
			used += process.MemUsed.Or(0)
		}
	}
	return used
}

// tellShared tells the other runners what this one has reserved.
func (r *Runner) tellShared() {
	if r.shared == nil {
		return
	}
	if err := r.shared.Release(r.sharedRuns()); err != nil {
		r.warn("shared", nil, "the book that runners share cannot be written: "+err.Error())
	}
}

// sharedRuns is what this runner holds, for the others.
func (r *Runner) sharedRuns() (own []shared.Run) {
	for _, e := range r.queue.active {
		for _, id := range e.devices() {
			own = append(own, shared.Run{GPU: string(id), Reserved: e.Reserved, Process: supervise.Process{PID: e.PID, Start: e.PIDStart}})
		}
	}
	return own
}
