package online_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// TestSchedulerRelieves: when a task must be faster than it is, as few of its company stop as are enough, those
// of the lowest class; who does not say what that costs or is of a higher class stays, and then nobody stops.
func TestSchedulerRelieves(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	kinds := map[string]int{}
	for round := range 400 {
		var jobs []online.Job
		for i := range 2 + rng.IntN(3) {
			j := job(fmt.Sprint("t", i), []float64{0.1, 0.3, 0.5, 0.7}[rng.IntN(4)], 1, 10*time.Hour)
			if j.Class = rng.IntN(3); rng.IntN(4) > 0 {
				j.Restart = profile.Some(time.Minute)
			}
			jobs = append(jobs, j)
		}
		s := scheduler(t, 1, &online.SchedulerOptions{Budget: profile.Some(0)})
		for i := range jobs {
			if err := s.Adopt(jobs[i], 0); err != nil {
				t.Fatal(err)
			}
		}
		if got := decided(t, s, 0); got != "" {
			t.Fatal(got)
		}
		serves := &jobs[0]
		serves.MinSpeed = 0.5 + rng.Float64()/2
		if rng.IntN(2) == 0 { // just as fast as it is beside some
			serves.MinSpeed = speedsOf(t, jobs[:1+rng.IntN(len(jobs))])[0]
		}
		if err := s.Change(*serves); err != nil {
			t.Fatal(err)
		}
		ds, err := s.Decide(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		gone := map[string]bool{}
		for _, d := range ds {
			gone[d.Task] = !d.Placed
		}
		want := slowRelief(t, jobs)
		kinds[strconv.Itoa(want)]++
		if got := len(gone); got != max(0, want) {
			t.Fatalf("round %d: %v stop, want %d of %+v", round, ds, want, jobs)
		}
		var stay []online.Job
		for _, j := range jobs {
			if gone[j.ID] && (j.Restart.IsZero() || j.Class > serves.Class) {
				t.Fatalf("round %d: %s stops", round, j.ID)
			}
			if !gone[j.ID] {
				stay = append(stay, j)
			}
		}
		if want >= 0 && !allowed(t, stay) {
			t.Fatalf("round %d: that is not enough", round)
		}
	}
	t.Log(kinds)
	if kinds["-1"] == 0 || kinds["0"] == 0 || kinds["1"] == 0 || kinds["2"] == 0 {
		t.Errorf("%v", kinds)
	}
}

// allowed reports whether all are as fast together as they must be.
func allowed(t *testing.T, jobs []online.Job) bool {
	t.Helper()
	for i, speed := range speedsOf(t, jobs) {
		if speed < jobs[i].MinSpeed {
			return false
		}
	}
	return true
}

// speedsOf are the speeds of jobs together.
func speedsOf(t *testing.T, jobs []online.Job) []float64 {
	t.Helper()
	set, speeds := make([]*packer.Task, len(jobs)), make([]float64, len(jobs))
	for i := range jobs {
		set[i] = &jobs[i].Task
	}
	ok(t, (pressing{}).Speeds(set, nil, profile.TimeSlice, speeds))
	return speeds
}

// slowRelief is how many must go so that the first is fast enough, -1 if those that may are not enough.
func slowRelief(t *testing.T, jobs []online.Job) int {
	t.Helper()
	best := -1
	for set := range 1 << len(jobs) {
		var stay []online.Job
		may, gone := set&1 == 0, 0
		for i, j := range jobs {
			if set>>i&1 == 0 {
				stay = append(stay, j)
				continue
			}
			gone++
			may = may && !j.Restart.IsZero() && j.Class <= jobs[0].Class
		}
		if may && allowed(t, stay) && (best < 0 || gone < best) {
			best = gone
		}
	}
	return best
}
