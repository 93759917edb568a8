package bound

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/sim"
)

// Certificate is prices that prove a Bound, as doc.go has them. Kinds are in the order in
// which their first tasks are given, tasks in that without those that need no GPU; times are
// seconds.
type Certificate struct {
	// Makespan and MeanJCT are what is claimed.
	Makespan time.Duration `json:"makespan_ns"`
	MeanJCT  time.Duration `json:"mean_jct_ns"`
	// Ends proves Makespan. Means proves MeanJCT.
	Ends  Prices `json:"ends"`
	Means Prices `json:"means"`
	// Order are lists of prices of work by kind, that stay, and prove the earliest ends.
	Order [][]float64 `json:"order"`
}

// Prices are α, β, λ and μ of doc.go.
type Prices struct {
	// Moments ascend from the first arrival or before it.
	Moments []float64 `json:"moments_s"`
	// Work is β by kind and moment, straight between two, and 0 before the first. After the
	// last it is 0 for a mean, and stays for an end.
	Work [][]float64 `json:"work"`
	// Task is α by task, Time λ by task, Place μ by kind. The latter two are empty for an end.
	Task  []float64 `json:"task"`
	Time  []float64 `json:"time,omitempty"`
	Place []float64 `json:"place,omitempty"`
}

// ErrUnproven says that a certificate does not prove what it claims.
var ErrUnproven = errors.New("not proven by the prices")

// Verify proves what the certificate claims of a day, which must be given as it was to
// [Find], and returns the bounds that its prices prove; they may be higher than what is
// claimed. It returns an error that wraps [ErrUnproven] if they are lower, one for prices
// that are none (lengths, negative, NaN), those of [Find] for the day, and ctx.Err() when
// cancelled. It asks the truth for every set. O(sets · moments + tasks · moments).
func (c *Certificate) Verify(ctx context.Context, cluster *sim.Cluster, tasks []sim.Task, o Options) (makespan, meanJCT time.Duration, err error) {
	d, err := newDay(cluster, tasks, o)
	if err != nil {
		return 0, 0, err
	}
	if makespan, err = d.provenEnd(ctx, &c.Ends, d.ask); err != nil {
		return 0, 0, fmt.Errorf("bound: certificate: ends: %w", err)
	}
	if meanJCT, err = d.provenMean(ctx, &c.Means, d.ask); err != nil {
		return 0, 0, fmt.Errorf("bound: certificate: means: %w", err)
	}
	last, mean, err := d.provenOrder(ctx, c.Order, d.ask)
	if err != nil {
		return 0, 0, fmt.Errorf("bound: certificate: order: %w", err)
	}
	makespan, meanJCT = max(makespan, last), max(meanJCT, mean)
	if c.Makespan > makespan || c.MeanJCT > meanJCT {
		return makespan, meanJCT, fmt.Errorf("bound: certificate: it claims %v and %v, and %v and %v are proven: %w", c.Makespan, c.MeanJCT, makespan, meanJCT, ErrUnproven)
	}
	return makespan, meanJCT, nil
}

// check refuses what are no prices of the day.
func (p *Prices) check(d *day, mean bool) error {
	if len(p.Moments) < 1 || !slices.IsSorted(p.Moments) || len(p.Work) != len(d.kinds) || len(p.Task) != len(d.tasks) {
		return fmt.Errorf("%d moments, prices of %d kinds and %d tasks; want ascending moments, %d kinds, %d tasks",
			len(p.Moments), len(p.Work), len(p.Task), len(d.kinds), len(d.tasks))
	}
	if mean != (len(p.Time) > 0) || mean && (len(p.Time) != len(d.tasks) || len(p.Place) != len(d.kinds)) {
		return fmt.Errorf("prices of the time of %d tasks and the place of %d kinds", len(p.Time), len(p.Place))
	}
	lists := append([][]float64{p.Moments, p.Task, p.Time, p.Place}, p.Work...)
	for n, list := range lists {
		if n > 3 && len(list) != len(p.Moments) {
			return fmt.Errorf("kind %d has prices of %d moments, want %d", n-4, len(list), len(p.Moments))
		}
		for i, x := range list {
			if !(x >= 0 && x <= most) && n > 0 || math.IsNaN(x) || math.Abs(x) > most {
				return fmt.Errorf("price %d of list %d is %v, want 0 to %g", i, n, x, most)
			}
		}
	}
	return nil
}

