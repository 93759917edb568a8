package workload

import (
	"slices"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
)

// Pool holds workloads that wait for their next run. With room for none, every
// run has a fresh process.
type Pool struct {
	Room     int           // for so many
	Patience time.Duration // how long one may take to quit
	Idle     []*Process    // the longest idle first
}

// Take returns a waiting process of a kind, or nil. One that did not wait, but
// ended or spoke, is let go of.
func (p *Pool) Take(s plan.Slot) *Process {
	for {
		i := slices.IndexFunc(p.Idle, func(w *Process) bool { return w.slot == s })
		if i < 0 {
			return nil
		}
		w := p.Idle[i]
		p.Idle = slices.Delete(p.Idle, i, i+1)
		if w.waiting() {
			return w
		}
		w.Kill()
	}
}

// Put keeps a process for later, and lets go of the longest idle if there is no
// room.
func (p *Pool) Put(w *Process) {
	p.Idle = append(p.Idle, w)
	p.shrink(p.Room)
}

// Clear lets go of all.
func (p *Pool) Clear() { p.shrink(0) }

func (p *Pool) shrink(n int) {
	for len(p.Idle) > n {
		p.Idle[0].Quit(p.Patience)
		p.Idle = p.Idle[1:]
	}
}
