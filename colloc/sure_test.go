package colloc_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// TestSureOfThree: in sets of three and more the lower end of a speed keeps the limit, for
// Fit, for Plan and for a Scheduler; light tasks share three or four at a time, busy ones two.
func TestSureOfThree(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	for _, test := range []struct {
		busy float64
		want int // on one GPU
	}{{0.1, 4}, {0.5, 2}} {
		var tasks []colloc.Task
		for i := range 6 {
			tasks = append(tasks, seen(t, fmt.Sprint("t", i), test.busy, test.busy, profile.GiB))
		}
		gpu := card(t, "g")
		plan, err := p.Plan(t.Context(), tasks, []colloc.GPU{gpu})
		if err != nil {
			t.Fatal(err)
		}
		members := plan.Placements[0].Members
		if len(members) != test.want {
			t.Errorf("busy %v: %d share, want %d", test.busy, len(members), test.want)
		}
		for _, m := range members {
			if len(members) > 2 && m.Speed.Lo < 0.5 {
				t.Errorf("busy %v: %s runs at %v among %d, want 0.5 surely", test.busy, m.Task, m.Speed, len(members))
			}
		}
		s, err := p.Scheduler([]colloc.GPU{gpu}, &online.SchedulerOptions{Budget: profile.Some(0)})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			packed, err := p.Packed(task)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Submit(online.Job{Task: packed}); err != nil {
				t.Fatal(err)
			}
		}
		if started, err := s.Decide(t.Context(), 0); err != nil || len(started) != test.want {
			t.Errorf("busy %v: a scheduler starts %d at once, want %d: %v", test.busy, len(started), test.want, err)
		}
		gpu.Residents = tasks[:test.want]
		v, err := p.Fit(tasks[5], gpu)
		if err != nil || v.Fits {
			t.Errorf("busy %v: one more fits: %v, %v", test.busy, v, err)
		}
		if gpu.Residents = tasks[:test.want-1]; test.want > 2 {
			v, err = p.Fit(tasks[5], gpu)
		}
		if err != nil || test.want > 2 && !v.Fits {
			t.Errorf("busy %v: %d do not fit: %v, %v", test.busy, test.want, v, err)
		}
		if test.want == 2 && (v.Code != packer.SpeedLimit || v.SlowestSpeed >= 0.5 || v.Speed.Value < 0.5) {
			t.Errorf("busy %v: want a refusal by the lower end: %+v", test.busy, v)
		}
	}
}

// TestCompanyOnlyHurtsSurely: who joins makes no one surer, but for a thousandth of the width of an interval.
func TestCompanyOnlyHurtsSurely(t *testing.T) {
	p := newPlanner(t, colloc.Config{MaxSet: 8, MaxSlowdown: 1e9})
	rng := rand.New(rand.NewPCG(45, 5))
	names := []string{"A100-40GB", "RTX 3090", "V100-16GB", "K80", "H100"}
	for range race.Fewer(300) {
		gpu := colloc.GPU{ID: "g", Model: gpuModel(t, names[rng.IntN(len(names))])}
		busy := rng.Float64()
		last := map[string]float64{}
		for i := range 6 {
			task := seen(t, fmt.Sprint("t", i), min(1, busy*(0.5+rng.Float64())), rng.Float64(), profile.MiB)
			placement, err := p.Judge(task, gpu)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range placement.Members {
				if before, ok := last[m.Task]; ok && m.Speed.Lo > before+1e-3 {
					t.Errorf("on %s %s has %v with %d others, %v with one less", gpu.Model.Name, m.Task, m.Speed, i, before)
				}
				last[m.Task] = m.Speed.Lo
			}
			gpu.Residents = append(gpu.Residents, task)
		}
	}
}
