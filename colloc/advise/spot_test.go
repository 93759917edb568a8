package advise_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/colloc/colloc/advise"
)

// The intervals that Daly's paper gives below its figures 3 to 5, for
// checkpoints of 5 minutes and restarts of 10.
func TestPlanSpotPublished(t *testing.T) {
	for _, tt := range []struct {
		name    string
		between time.Duration
		want    float64 // minutes, as printed
		tol     float64
	}{
		{"24 h", 24 * time.Hour, 117, 0.5},
		{"6 h", 6 * time.Hour, 57, 0.5},
		{"15 min", 15 * time.Minute, 9.1, 0.07}, // his formula has 9.14, the best is 9.17
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := advise.PlanSpot(advise.Spot{
				Work: 500 * time.Hour, Checkpoint: 5 * time.Minute, Restart: 10 * time.Minute, Between: tt.between,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Interval.Minutes(); !(math.Abs(got-tt.want) <= tt.tol) {
				t.Errorf("interval is %.2f min, want %v", got, tt.want)
			}
			if want := math.Sqrt(2 * 5 * tt.between.Minutes()); !(math.Abs(p.Young.Minutes()-want) <= 1e-6) {
				t.Errorf("Young's interval is %v, want %v min", p.Young, want)
			}
		})
	}
}

// The expected time is what a simulation of interruptions needs on average.
func TestPlanSpotAgainstSimulation(t *testing.T) {
	for _, s := range []advise.Spot{
		{Work: 10 * time.Hour, Checkpoint: time.Minute, Restart: 5 * time.Minute, Between: 2 * time.Hour},
		{Work: 3 * time.Hour, Checkpoint: 10 * time.Minute, Restart: 30 * time.Minute, Between: time.Hour},
		{Work: 20 * time.Minute, Checkpoint: 20 * time.Minute, Restart: 0, Between: 2 * time.Hour},
	} {
		p, err := advise.PlanSpot(s)
		if err != nil {
			t.Fatal(err)
		}
		const runs = 20_000
		rng := rand.New(rand.NewPCG(7, 7))
		var sum, squares float64
		for range runs {
			x := slowSpotRun(s, p.Interval, rng)
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / runs
		deviation := math.Sqrt((squares/runs - mean*mean) / runs)
		if got := p.Expected.Seconds(); !(math.Abs(got-mean) <= 5*deviation) {
			t.Errorf("%+v: expected %.0f s, simulated %.0f s with a standard error of %.0f s", s, got, mean, deviation)
		}
	}
}

// slowSpotRun runs a task once and returns its wall-clock time in seconds.
func slowSpotRun(s advise.Spot, interval time.Duration, rng *rand.Rand) float64 {
	clock, failure := 0.0, rng.ExpFloat64()*s.Between.Seconds()
	// through spends time; false if an interruption came first.
	through := func(d float64) bool {
		if clock+d <= failure {
			clock += d
			return true
		}
		clock = failure
		failure += rng.ExpFloat64() * s.Between.Seconds()
		return false
	}
	for left := s.Work.Seconds(); left > 1e-6; left -= interval.Seconds() {
		need := interval.Seconds()
		if left > need+1e-6 {
			need += s.Checkpoint.Seconds()
		}
		for !through(need) {
			for !through(s.Restart.Seconds()) {
			}
		}
	}
	return clock
}

// No interval is much better than Daly's.
func TestPlanSpotNearOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dump := rapid.Float64Range(1, 600).Draw(t, "checkpoint")
		between := rapid.Float64Range(1800, 1e6).Draw(t, "between")
		cost := func(interval float64) float64 {
			return between * math.Expm1((interval+dump)/between) / interval
		}
		p, err := advise.PlanSpot(advise.Spot{
			Work: 100_000 * time.Hour, Between: time.Duration(between * 1e9), Checkpoint: time.Duration(dump * 1e9),
		})
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for x := 1.0; x < 1e7; x *= 1.01 {
			best = min(best, cost(x))
		}
		if got := cost(p.Interval.Seconds()); got > 1.002*best {
			t.Errorf("interval %v costs %v per second of work, the best %v", p.Interval, got, best)
		}
	})
}

func TestPlanSpotWorth(t *testing.T) {
	s := advise.Spot{
		Work: 20 * time.Hour, Checkpoint: time.Minute, Restart: 5 * time.Minute, Between: 6 * time.Hour, SpotPrice: 1, OnDemandPrice: 2.5,
	}
	p, err := advise.PlanSpot(s)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Worth || p.OnDemand != 50 || !(math.Abs(p.Cost-p.Expected.Hours()) <= 1e-6) {
		t.Errorf("got %+v, want it to be worth it, at 1 per hour instead of 50", p)
	}
	s.Between = 5 * time.Minute
	if p, err = advise.PlanSpot(s); err != nil {
		t.Fatal(err)
	}
	if p.Worth || !strings.Contains(p.String(), "not worth it") {
		t.Errorf("got %v, want that it is not worth it", p)
	}
}

func TestPlanSpotFaults(t *testing.T) {
	_, err := advise.PlanSpot(advise.Spot{Restart: -1, SpotPrice: math.NaN(), OnDemandPrice: math.Inf(1)})
	for _, want := range []string{"Work", "Checkpoint", "Restart is -1ns", "Between", "SpotPrice is NaN", "OnDemandPrice is +Inf"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// Property: whatever the numbers, the answer is finite and makes sense.
func TestPlanSpotFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string, lo int64) time.Duration {
			n := rapid.Int64Range(lo, math.MaxInt64).Draw(t, name)
			return time.Duration(max(lo, n>>rapid.IntRange(0, 62).Draw(t, name+" shift")))
		}
		s := advise.Spot{
			Work: span("work", 1), Checkpoint: span("checkpoint", 1), Restart: span("restart", 0), Between: span("between", 1),
			SpotPrice:     rapid.Float64Range(0, math.MaxFloat64).Draw(t, "spot"),
			OnDemandPrice: rapid.Float64Range(0, math.MaxFloat64).Draw(t, "on demand"),
		}
		p, err := advise.PlanSpot(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []float64{p.Overhead, p.Cost, p.OnDemand} {
			if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
				t.Errorf("%+v: got %+v", s, p)
			}
		}
		if p.Interval < 0 || p.Interval > s.Work || p.Expected < s.Work-s.Work/1000 || p.Young < 0 {
			t.Errorf("%+v: got %+v", s, p)
		}
	})
}

func TestSpotPlanString(t *testing.T) {
	p := advise.SpotPlan{Interval: time.Hour, Expected: 10 * time.Hour, Overhead: 2.5, Cost: 1, OnDemand: 3, Worth: true}
	if got := p.String(); !strings.Contains(got, "every 1h0m0s") || !strings.Contains(got, "(+250 %)") || strings.Contains(got, "not worth") {
		t.Error(got)
	}
}
