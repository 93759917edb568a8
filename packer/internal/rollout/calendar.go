package rollout

import (
	"cmp"
	"slices"
)

// calendar is a heap of the jobs that run, by their ends.
type calendar struct {
	days    []int32
	entered int32   // jobs so far
	opened  bool    // those that start are entered
	ending  []int32 // see pop
}

// enter notes jobs that run.
func (e *Engine) enter(jobs ...int32) {
	e.opened = true
	for _, i := range jobs {
		e.days = append(e.days, i)
		e.entered++
		e.lives[i].page, e.lives[i].entered = int32(len(e.days)), e.entered
		e.postpone(i)
	}
}

// next is when the first ends.
func (e *Engine) next() int64 {
	if len(e.days) == 0 {
		return never
	}
	return e.lives[e.days[0]].end
}

// pop takes out those that end by now, in the order in which they were entered; valid until the next call.
func (e *Engine) pop() []int32 {
	e.ending = e.ending[:0]
	for e.next() <= e.now {
		first, last := e.days[0], e.days[len(e.days)-1]
		e.days = e.days[:len(e.days)-1]
		e.lives[first].page = 0
		if first != last {
			e.turn(0, last)
			e.postpone(last)
		}
		e.ending = append(e.ending, first)
	}
	slices.SortFunc(e.ending, func(a, b int32) int { return cmp.Compare(e.lives[a].entered, e.lives[b].entered) })
	return e.ending
}

// turn puts a job on a page.
func (e *Engine) turn(at int, i int32) {
	e.days[at] = i
	e.lives[i].page = int32(at + 1)
}

// postpone puts a job where its end belongs.
func (e *Engine) postpone(i int32) {
	at, end := int(e.lives[i].page-1), e.lives[i].end
	for at > 0 {
		up := (at - 1) / 2
		if e.lives[e.days[up]].end <= end {
			break
		}
		e.turn(at, e.days[up])
		at = up
	}
	for {
		down := 2*at + 1
		if down >= len(e.days) {
			break
		}
		if down+1 < len(e.days) && e.lives[e.days[down+1]].end < e.lives[e.days[down]].end {
			down++
		}
		if e.lives[e.days[down]].end >= end {
			break
		}
		e.turn(at, e.days[down])
		at = down
	}
	e.turn(at, i)
}
