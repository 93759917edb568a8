package backlog

import (
	"maps"

	"example.com/colloc/colloc/runner/queue"
)

// Past is what is in the history of a queue: tasks that are over and not in memory any more.
type Past struct {
	// Last is the largest number of a task that was ever there.
	Last int `json:"last"`
	// Ended counts tasks by the user whose they are, -1 for those without an owner, and by
	// their State.
	Ended map[int]map[queue.State]int `json:"ended"`
}

func (p *Past) total() (n int) {
	for _, of := range p.Ended {
		for _, count := range of {
			n += count
		}
	}
	return n
}

// count adds n to those like e and returns the sum; p stays as it is.
func (p *Past) count(e *Entry, n int) Past {
	uid := -1
	if e.Task.Owner != nil {
		uid = int(e.Task.Owner.UID)
	}
	next := Past{Last: max(p.Last, e.Number), Ended: maps.Clone(p.Ended)}
	if next.Ended == nil {
		next.Ended = make(map[int]map[queue.State]int)
	}
	of := maps.Clone(next.Ended[uid])
	if of == nil {
		of = make(map[queue.State]int)
	}
	of[e.State] += n
	next.Ended[uid] = of
	return next
}
