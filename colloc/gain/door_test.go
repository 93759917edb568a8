package gain_test

import (
	"math"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/gain"
	"example.com/colloc/internal/race"
)

// TestPromised: what is told of sites is what a Dispatcher with a Planner delivers there, within 10 % over 32 histories,
// where jobs join who runs and where a set is one job. Of one history it may be a third of what is saved in
// waiting: one job that starts elsewhere changes all that follow. Many short histories of a crowded site average that
// best: 10 % is more than three standard errors of the mean here, and was two of histories of 600 jobs.
func TestPromised(t *testing.T) {
	if race.Enabled {
		t.Skip("plays 64 histories in one goroutine")
	}
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, closed := range []bool{false, true} {
		var promised, delivered [2]float64
		for seed := range uint64(32) {
			jobs := site(150, 2, 1.5, 30+seed)
			o := gain.Options{Replications: 1, Closed: closed}
			g := replay(t, jobs, o).Total
			hours, waited, err := gain.Deliver(t.Context(), jobs, o, planner)
			if err != nil {
				t.Fatal(err)
			}
			n := float64(g.Jobs)
			promised[0], delivered[0] = promised[0]+g.Without.GPUHours-g.With.GPUHours, delivered[0]+g.Without.GPUHours-hours
			promised[1], delivered[1] = promised[1]+n*(g.Without.Waited-g.With.Waited), delivered[1]+n*g.Without.Waited-waited
		}
		for i, what := range []string{"GPU hours occupied", "hours waited"} {
			t.Logf("closed %v: %s less: %.0f promised, %.0f delivered", closed, what, promised[i], delivered[i])
			if !(promised[i] > 0) || math.Abs(delivered[i]-promised[i]) > 0.1*promised[i] {
				t.Errorf("closed %v: %s less: %.0f promised, %.0f delivered", closed, what, promised[i], delivered[i])
			}
		}
	}
}
