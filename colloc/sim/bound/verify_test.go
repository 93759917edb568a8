package bound_test

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/bound"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

// each makes every task a kind of its own, so that prices are by task.
func each(t *sim.Task) string { return t.ID }

// bend changes every price at random by up to a fourth, and leaves what they may be at most.
func bend(r *rand.Rand, d *tiny, p *bound.Prices) {
	for _, list := range append([][]float64{p.Task, p.Time, p.Place}, p.Work...) {
		for i := range list {
			list[i] *= 0.75 + 0.5*r.Float64()
		}
	}
	for i := range p.Time {
		p.Time[i] = min(p.Time[i], 0.999-float64(max(1, d.tasks[i].GPUs))*p.Place[i])
	}
}

// TestAnyPricesProve: whatever the prices, what they prove is no more than what is reached,
// and no more than what a slow and obvious reading of the formula comes to.
func TestAnyPricesProve(t *testing.T) {
	useful, seeds := 0, max(2, race.Fewer(8))
	for seed := range uint64(seeds) {
		d := drawTiny(100+seed, 5)
		end, sum := d.best() // sorts by arrival
		r := rand.New(rand.NewPCG(seed, 9))
		o := bound.Options{Truth: d.truth, Alike: each, Moments: 4}
		b, err := bound.Find(t.Context(), d.gpus, d.tasks, o)
		if err != nil {
			t.Fatalf("day %d: %v", seed, err)
		}
		c := b.Certificate
		bend(r, &d, &c.Ends)
		bend(r, &d, &c.Means)
		c.Makespan, c.MeanJCT = 0, 0
		proven := c.Order
		c.Order = nil
		makespan, mean, err := c.Verify(t.Context(), d.gpus, d.tasks, o)
		if err != nil {
			t.Fatalf("day %d: %v", seed, err)
		}
		const blur = 1e-6
		if makespan.Seconds() > end+blur || mean.Seconds() > sum/float64(len(d.tasks))+blur {
			t.Errorf("day %d: proven %v and %v, reached %v s and %v s", seed, makespan, mean, end, sum/float64(len(d.tasks)))
		}
		if slow := slowMean(&d, &c.Means); mean.Seconds() > max(0, slow)+blur {
			t.Errorf("day %d: proven %v, the formula says %v s", seed, mean, slow)
		}
		if mean > 0 {
			useful++
		}
		for range 4 {
			list := make([]float64, len(d.tasks))
			for i := range list {
				list[i] = r.ExpFloat64()
			}
			proven = append(proven, list)
		}
		c.Order = proven
		last, mean, err := c.Verify(t.Context(), d.gpus, d.tasks, o)
		if err != nil || last.Seconds() > end+blur || mean.Seconds() > sum/float64(len(d.tasks))+blur {
			t.Errorf("day %d: proven %v and %v by lists, reached %v s and %v s; %v", seed, last, mean, end, sum/float64(len(d.tasks)), err)
		}
	}
	if useful < seeds/2 {
		t.Errorf("%d of %d bent prices prove anything; want half to see that they prove nothing wrong", useful, seeds)
	}
}

