package colloc_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// teach tells a Planner of co-runs of tasks at one speed each.
func teach(tb testing.TB, p *colloc.Planner, gpu *profile.GPUModel, times int, speed float64, tasks ...colloc.Task) {
	tb.Helper()
	o := colloc.Observation{GPU: *gpu}
	for _, t := range tasks {
		o.Members = append(o.Members, colloc.Measurement{Profile: t.Profile, Speed: profile.Some(speed)})
	}
	for range times {
		if err := p.Observe(o); err != nil {
			tb.Fatal(err)
		}
	}
}

// together reports how many tasks the fullest GPU of a plan runs, and what is said of the rest.
func together(tb testing.TB, p *colloc.Planner, gpus []colloc.GPU, tasks ...colloc.Task) (int, *colloc.Plan) {
	tb.Helper()
	plan, err := p.Plan(tb.Context(), tasks, gpus)
	if err != nil {
		tb.Fatal(err)
	}
	most := 0
	for i := range plan.Placements {
		most = max(most, len(plan.Placements[i].Members))
	}
	return most, plan
}

// TestMeasuredSlowIsNotPlannedAgain: on every GPU of the catalogue a pair that was measured
// three times below one after the other is refused by every call, at any slowdown that is
// borne, and so are tasks like them; from half the speed on nothing is.
func TestMeasuredSlowIsNotPlannedAgain(t *testing.T) {
	for i, model := range profile.GPUs() {
		if race.Enabled && i%16 > 0 {
			continue // all of the catalogue without the detector
		}
		p := newPlanner(t, colloc.Config{MaxSlowdown: math.Inf(1)})
		for k, truth := range []float64{.01, .05, .1, .2, .3, .4, .5, .6, .9} {
			name := fmt.Sprint(model.Name, truth)
			a, b := seen(t, "a"+name, 0.5, 0.2, profile.GiB/4), seen(t, "b"+name, 0.5, 0.2, profile.GiB/4)
			gpus := []colloc.GPU{{ID: "g", Model: model}}
			beside := []colloc.GPU{{ID: "g", Model: model, Residents: []colloc.Task{b}}}
			if n, _ := together(t, p, gpus, a, b); n != 2 {
				continue // nothing has to be learned
			}
			teach(t, p, &model, 3, truth, a, b)
			n, plan := together(t, p, gpus, a, b)
			v, err := p.Fit(a, beside[0])
			if err != nil {
				t.Fatal(err)
			}
			score, err := p.Score(a, beside[0])
			if err != nil {
				t.Fatal(err)
			}
			at, _, err := p.Best(a, beside)
			if err != nil {
				t.Fatal(err)
			}
			if truth >= 0.5 {
				if v.Code == packer.MeasuredSlow || truth > 0.5 && n != 2 {
					t.Errorf("%s at %v: %v, %d together", model.Name, truth, v, n)
				}
				continue
			}
			if n != 1 || v.Fits || v.Code != packer.MeasuredSlow || v.Other != b.ID || score != 0 || at != -1 {
				t.Errorf("%s at %v: %d together, %v, score %v, best %d; want neither planned nor fitting", model.Name, truth, n, v, score, at)
			}
			if !slices.ContainsFunc(plan.Notes, func(n colloc.Note) bool { return n.Sharing == packer.MeasuredSlow && len(n.Reliefs) == 2 }) {
				t.Errorf("%s at %v: the plan does not say why: %+v", model.Name, truth, plan.Notes)
			}
			if k == 0 { // tasks like them, and a third beside them
				x, y, c := a, b, seen(t, "c"+name, 0.1, 0.1, profile.GiB/4)
				x.ID, y.ID = "x", "y"
				copied := *x.Profile
				x.Profile = &copied
				if n, _ := together(t, p, gpus, x, y); n != 1 {
					t.Errorf("%s: copies are planned together", model.Name)
				}
				larger := colloc.GPU{ID: "g", Model: model, Residents: []colloc.Task{b, c}}
				if v, err := newPlannerOf(t, p, 3).Fit(a, larger); err != nil || v.Code != packer.MeasuredSlow || v.Other != b.ID {
					t.Errorf("%s: a set with such a pair in it: %v, %v", model.Name, v, err)
				}
			}
		}
	}
}

// newPlannerOf is a Planner with what another one learned, for larger sets.
func newPlannerOf(tb testing.TB, p *colloc.Planner, most int) *colloc.Planner {
	tb.Helper()
	return newPlanner(tb, colloc.Config{MaxSlowdown: math.Inf(1), MaxSet: most, Interference: p.Config().Interference})
}

