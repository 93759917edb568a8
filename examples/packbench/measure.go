package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// options are the command line.
type options struct {
	quick   bool
	pattern string
	data    string
	repeats int
	lemon   time.Duration
}

const (
	// enough is the time after which a case is not repeated.
	enough = 3 * time.Second
	// longest is the time after which a method is stopped.
	longest = 20 * time.Second
)

// repeated returns the shortest time of some runs: what else the machine does only
// adds to it.
func repeated(repeats int, run func() error) (time.Duration, error) {
	best, total := time.Duration(math.MaxInt64), time.Duration(0)
	for n := 0; n < repeats && total < enough; n++ {
		start := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		took := time.Since(start)
		best, total = min(best, took), total+took
	}
	return best, nil
}

// measure prints the row of a case.
func (c *benchCase) measure(ctx context.Context, repeats int, rival *lemon, r *report) error {
	p := c.problem()
	var s *packer.Solution
	var late bool
	allocated, runs := heapAllocated(), 0
	best, err := repeated(repeats, func() (err error) {
		limited, cancel := context.WithTimeout(ctx, longest)
		defer cancel()
		runs++
		s, err = c.method.Pack(limited, p)
		if late = s != nil && errors.Is(err, context.DeadlineExceeded); late {
			return nil // s is the best so far
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := p.Check(s); err != nil {
		return err
	}
	also, err := c.figures(ctx, p, s)
	if err != nil {
		return err
	}
	if c.must.memory > 0 {
		used := (heapAllocated() - allocated) / profile.Bytes(runs)
		also = append(also, figure{used.String(), "<" + c.must.memory.String(), used >= c.must.memory})
	}
	if late {
		also = append(also, figure{text: "stopped"})
		rival = nil // the plan need not be the best
	}
	time, ratio, err := c.race(ctx, rival, p, s, best)
	r.row(c.name, best, c.must.time, also, time, ratio)
	return err
}

// heapAllocated returns what the program has allocated so far, in all: more than
// it ever held at a time.
func heapAllocated() profile.Bytes {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return profile.Bytes(m.TotalAlloc)
}

// figures returns the gap.
func (c *benchCase) figures(ctx context.Context, p *packer.Problem, s *packer.Solution) ([]figure, error) {
	bound := s.Bound
	if c.bound != nil {
		proved, err := c.bound.Pack(ctx, p)
		if err != nil {
			return nil, err
		}
		bound = proved.Bound
	}
	f := figure{text: "no bound", missed: true}
	if !math.IsInf(bound, 0) {
		gap := 100 * max(0, bound-s.Throughput) / bound
		f = figure{text: fmt.Sprintf("gap %.4f %%", gap), missed: math.Round(1e4*gap) > 1e4*c.must.gap}
	}
	if c.must.time > 0 {
		f.must = fmt.Sprintf("<=%g %%", c.must.gap)
	}
	return []figure{f}, nil
}

// race has LEMON solve the same pairs; it returns its time and how many times
// longer that is, nothing where it cannot.
func (c *benchCase) race(ctx context.Context, rival *lemon, p *packer.Problem, s *packer.Solution, best time.Duration) (took, ratio string, err error) {
	if !c.pairs || rival == nil {
		return "", "", nil
	}
	l, err := rival.solve(ctx, p)
	switch {
	case err != nil:
		return "", "", err
	case l.late:
		return ">" + short(rival.limit), fmt.Sprintf(">%.0f", rival.limit.Seconds()/best.Seconds()), nil
	case math.Abs(l.value-s.Throughput) > 1e-4*s.Throughput:
		return "", "", fmt.Errorf("LEMON finds a matching worth %v, packer one worth %v", l.value, s.Throughput)
	}
	return short(l.took), fmt.Sprintf("%.1f", l.took.Seconds()/best.Seconds()), nil
}