// most is the largest price: sums of a day stay far below the largest number.
const most = 1e60

// place is μ of a kind.
func (p *Prices) place(kind int) float64 {
	if len(p.Place) == 0 {
		return 0
	}
	return p.Place[kind]
}

// source gives visit every set that fits a card, with the sum of each kind's speeds.
type source func(ctx context.Context, card int, visit func(members []member, rates []float64)) error

// ask is the source that asks the truth.
func (d *day) ask(ctx context.Context, card int, visit func(members []member, rates []float64)) (err error) {
	d.walk(card, func(members []member) bool {
		if err = ctx.Err(); err == nil {
			err = d.speeds(card, members, func(rates, _ []float64) { visit(members, rates) })
		}
		return err == nil
	})
	return err
}

// earn returns what all cards earn at most at each moment.
func (d *day) earn(ctx context.Context, p *Prices, all source) ([]float64, error) {
	sum := make([]float64, len(p.Moments))
	best, worth := make([]float64, len(sum)), make([]float64, len(sum))
	for c := range d.cards {
		clear(best)
		err := all(ctx, c, func(members []member, rates []float64) {
			clear(worth)
			for i, m := range members {
				cost := down(float64(m.count) * p.place(m.kind))
				for k, price := range p.Work[m.kind] {
					worth[k] = up(worth[k] + up(up(rates[i]*price)-cost))
				}
			}
			for k, w := range worth {
				best[k] = max(best[k], w)
			}
		})
		if err != nil {
			return nil, err
		}
		for k := range sum {
			sum[k] = up(sum[k] + up(float64(d.cards[c].count)*best[k]))
		}
	}
	return sum, nil
}

// during adds up what is earned from the first moment to the last: no more than the ends of
// each part allow, as what cards earn is convex between them.
func during(moments, earned []float64) float64 {
	sum := 0.0
	for k := 1; k < len(moments); k++ {
		sum = up(sum + up(up(moments[k]-moments[k-1])*up(up(earned[k-1]+earned[k])/2)))
	}
	return sum
}

// gains returns v ∫ max(0, α − G·β(t) − λ·t/W) dt from the arrival of a task to the last
// moment, and the integrand there, as if β stayed, and as if it were 0.
func (p *Prices) gains(t *task, alpha, lambda float64) (sum, stays, gone float64) {
	if alpha == 0 {
		return 0, 0, 0
	}
	slope := down(lambda / up(t.work))
	prices := p.Work[t.kind]
	at := func(price, when float64) float64 { return up(up(alpha-down(t.width*price)) - down(slope*when)) }
	for k := 1; k < len(p.Moments); k++ {
		from, to := p.Moments[k-1], p.Moments[k]
		if to <= t.arrival || to <= from {
			continue
		}
		left := prices[k-1]
		if t.arrival > from {
			part := (t.arrival - from) / (to - from)
			const blur = 1e-14
			left = max(0, left+float64(part*(prices[k]-left))-blur*(left+prices[k]))
			from = t.arrival
		}
		sum = up(sum + up(up(to-from)*above0(at(left, max(0, from)), at(prices[k], max(0, to)))))
	}
	last := len(p.Moments) - 1
	end := max(0, t.arrival, p.Moments[last])
	if first := p.Moments[0]; t.arrival < first { // nothing is priced before the first moment
		sum = up(sum + up(up(first-t.arrival)*max(0, at(0, max(0, t.arrival)))))
	}
	return up(t.fast * sum), max(0, up(t.fast*at(prices[last], end))), max(0, up(t.fast*at(0, end)))
}

