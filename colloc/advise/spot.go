package advise

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Spot is a task that could run on machines that are cheaper because they are
// taken away at times.
type Spot struct {
	// Work is how long the task runs without any interruption, more than 0.
	Work time.Duration
	// Checkpoint is how long it takes to write one, more than 0.
	Checkpoint time.Duration
	// Restart is how long it takes from an interruption until the task works
	// again: a new machine, the image, reading the checkpoint.
	Restart time.Duration
	// Between is the mean time between interruptions, more than 0. They are
	// taken to come at random, without memory (a Poisson process).
	Between time.Duration
	// SpotPrice and OnDemandPrice are per hour, in any currency.
	SpotPrice     float64
	OnDemandPrice float64
}

// SpotPlan is how often to write checkpoints and what is to be expected then.
type SpotPlan struct {
	// Interval is the work between two checkpoints, at most Work: the whole
	// task then goes without any.
	Interval time.Duration `json:"interval_ns"`
	// Young is the same by Young's simpler formula, for comparison.
	Young time.Duration `json:"young_ns"`
	// Expected is the mean wall-clock time until the task is done, at most 292
	// years; Overhead is Expected over Work, less 1.
	Expected time.Duration `json:"expected_ns"`
	Overhead float64       `json:"overhead"`
	// Cost is the mean cost on spot machines, OnDemand that of Work on
	// machines that stay.
	Cost     float64 `json:"cost"`
	OnDemand float64 `json:"on_demand"`
	// Worth says that Cost is less than OnDemand.
	Worth bool `json:"worth"`
}

// PlanSpot finds the checkpoint interval for which a task on spot machines is
// done soonest, and what it costs. With a mean time between interruptions M, a
// stretch of work and checkpoint of length D, restarts of length R, interruptions
// at any time, restarts included, takes on average
//
//	M exp(R / M) (exp(D / M) - 1)
//
// (Daly 2006, doi:10.1016/j.future.2004.11.016, equation 20). The task is cut into
// equal stretches, of which the last needs no checkpoint. Of all numbers of
// stretches the one with the least sum is taken, not the one that is nearest to
// Daly's interval for endless work (equation 37), nor to that of Young 1974,
// doi:10.1145/361147.361115, sqrt(2 C M) with checkpoints that take C: a task about
// as long as M may do best without any checkpoint. It returns an error that names every field that is out of range.
func PlanSpot(s Spot) (SpotPlan, error) {
	if err := s.validate(); err != nil {
		return SpotPlan{}, fmt.Errorf("advise: spot: %w", err)
	}
	work, dump, between := s.Work.Seconds(), s.Checkpoint.Seconds(), s.Between.Seconds()
	stretches, expected := bestStretches(&s)
	expected = min(expected, math.MaxInt64/float64(time.Second))
	p := SpotPlan{
		Interval: min(s.Work, duration(work/stretches)),
		Young:    duration(math.Sqrt(2 * dump * between)),
		Expected: duration(expected),
		Overhead: max(0, expected/work-1),
		Cost:     min(math.MaxFloat64, expected/3600*s.SpotPrice),
		OnDemand: min(math.MaxFloat64, work/3600*s.OnDemandPrice),
	}
	p.Worth = p.Cost < p.OnDemand
	return p, nil
}

func (s *Spot) validate() error {
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, want %s", field, value, want))
		}
	}
	check(s.Work > 0, "Work", s.Work, "more than 0")
	check(s.Checkpoint > 0, "Checkpoint", s.Checkpoint, "more than 0")
	check(s.Restart >= 0, "Restart", s.Restart, "0 or more")
	check(s.Between > 0, "Between", s.Between, "more than 0")
	check(finite(s.SpotPrice), "SpotPrice", s.SpotPrice, "0 or more")
	check(finite(s.OnDemandPrice), "OnDemandPrice", s.OnDemandPrice, "0 or more")
	return errors.Join(errs...)
}

// bestStretches returns the number of stretches with the least expected time, and
// that time in seconds. With y = work/M, q = checkpoint/M and n stretches of u = y/n
// the time is, up to a factor and a summand,
//
//	exp(u) (n exp(q) - exp(q) + 1) - n
//
// and its slope in n has the sign of
//
//	k(u) = 1 - exp(-(u+q)) - u + (1 - exp(-q)) u^2/y
//
// which is positive at u = 0 (endless n) and, times exp(u), falls until
// u = y/(1 - exp(-q)) - 2 and rises beyond: the time has one minimum where k falls
// through 0, and may have another at n = 1.
func bestStretches(s *Spot) (stretches, expected float64) {
	y, q := s.Work.Seconds()/s.Between.Seconds(), s.Checkpoint.Seconds()/s.Between.Seconds()
	b := -math.Expm1(-q)
	k := func(u float64) float64 { return -math.Expm1(-(u + q)) - u + b*u*(u/y) }
	stretches, expected = 1, s.expected(1)
	low, high := 0.0, min(y, y/b-2)
	if !(high > 0 && k(high) < 0) {
		return stretches, expected
	}
	for range 200 { // each halves what is left: 2^-200 of it is below any checkpoint
		if middle := low + (high-low)/2; k(middle) < 0 {
			high = middle
		} else {
			low = middle
		}
	}
	for _, n := range [2]float64{math.Floor(y / high), math.Ceil(y / high)} {
		if e := s.expected(n); e < expected {
			stretches, expected = n, e
		}
	}
	return stretches, expected
}

// expected is the mean time in seconds that so many equal stretches take.
func (s *Spot) expected(stretches float64) float64 {
	interval, restart, between := s.Work.Seconds()/stretches, s.Restart.Seconds(), s.Between.Seconds()
	last := stretch(interval, restart, between)
	if stretches == 1 {
		return last
	}
	return last + (stretches-1)*stretch(interval+s.Checkpoint.Seconds(), restart, between)
}

// stretch is the mean time that a stretch of some length takes.
func stretch(length, restart, between float64) float64 {
	return between * math.Exp(min(700, restart/between)) * math.Expm1(min(700, length/between))
}

// duration converts seconds; what is too long is the longest duration.
func duration(seconds float64) time.Duration {
	ns := seconds * float64(time.Second)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(math.Round(ns))
}

// String says what to do in a sentence.
func (p SpotPlan) String() string {
	text := fmt.Sprintf("spot: a checkpoint every %v, done after %v on average (%+.0f %%), cost %.4g instead of %.4g",
		p.Interval.Round(time.Second), p.Expected.Round(time.Second), 100*p.Overhead, p.Cost, p.OnDemand)
	if !p.Worth {
		text += ": not worth it"
	}
	return text
}