// slowMean is what all prove that go alone, or doc.go's formula, term by term, integrals by sums over many moments, sets as
// subsets of tasks.
func slowMean(d *tiny, p *bound.Prices) float64 {
	n := len(d.tasks)
	cards := d.gpus.Nodes[0].GPUs
	at := func(task int, when float64) float64 {
		price := 0.0
		for k := 1; k < len(p.Moments); k++ {
			if a, b := p.Moments[k-1], p.Moments[k]; when >= a && when <= b && b > a {
				price = p.Work[task][k-1] + (p.Work[task][k]-p.Work[task][k-1])*(when-a)/(b-a)
			}
		}
		return price
	}
	fast, slow := make([]float64, n), make([]float64, n)
	type choice struct {
		card   int
		who    []int
		speeds []float64
	}
	var choices []choice
	for i := range n {
		slow[i] = math.Inf(1)
	}
	for g := range cards {
		for mask := 1; mask < 1<<n; mask++ {
			var set []*sim.Task
			var who []int
			memory := profile.Bytes(0)
			for i := range n {
				if mask>>i&1 == 1 {
					set, who, memory = append(set, &d.tasks[i]), append(who, i), memory+d.tasks[i].Memory
				}
			}
			if bits.OnesCount(uint(mask)) > 4 || memory > cards[g].Model.Memory {
				continue
			}
			dst := make([]float64, len(set))
			_ = d.truth.Speeds(&cards[g], profile.TimeSlice, set, dst)
			for k, i := range who {
				fast[i], slow[i] = max(fast[i], dst[k]), min(slow[i], dst[k])
			}
			choices = append(choices, choice{g, who, dst})
		}
	}
	width := func(i int) float64 { return float64(max(1, d.tasks[i].GPUs)) }
	const horizon, parts = 30000, 1500
	dt := float64(horizon) / parts
	total := 0.0
	for step := range parts {
		when := (float64(step) + 0.5) * dt
		for g := range cards {
			earned := 0.0
			if when <= p.Moments[len(p.Moments)-1] {
				for _, c := range choices {
					worth := 0.0
					for k, i := range c.who {
						worth += c.speeds[k]*at(i, when) - p.Place[i]
					}
					if c.card == g {
						earned = max(earned, worth)
					}
				}
			}
			total -= earned * dt
		}
	}
	alone := 0.0
	for i := range n {
		t := &d.tasks[i]
		a := t.Arrival.Seconds()
		alone += t.Startup.Seconds() + t.Work.Seconds()/fast[i]
		work := t.Work.Seconds() + t.Startup.Seconds()*slow[i]
		early := t.Startup.Seconds() + t.Work.Seconds()/fast[i]
		lambda, place := p.Time[i], width(i)*p.Place[i]
		sum := 0.0
		for step := range parts {
			when := (float64(step) + 0.5) * dt
			if when > a {
				sum += fast[i] * dt * max(0, p.Task[i]-width(i)*at(i, when)-lambda*when/work)
			}
		}
		total += p.Task[i]*work - sum + lambda*work/(2*fast[i]) + place*a + (1-lambda-place)*(a+early) - a
	}
	// Sums over moments are off by no more than a part of what moves within one.
	return max(total/float64(n)+dt, alone/float64(n))
}