// above0 is the mean of max(0, f) where f runs straight from a to b.
func above0(a, b float64) float64 {
	if a > b {
		a, b = b, a
	}
	switch {
	case b <= 0:
		return 0
	case a >= 0:
		return up(up(a+b) / 2)
	}
	return up(up(b*b) / down(2*down(b-a)))
}

// provenMean returns the mean completion time that prices prove.
func (d *day) provenMean(ctx context.Context, p *Prices, all source) (time.Duration, error) {
	if err := p.check(d, true); err != nil {
		return 0, err
	}
	earned, err := d.earn(ctx, p, all)
	if err != nil {
		return 0, err
	}
	total := -during(p.Moments, earned)
	for i := range d.tasks {
		worth, err := d.meanOf(p, i)
		if err != nil {
			return 0, fmt.Errorf("task %q: %w", d.tasks[i].task.ID, err)
		}
		total = down(total + down(worth-up(up(d.tasks[i].task.Arrival.Seconds()))))
	}
	for _, h := range d.hosts {
		total = down(total + down(h.stay))
	}
	return duration(down(total / d.count())), nil
}

// count is how many tasks there are, rounded up.
func (d *day) count() float64 { return up(float64(len(d.tasks) + len(d.hosts))) }

// meanOf returns what task i adds to the sum of ends.
func (d *day) meanOf(p *Prices, i int) (float64, error) {
	t := &d.tasks[i]
	alpha, lambda, place := p.Task[i], p.Time[i], up(t.width*p.place(t.kind))
	rest := down(down(1-lambda) - place)
	if rest < 0 {
		return 0, fmt.Errorf("its time and place cost %v and %v, want 1 at most", lambda, place)
	}
	sum, _, gone := p.gains(t, alpha, lambda)
	if gone > 0 {
		if lambda == 0 {
			return 0, fmt.Errorf("its work is worth %v for ever", alpha)
		}
		// from the last moment on the worth falls by λ/W a second
		slope := down(lambda / up(t.work))
		height := up(gone / down(t.fast))
		sum = up(sum + up(t.fast*up(up(height*height)/down(2*slope))))
	}
	worth := down(down(alpha*t.work) - sum)
	worth = down(worth + down(lambda*down(t.work/up(2*t.fast))))
	worth = down(worth + down(down(t.width*p.place(t.kind))*t.arrival))
	return down(worth + down(rest*t.alone)), nil
}

// provenEnd returns the makespan that prices prove.
func (d *day) provenEnd(ctx context.Context, p *Prices, all source) (time.Duration, error) {
	if err := p.check(d, false); err != nil {
		return 0, err
	}
	last := 0.0
	for i := range d.tasks {
		last = max(last, d.tasks[i].alone)
	}
	for _, h := range d.hosts {
		last = max(last, h.at)
	}
	end := p.Moments[len(p.Moments)-1]
	if end > last {
		return 0, fmt.Errorf("the last moment is %v s, want %v at most: all may have ended by then", end, last)
	}
	earned, err := d.earn(ctx, p, all)
	if err != nil {
		return 0, err
	}
	// Whatever was not done by the last moment is done after it, no faster than this.
	left, pace := -during(p.Moments, earned), earned[len(earned)-1]
	for i := range d.tasks {
		t := &d.tasks[i]
		sum, stays, _ := p.gains(t, p.Task[i], 0)
		left = down(left + down(down(p.Task[i]*t.work)-sum))
		pace = up(pace + stays)
	}
	if left > 0 && pace > 0 {
		last = max(last, down(end+down(left/pace)))
	}
	return duration(down(last - d.first)), nil
}

// duration rounds seconds down.
func duration(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(math.Floor(down(seconds*1e9)), math.MaxInt64/2))
}
