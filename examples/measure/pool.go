package main

import (
	"slices"
	"time"
)

// pool holds workloads that wait for their next run. With room for none, every
// run has a fresh process.
type pool struct {
	room     int
	patience time.Duration // for a workload to quit
	idle     []*worker     // the longest idle first
}

// take returns a waiting process of a kind, or nil. One that did not wait, but
// ended or spoke, is let go of.
func (p *pool) take(s slot) *worker {
	for {
		i := slices.IndexFunc(p.idle, func(w *worker) bool { return w.slot == s })
		if i < 0 {
			return nil
		}
		w := p.idle[i]
		p.idle = slices.Delete(p.idle, i, i+1)
		if w.waiting() {
			return w
		}
		w.kill()
	}
}

// put keeps a process for later, and lets go of the longest idle if there is no
// room.
func (p *pool) put(w *worker) {
	p.idle = append(p.idle, w)
	p.shrink(p.room)
}

// clear lets go of all.
func (p *pool) clear() { p.shrink(0) }

func (p *pool) shrink(n int) {
	for len(p.idle) > n {
		p.idle[0].quit(p.patience)
		p.idle = p.idle[1:]
	}
}