func TestTampered(t *testing.T) {
	d := drawTiny(3, 6)
	d.tasks = nil
	for i := range 8 { // more than there is room for, so that prices matter
		d.tasks = append(d.tasks, sim.Task{ID: string(rune('a' + i)), Work: time.Hour, Memory: 7 * profile.GiB, Class: "heavy"})
	}
	o := bound.Options{Truth: d.truth, Moments: 8}
	b, err := bound.Find(t.Context(), d.gpus, d.tasks, o)
	if err != nil {
		t.Fatal(err)
	}
	copied := func() bound.Certificate {
		c := b.Certificate
		for _, p := range []*bound.Prices{&c.Ends, &c.Means} {
			p.Moments, p.Task, p.Time, p.Place = slices.Clone(p.Moments), slices.Clone(p.Task), slices.Clone(p.Time), slices.Clone(p.Place)
			p.Work = slices.Clone(p.Work)
			for k := range p.Work {
				p.Work[k] = slices.Clone(p.Work[k])
			}
		}
		return c
	}
	for name, test := range map[string]struct {
		change   func(*bound.Certificate)
		unproven bool
	}{
		"as it was":           {change: func(*bound.Certificate) {}},
		"claims more":         {func(c *bound.Certificate) { c.MeanJCT++ }, true},
		"claims a longer day": {func(c *bound.Certificate) { c.Makespan += time.Second }, true},
		"work worth nothing":  {func(c *bound.Certificate) { clear(c.Means.Task) }, true},
		"work worth more":     {func(c *bound.Certificate) { c.Means.Task[0] *= 3 }, true},
		"no price of GPUs":    {func(c *bound.Certificate) { clear(c.Means.Work[0]) }, true},
		"dear GPUs": {func(c *bound.Certificate) {
			for k := range c.Means.Work[0] {
				c.Means.Work[0][k] *= 3
			}
		}, true},
		"not a number":          {change: func(c *bound.Certificate) { c.Ends.Task[0] = math.NaN() }},
		"negative":              {change: func(c *bound.Certificate) { c.Means.Place[0] = -1 }},
		"infinite":              {change: func(c *bound.Certificate) { c.Means.Work[0][0] = math.Inf(1) }},
		"too much for a weight": {change: func(c *bound.Certificate) { c.Means.Time[0] = 1.5 }},
		"moments back":          {change: func(c *bound.Certificate) { slices.Reverse(c.Means.Moments) }},
		"a late moment":         {change: func(c *bound.Certificate) { c.Ends.Moments[len(c.Ends.Moments)-1] += 1e6 }},
		"one task less":         {change: func(c *bound.Certificate) { c.Means.Task = c.Means.Task[1:] }},
		"one kind less":         {change: func(c *bound.Certificate) { c.Ends.Work = c.Ends.Work[1:] }},
		"no moments":            {change: func(c *bound.Certificate) { c.Ends.Moments = nil }},
		"a list of no kinds":    {change: func(c *bound.Certificate) { c.Order = append(c.Order, nil) }},
		"a negative list": {change: func(c *bound.Certificate) {
			c.Order = append(c.Order, slices.Repeat([]float64{-1}, len(c.Ends.Work)))
		}},
		"no time": {change: func(c *bound.Certificate) { c.Means.Time = nil }},
	} {
		c := copied()
		test.change(&c)
		_, _, err := c.Verify(t.Context(), d.gpus, d.tasks, o)
		if (err == nil) != (name == "as it was") || errors.Is(err, bound.ErrUnproven) != test.unproven {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	d := drawTiny(1, 4)
	large := slices.Clone(d.tasks)
	large[0].Memory = 1 << 50
	wide := slices.Clone(d.tasks)
	wide[0].GPUs = 3
	faulty := slices.Clone(d.tasks)
	faulty[0].Work = 0
	odd := make([]sim.Task, 400)
	for i := range odd {
		odd[i] = d.tasks[0]
		odd[i].ID, odd[i].GPUs = string(rune('A'+i)), 1
	}
	for name, test := range map[string]struct {
		tasks []sim.Task
		o     bound.Options
		want  error
	}{
		"no truth":         {tasks: d.tasks},
		"no tasks":         {o: bound.Options{Truth: d.truth}},
		"faulty task":      {tasks: faulty, o: bound.Options{Truth: d.truth}},
		"too large":        {large, bound.Options{Truth: d.truth}, bound.ErrNowhere},
		"too wide":         {wide, bound.Options{Truth: d.truth}, bound.ErrNowhere},
		"all differ":       {odd, bound.Options{Truth: d.truth, Alike: each}, bound.ErrKinds},
		"no speeds":        {d.tasks, bound.Options{Truth: classTruth{second: 1, scale: math.NaN()}}, sim.ErrSpeed},
		"too many moments": {tasks: d.tasks, o: bound.Options{Truth: d.truth, Moments: 1 << 20}},
		"sets of no tasks": {tasks: d.tasks, o: bound.Options{Truth: d.truth, MaxSet: -1}},
	} {
		b, err := bound.Find(t.Context(), d.gpus, test.tasks, test.o)
		if err == nil || b != nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bound.Find(ctx, d.gpus, d.tasks, bound.Options{Truth: d.truth}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestAlone: a task alone is bounded by its own time, and a task without a GPU too; start-ups
// that cost nothing lower no more than they must.
func TestAlone(t *testing.T) {
	d := drawTiny(1, 4)
	tasks := []sim.Task{
		{ID: "a", Arrival: time.Hour, Work: time.Hour, Class: "heavy", Startup: time.Minute},
		{ID: "host", Arrival: time.Hour, Work: 3 * time.Hour, HostOnly: true},
	}
	for _, free := range []bool{false, true} {
		b, err := bound.Find(t.Context(), d.gpus, tasks, bound.Options{Truth: classTruth{second: 1}, Moments: 8, FreeStarts: free})
		if err != nil {
			t.Fatal(err)
		}
		want := (61*time.Minute + 3*time.Hour) / 2
		if b.Makespan > 3*time.Hour || b.Makespan < 3*time.Hour-time.Microsecond || b.MeanJCT > want || b.MeanJCT < want-time.Second {
			t.Errorf("%v and %v, want 3 h and %v or a little less", b.Makespan, b.MeanJCT, want)
		}
	}
}