// TestNewReasons: what was measured counts by weight, holds in a scheduler and after a
// file, and no longer once the set went better or one of its tasks is another.
func TestNewReasons(t *testing.T) {
	p := newPlanner(t, colloc.Config{MaxSlowdown: math.Inf(1)})
	model := gpuModel(t, "A100-40GB")
	a, b, c := seen(t, "a", 0.5, 0.2, profile.GiB), seen(t, "b", 0.5, 0.2, profile.GiB), seen(t, "c", 0.5, 0.2, profile.GiB)
	gpus := []colloc.GPU{{ID: "g", Model: model}}
	teach(t, p, &model, 1, 0.05, a, b)
	var file bytes.Buffer
	if err := p.Save(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := colloc.Load(&file, colloc.Config{MaxSlowdown: math.Inf(1)})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*colloc.Planner{"as it is": p, "loaded": loaded} {
		if n, _ := together(t, p, gpus, a, b); n != 1 {
			t.Errorf("%s: planned together after one co-run", name)
		}
		s, err := p.Scheduler(gpus, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range []colloc.Task{a, b} {
			packed, err := p.Packed(task)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Submit(online.Job{Task: packed, Left: profile.Some(time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		started, err := s.Decide(t.Context(), 0)
		if err != nil || len(started) != 1 {
			t.Fatalf("%s: the scheduler starts %v, %v; want one of the two", name, started, err)
		}
		if why, err := s.Why("b"); err != nil || why.Sharing != packer.MeasuredSlow || !strings.Contains(why.String(), "measured to do less") {
			t.Errorf("%s: %v, %v", name, why, err)
		}
	}
	if n, _ := together(t, p, gpus, a, c); n != 2 {
		t.Error("a and c, whom nobody measured, are not planned together")
	}
	mps := []colloc.GPU{{ID: "g", Model: model, Mechanisms: []profile.Mechanism{profile.MPS}}}
	if v, err := p.Fit(a, colloc.GPU{ID: "g", Model: model, Mechanisms: mps[0].Mechanisms, Residents: []colloc.Task{b}}); err != nil || v.Code == packer.MeasuredSlow {
		t.Errorf("by another mechanism: %v, %v", v, err)
	}
	teach(t, p, &model, 2, 0.95, a, b)
	if n, _ := together(t, p, gpus, a, b); n != 2 {
		t.Error("two of three co-runs went well, and they are not planned together")
	}
	teach(t, p, &model, 5, 0.6, a, c)
	a.Weight = 10
	if n, plan := together(t, p, gpus, a, c); n != 1 {
		t.Errorf("10 x .6 + .6 < 10, and they are planned together: %+v", plan.Placements)
	}
	if p.Observe(colloc.Observation{GPU: model, Members: []colloc.Measurement{{Profile: a.Profile, Speed: profile.Some(.2)}, {Profile: b.Profile, Speed: profile.Some(.2)}, {Profile: c.Profile}}}) != nil {
		t.Fatal("a set of three is refused")
	}
	a.Weight = 1
	v, err := newPlannerOf(t, p, 3).Fit(a, colloc.GPU{ID: "g", Model: model, Residents: []colloc.Task{b, c}})
	if err != nil || v.Fits != (v.Throughput > 1) {
		t.Errorf("three of whom two were measured: %v, %v", v, err)
	}
}

// TestAlarmsOfPlans: a plan names the products on which predictions no longer hold, and
// what is off.
func TestAlarmsOfPlans(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	model := gpuModel(t, "RTX 3090")
	a, b := seen(t, "a", 0.9, 0.5, profile.GiB), seen(t, "b", 0.9, 0.5, profile.GiB)
	for k := range 20 {
		a := seen(t, fmt.Sprint("a", k), 0.2, 0.1, profile.GiB) // each is new: nothing is learned of it
		b := seen(t, fmt.Sprint("b", k), 0.2, 0.1, profile.GiB)
		teach(t, p, &model, 1, 0.2, a, b)
	}
	_, plan := together(t, p, []colloc.GPU{card(t, "g")}, a, b)
	if len(plan.Alarms) != 1 || plan.Alarms[0].GPU != "RTX3090" || plan.Alarms[0].Drift.Fault != interference.SlowerThanPredicted {
		t.Errorf("alarms %+v", plan.Alarms)
	}
	var text bytes.Buffer
	if err := plan.Explain(&text); err != nil || !strings.Contains(text.String(), "speeds are slower than predicted") {
		t.Errorf("%v: %s", err, text.String())
	}
	if _, plan := together(t, p, []colloc.GPU{{ID: "g", Model: gpuModel(t, "T4")}}, a, b); len(plan.Alarms) != 0 {
		t.Errorf("of another product: %+v", plan.Alarms)
	}
}

// TestJudgeMeasuredSlow: what Judge says of a set that was measured slow is what was measured.
func TestJudgeMeasuredSlow(t *testing.T) {
	p, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	task, gpu := seen(t, "light", 0.5, 0.2, 4*profile.GiB), card(t, "g", seen(t, "other", 0.5, 0.2, 4*profile.GiB))
	for range 3 {
		if err := p.Observe(colloc.Observation{GPU: gpu.Model, Members: []colloc.Measurement{
			{Profile: task.Profile, Speed: profile.Some(0.2)}, {Profile: gpu.Residents[0].Profile, Speed: profile.Some(0.1)},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	judged, err := p.Judge(task, gpu)
	if err != nil || judged.Binding != packer.MeasuredSlow {
		t.Fatalf("Judge = %v, %v; want %v", judged.Binding, err, packer.MeasuredSlow)
	}
	sum := 0.0
	for _, m := range judged.Members {
		sum += m.Pace.Value * m.Speed.Value
		if m.Speed.Value > 0.2 || m.Speed.Lo > m.Speed.Value {
			t.Errorf("%s: %+v; want at most .2, as measured", m.Task, m.Speed)
		}
	}
	if math.Abs(sum-judged.Throughput) > 1e-5 {
		t.Errorf("the members do %v together, the placement says %v", sum, judged.Throughput)
	}
}
