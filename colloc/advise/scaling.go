package advise

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ScalingPoint is one measurement of a scaling profile: how fast a task ran on
// some GPUs of one type.
type ScalingPoint struct {
	// GPU is the type.
	GPU string
	// GPUs is how many of them, at least 1.
	GPUs int
	// Throughput is work per time, more than 0, in the same unit for all
	// points: samples per second of useful training.
	Throughput float64
	// Price is that of one GPU for one hour, in any currency; 0 is unknown.
	Price float64
}

// DefaultScalingGain is the share of the first GPU's work that every further GPU
// must add: half. Pollux (Qiao et al., OSDI 2021, section 5.1) takes job sizes
// with 50 % to 80 % of the ideal speed-up as those that users who tune their
// jobs would choose.
const DefaultScalingGain = 0.5

// ScalingChoice is how many GPUs of one type to take.
type ScalingChoice struct {
	// GPU is the type, GPUs how many.
	GPU  string `json:"gpu"`
	GPUs int    `json:"gpus"`
	// Throughput is what was measured there. Speedup is that over the throughput of the
	// fewest GPUs of the type that were measured. Efficiency is the throughput of one
	// GPU over that of one of those fewest.
	Throughput float64 `json:"throughput"`
	Speedup    float64 `json:"speedup"`
	Efficiency float64 `json:"efficiency"`
	// Cost is the price of one unit of Throughput for one hour; 0 is unknown.
	Cost float64 `json:"cost,omitempty"`
	// Next is the next larger number that was measured, NextGain what each of
	// its additional GPUs would add, as a share of what one of the fewest does:
	// less than was asked for. Next is 0 if nothing larger was measured.
	Next     int     `json:"next,omitempty"`
	NextGain float64 `json:"next_gain,omitempty"`
}

// ChooseGPUs reads a scaling profile: for each type of GPU it goes from the
// fewest GPUs on to more as long as each additional one brings at least minGain
// (0 means [DefaultScalingGain]) of what one of the fewest does,
//
//	gain(n -> m) = (T(m) - T(n)) / (m - n) / (T(first) / first),
//
// and stops before the first step that does not. The choices come cheapest per
// work first if all prices are known, else fastest first; ties keep the order of
// the points. It returns an error for a point that cannot be, and for two of the
// same GPUs. O(points log points).
func ChooseGPUs(points []ScalingPoint, minGain float64) ([]ScalingChoice, error) {
	if minGain == 0 {
		minGain = DefaultScalingGain
	}
	if !finite(minGain) {
		return nil, fmt.Errorf("advise: scaling: minGain is %v, want 0 for the default or more", minGain)
	}
	var types []string
	byType := make(map[string][]ScalingPoint)
	var errs []error
	for i, p := range points {
		if err := p.validate(byType[p.GPU]); err != nil {
			errs = append(errs, fmt.Errorf("advise: scaling: point %d (%d x %s): %w", i, p.GPUs, p.GPU, err))
			continue
		}
		if byType[p.GPU] == nil {
			types = append(types, p.GPU)
		}
		byType[p.GPU] = append(byType[p.GPU], p)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	choices := make([]ScalingChoice, 0, len(types))
	for _, t := range types {
		choices = append(choices, choose(byType[t], minGain))
	}
	order(choices)
	return choices, nil
}

// order sorts by cost if all are known, else by throughput.
func order(choices []ScalingChoice) {
	priced := !slices.ContainsFunc(choices, func(c ScalingChoice) bool { return !(c.Cost > 0) })
	slices.SortStableFunc(choices, func(a, b ScalingChoice) int {
		if priced {
			return cmp.Compare(a.Cost, b.Cost)
		}
		return cmp.Compare(b.Throughput, a.Throughput)
	})
}

// maxThroughput keeps products and quotients finite.
const maxThroughput = 1e100

func (p *ScalingPoint) validate(others []ScalingPoint) error {
	switch {
	case p.GPUs < 1 || p.GPUs > math.MaxInt32:
		return fmt.Errorf("number of GPUs is %d, want at least 1", p.GPUs)
	case !(p.Throughput >= 1/maxThroughput && p.Throughput <= maxThroughput):
		return fmt.Errorf("throughput is %v, want more than 0", p.Throughput)
	case !(p.Price >= 0 && p.Price <= maxThroughput):
		return fmt.Errorf("price is %v, want 0 or more", p.Price)
	case slices.ContainsFunc(others, func(o ScalingPoint) bool { return o.GPUs == p.GPUs }):
		return errors.New("it was measured twice; give the mean")
	}
	return nil
}

// choose climbs through the points of one type.
func choose(points []ScalingPoint, minGain float64) ScalingChoice {
	slices.SortFunc(points, func(a, b ScalingPoint) int { return cmp.Compare(a.GPUs, b.GPUs) })
	first := points[0]
	one := first.Throughput / float64(first.GPUs)
	var c ScalingChoice
	best := first
	for _, p := range points[1:] {
		if gain := (p.Throughput - best.Throughput) / float64(p.GPUs-best.GPUs) / one; gain < minGain {
			c.Next, c.NextGain = p.GPUs, gain
			break
		}
		best = p
	}
	c.GPU, c.GPUs, c.Throughput = best.GPU, best.GPUs, best.Throughput
	c.Speedup = best.Throughput / first.Throughput
	c.Efficiency = best.Throughput / float64(best.GPUs) / one
	c.Cost = best.Price * float64(best.GPUs) / best.Throughput
	return c
}

// String says what to take and why not more.
func (c ScalingChoice) String() string {
	text := fmt.Sprintf("%d x %s: throughput %.4g, %.0f %% efficient", c.GPUs, c.GPU, c.Throughput, 100*c.Efficiency)
	if c.Next > 0 {
		text += fmt.Sprintf("; with %d each more GPU would add only %.0f %%", c.Next, 100*c.NextGain)
	}
	return text
}

// finite reports whether x is a finite number and not negative.
func finite(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
