package colloc_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// slowGang is what a gang gains on some GPUs: what it does at the speed of its slowest, less what it costs
// residents, who are as slow on all their GPUs; -Inf if it must not be there.
func slowGang(t *testing.T, p *colloc.Planner, task colloc.Task, on []colloc.GPU) float64 {
	t.Helper()
	width := float64(task.Width())
	slowest, lost := math.Inf(1), 0.0
	for _, g := range on {
		placed, err := p.Judge(task, g)
		if err != nil {
			t.Fatal(err)
		}
		before := slowDoing(t, p, g)
		if placed.Binding != 0 || g.Model.Name != on[0].Model.Name {
			return math.Inf(-1)
		}
		here := 0.0
		for i, m := range placed.Members {
			if m.Task == task.ID {
				here += m.Speed.Value
				slowest = min(slowest, m.Speed.Value)
				continue
			}
			r := g.Residents[i]
			slower := (before[m.Task] - r.Weight*m.Pace.Value*m.Speed.Value) / m.Pace.Value / task.Weight
			here -= slower * float64(max(r.Width(), task.Width())) / width
			lost += slower * float64(max(r.Width(), task.Width())) / width
		}
		if here <= 0 {
			return math.Inf(-1)
		}
	}
	return width*slowest - lost
}

// slowDoing is what each resident of a GPU does now, by Judge.
func slowDoing(t *testing.T, p *colloc.Planner, g colloc.GPU) map[string]float64 {
	t.Helper()
	now := map[string]float64{}
	if len(g.Residents) == 0 {
		return now
	}
	rest := g
	rest.Residents = g.Residents[:len(g.Residents)-1]
	judged, err := p.Judge(g.Residents[len(rest.Residents)], rest)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range judged.Members {
		now[m.Task] = g.Residents[i].Weight * m.Pace.Value * m.Speed.Value
	}
	return now
}

// drawGang makes up to 5 cards with up to 2 residents each, gangs among them, and a task of up to 3 cards.
func drawGang(t *testing.T, rng *rand.Rand, pool []colloc.Task) (colloc.Task, []colloc.GPU) {
	t.Helper()
	n := 0
	draw := func(gpus int) colloc.Task {
		task := pool[rng.IntN(len(pool))]
		task.ID, task.GPUs = fmt.Sprint("t", n), gpus
		n++
		task.Reserved = profile.Bytes(1+rng.IntN(8)) * profile.GiB
		task.Weight = float64(1 + rng.IntN(3))
		return task
	}
	gpus := make([]colloc.GPU, 2+rng.IntN(4))
	for g := range gpus {
		gpus[g] = card(t, fmt.Sprint("g", g))
		gpus[g].Mechanisms = []profile.Mechanism{profile.TimeSlice}
	}
	for range rng.IntN(4) {
		r := draw(1 + rng.IntN(2))
		for _, g := range rng.Perm(len(gpus))[:r.GPUs] {
			if len(gpus[g].Residents) < 2 {
				gpus[g].Residents = append(gpus[g].Residents, r)
			}
		}
	}
	return draw(1 + rng.IntN(3)), gpus
}

// TestGangAgainstExhaustive: a Scheduler without budget starts a gang beside what runs, or a task beside gangs that
// run, where it gains something, nearly always there where it gains most.
func TestGangAgainstExhaustive(t *testing.T) {
	p := newPlanner(t, colloc.Config{MaxSet: 3, MaxSlowdown: 3})
	pool := crowd(t, 8)
	rng := rand.New(rand.NewPCG(41, 42))
	kinds := map[string]int{}
	for round := range race.Fewer(250) {
		task, gpus := drawGang(t, rng, pool)
		best := math.Inf(-1)
		for set := range uint(1) << len(gpus) {
			if bits.OnesCount(set) == task.Width() {
				best = max(best, slowGang(t, p, task, picked(gpus, set)))
			}
		}
		on := schedulerStarts(t, p, task, gpus)
		switch {
		case on != nil && best <= 0:
			t.Fatalf("round %d: it starts on %v and gains nothing", round, on)
		case best <= 0:
			kinds["none"]++
		case on == nil:
			kinds["waits"]++
		case best-slowGang(t, p, task, chosenAt(gpus, on)) > 1e-4:
			kinds["less"]++
		default:
			kinds["best"]++
		}
		if slices.ContainsFunc(chosenAt(gpus, on), func(g colloc.GPU) bool {
			return slices.ContainsFunc(g.Residents, func(r colloc.Task) bool { return r.Width() > 1 })
		}) {
			kinds["joins a gang"]++
		}
	}
	if t.Log(kinds); race.Enabled {
		return // fewer rounds say less
	}
	if kinds["best"] < 180 || kinds["joins a gang"] < 40 || kinds["less"] > 15 || kinds["waits"] > 15 { // it takes those where the gang adds most, one by one
		t.Errorf("%v", kinds)
	}
}

func picked(gpus []colloc.GPU, set uint) []colloc.GPU {
	var some []colloc.GPU
	for i := range gpus {
		if set>>i&1 == 1 {
			some = append(some, gpus[i])
		}
	}
	return some
}

func chosenAt(gpus []colloc.GPU, at []int) []colloc.GPU {
	var some []colloc.GPU
	for _, i := range at {
		some = append(some, gpus[i])
	}
	return some
}

// schedulerStarts is where a Scheduler that does not look ahead starts a task beside what runs.
func schedulerStarts(t *testing.T, p *colloc.Planner, task colloc.Task, gpus []colloc.GPU) []int {
	t.Helper()
	bare := slices.Clone(gpus)
	runs := map[string][]int{}
	var order []colloc.Task
	for g := range bare {
		bare[g].Residents = nil
		for _, r := range gpus[g].Residents {
			if runs[r.ID] == nil {
				order = append(order, r)
			}
			runs[r.ID] = append(runs[r.ID], g)
		}
	}
	s, err := p.Scheduler(bare, &online.SchedulerOptions{Budget: profile.Some(0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range order {
		packed, err := p.Packed(r)
		packed.GPUs = len(runs[r.ID])
		if err == nil {
			err = s.Adopt(online.Job{Task: packed}, runs[r.ID]...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	packed, err := p.Packed(task)
	if err == nil {
		err = s.Submit(online.Job{Task: packed})
	}
	if err != nil {
		t.Fatal(err)
	}
	started, err := s.Decide(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(started) == 0 {
		return nil
	}
	return append([]int{started[0].GPU}, started[0].Gang...)
}
