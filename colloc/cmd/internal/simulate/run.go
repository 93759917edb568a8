package simulate

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/bound"
	"example.com/colloc/colloc/sim/history"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/profile"
)

// study is what is simulated: every policy under every seed.
type study struct {
	trace    string // its name, for people
	world    string // a sentence on what is simulated
	cluster  *sim.Cluster
	policies []sim.Policy
	seeds    int
	first    uint64 // the lowest of them
	baseline string // what verdicts compare with
	// left names the policies that are left out, and why.
	left []string
	// draw returns what happens under a seed; runs with the same seed see the
	// same.
	draw func(seed uint64) (day, error)
	// timeline says that the first seed's run of each policy is drawn.
	timeline bool
	// done is called after each run, from several goroutines.
	done func()
	// told is the truth in words.
	told string
	// boundSet says that what no policy comes below is proven for each seed, and of how many
	// tasks on a GPU at most; 0 is not.
	boundSet int
	// proofs is where proofs are kept; empty is nowhere.
	proofs string
}

// day is what happens under one seed.
type day struct {
	tasks   []sim.Task
	options sim.Options
	losses  []sim.Loss
	// profiling is what the first start costs under policies that need profiles
	profiling time.Duration
	// learn lets lengths, and memory that is not known, be predicted from what was seen
	// of the day; nobody reserves more than most, if that is not 0.
	learn bool
	// unknown does so for lengths alone
	unknown bool
	most    profile.Bytes
	// alike names tasks that the truth takes to be alike; nil is by all that is known.
	alike func(*sim.Task) string
}

// outcome is one run.
type outcome struct {
	Policy string
	Seed   uint64
	*sim.Result
	Timeline *timeline // of the first seed, if asked for
	// Late is how long services did not keep their latency.
	Late time.Duration
	// Bound is what no policy comes below on this day, if asked for; Crowd is the largest set.
	Bound *bound.Bound
	Crowd int
}

// run simulates everything on all CPUs. The outcomes are ordered by policy, then
// seed, whatever finished first.
func (s *study) run(ctx context.Context) ([]outcome, error) {
	out := make([]outcome, len(s.policies)*s.seeds)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range out {
		group.Go(func() error {
			p, seed := s.policies[i/s.seeds], s.first+uint64(i%s.seeds)
			o, err := s.one(inner, p, seed)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", p.Name(), seed, err)
			}
			out[i] = o
			if s.done != nil {
				s.done()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// newHistory lets policies be told what is learned on a day; nil if nothing is.
func newHistory(d *day, o *sim.Options) *history.History {
	if !d.learn && !d.unknown {
		return nil
	}
	h := history.New(d.tasks)
	capped := func(says func(*sim.Task) profile.Bytes) func(*sim.Task) profile.Bytes {
		return func(t *sim.Task) profile.Bytes {
			if bytes := says(t); d.most == 0 || bytes < d.most {
				return bytes
			}
			return d.most
		}
	}
	o.Length, o.Guessed = h.Length, true
	if !d.learn {
		return h
	}
	if o.Reserve != nil {
		o.Reserve = capped(h.Memory(o.Reserve))
	}
	if o.Likely != nil {
		o.Likely = capped(h.Memory(o.Likely))
	}
	return h
}

func (s *study) one(ctx context.Context, p sim.Policy, seed uint64) (outcome, error) {
	d, err := s.draw(seed)
	if err != nil {
		return outcome{}, err
	}
	options := d.options
	if d.profiling > 0 && policy.Profiles(p) {
		d.tasks = slices.Clone(d.tasks)
		for i := range d.tasks {
			d.tasks[i].Profiling = d.profiling
		}
	}
	options.Seed = seed
	o := outcome{Policy: p.Name(), Seed: seed}
	if s.timeline && seed == s.first {
		o.Timeline = newTimeline(s.cluster.GPUs())
	}
	services, seen, sets := newWatch(d.tasks), newHistory(&d, &options), make(company)
	options.OnEvent = func(e *sim.Event) {
		o.Crowd = max(o.Crowd, sets.note(e))
		if o.Timeline != nil {
			o.Timeline.note(e)
		}
		if services != nil {
			services.note(e)
		}
		if seen != nil {
			seen.Note(e)
		}
	}
	c := *s.cluster
	c.Losses = d.losses
	o.Result, err = sim.Run(ctx, &c, d.tasks, p, options)
	if o.Timeline != nil && err == nil {
		o.Timeline.finish(o.Last.At)
	}
	if services != nil && err == nil {
		services.finish(o.Last.At)
		o.Late = services.late
	}
	return o, err
}

// company counts the tasks on each GPU.
type company map[int]int

// note returns how many tasks are on a GPU where one started, at the most.
func (c company) note(e *sim.Event) int {
	most := 0
	for _, g := range e.GPUs {
		switch {
		case e.Index < 0: // of the GPU
		case e.Kind == sim.Start || e.Kind == sim.Recovery:
			c[g]++
			most = max(most, c[g])
		case e.Kind == sim.Finish || e.Kind == sim.Preemption || e.Kind == sim.OutOfMemory || e.Kind == sim.GPULoss:
			c[g]--
		}
	}
	return most
}
