package advise_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/colloc/colloc/advise"
)

// slowSpot is the expected time in seconds with n equal stretches.
func slowSpot(s advise.Spot, n int) float64 {
	work, dump, restart, between := s.Work.Seconds(), s.Checkpoint.Seconds(), s.Restart.Seconds(), s.Between.Seconds()
	one := func(length float64) float64 { return between * math.Exp(restart/between) * math.Expm1(length/between) }
	sum := one(work / float64(n))
	for range n - 1 {
		sum += one(work/float64(n) + dump)
	}
	return sum
}

// Property: no number of stretches is better than the plan's.
func TestPlanSpotBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		between := rapid.Float64Range(60, 1e5).Draw(t, "between")
		part := func(name string, least, most float64) time.Duration {
			x := math.Exp(rapid.Float64Range(math.Log(least), math.Log(most)).Draw(t, name))
			return time.Duration(x * between * 1e9)
		}
		s := advise.Spot{
			Work: part("work", 0.01, 50), Checkpoint: part("checkpoint", 0.005, 8), Restart: part("restart", 0.001, 2),
			Between: time.Duration(between * 1e9),
		}
		p, err := advise.PlanSpot(s)
		if err != nil {
			t.Fatal(err)
		}
		best, at := math.Inf(1), 0
		for n := 1; n <= 600; n++ { // sqrt(2 0.005) M is 500 stretches of 50 M at most
			if e := slowSpot(s, n); e < best {
				best, at = e, n
			}
		}
		if got := p.Expected.Seconds(); best < 1e9 && !(math.Abs(got-best) <= 1e-9*best+1e-8) {
			t.Fatalf("expected %v s with a checkpoint every %v; %d stretches take %v s", got, p.Interval, at, best)
		}
	})
}

// A task shorter than its checkpoint allows goes without one.
func TestPlanSpotShort(t *testing.T) {
	p, err := advise.PlanSpot(advise.Spot{
		Work: 12*time.Minute + 14*time.Second, Checkpoint: 8*time.Minute + 37*time.Second, Between: 9*time.Minute + time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Interval != 12*time.Minute+14*time.Second || p.Expected > 27*time.Minute {
		t.Errorf("got %v, want no checkpoint", p)
	}
}
