package bound

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// endsOf returns for each list of prices of work by kind, that stay, when the first, second, …
// task ends on one machine that does in a second what all GPUs earn at most. There the task of
// which least is left goes first: nobody has done more tasks by any time (Schrage 1968,
// doi:10.1287/opre.16.3.687).
func (d *day) endsOf(ctx context.Context, order [][]float64, all source) ([][]float64, error) {
	p := Prices{Moments: make([]float64, len(order)), Work: make([][]float64, len(d.kinds))}
	for n, prices := range order {
		if len(prices) != len(d.kinds) {
			return nil, fmt.Errorf("list %d has prices of %d kinds, want %d", n, len(prices), len(d.kinds))
		}
		for k, x := range prices {
			if !(x >= 0 && x <= most) {
				return nil, fmt.Errorf("price %d of list %d is %v, want 0 to %g", k, n, x, most)
			}
			p.Work[k] = append(p.Work[k], x)
		}
	}
	earned, err := d.earn(ctx, &p, all)
	if err != nil {
		return nil, err
	}
	ends := make([][]float64, len(order))
	for n := range order {
		ends[n] = d.shortestFirst(order[n], earned[n])
	}
	return ends, nil
}

// endsAlone returns when the first, second, … task ends that goes alone.
func (d *day) endsAlone() []float64 {
	out := make([]float64, len(d.tasks))
	for i := range d.tasks {
		out[i] = d.tasks[i].alone
	}
	slices.Sort(out)
	return out
}

// later makes each of the ends the later of two, and returns the sum.
func later(ends, other []float64) float64 {
	sum := 0.0
	for j := range ends {
		ends[j] = max(ends[j], other[j])
		sum += ends[j]
	}
	return sum
}

// shortestFirst plays one machine that earns so much in a second, and returns the ends in order.
// What is rounded is less than the part by which the machine is faster.
func (d *day) shortestFirst(prices []float64, earned float64) []float64 {
	const blur = 1e-9
	earned *= 1 + blur
	byArrival := make([]*task, len(d.tasks))
	for i := range d.tasks {
		byArrival[i] = &d.tasks[i]
	}
	slices.SortStableFunc(byArrival, func(a, b *task) int { return cmp.Compare(a.arrival, b.arrival) })
	var left, ends []float64 // what is left of those that came, the least last
	now := 0.0
	for i := 0; i < len(byArrival) || len(left) > 0; {
		if len(left) == 0 {
			now = max(now, byArrival[i].arrival)
		}
		for ; i < len(byArrival) && byArrival[i].arrival <= now; i++ {
			t := byArrival[i]
			worth := down(down(t.work*t.width) * prices[t.kind])
			at, _ := slices.BinarySearchFunc(left, worth, func(a, b float64) int { return cmp.Compare(b, a) })
			left = slices.Insert(left, at, worth)
		}
		last := len(left) - 1
		end := now
		if left[last] > 0 {
			end = now + left[last]/earned
		}
		if i < len(byArrival) && byArrival[i].arrival < end {
			left[last] = max(0, left[last]-float64(earned*(byArrival[i].arrival-now)))
			now = byArrival[i].arrival
			continue
		}
		now, left = end, left[:last]
		ends = append(ends, now)
	}
	return ends
}

// provenOrder returns what the earliest ends prove of the last end, and of the mean.
func (d *day) provenOrder(ctx context.Context, order [][]float64, all source) (makespan, mean time.Duration, err error) {
	ends := d.endsAlone()
	lists, err := d.endsOf(ctx, order, all)
	if err != nil {
		return 0, 0, err
	}
	for _, list := range lists {
		later(ends, list)
	}
	last, sum := 0.0, 0.0
	for i, end := range ends {
		last = max(last, end)
		sum = down(sum + down(end-up(above(d.tasks[i].task.Arrival))))
	}
	for _, h := range d.hosts {
		last, sum = max(last, h.at), down(sum+h.stay)
	}
	n := len(d.tasks) + len(d.hosts)
	return duration(down(last - d.first)), duration(down(sum / float64(n))), nil
}
