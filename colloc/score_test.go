package colloc_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/colloc/colloc"
	predictpace "example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// TestScoreAgreesWithPlan: on two GPUs of one product Best, Score and Plan choose
// the same one, however slow the product and whatever paces the tasks have there.
func TestScoreAgreesWithPlan(t *testing.T) {
	p := shared(t)
	task := seen(t, "new", .97, .5, 2*profile.GiB)
	for _, product := range []string{"A100", "RTX 3090", "T4", "V100"} {
		for _, light := range []float64{.3, .5} {
			gpus := []colloc.GPU{
				{ID: "busy", Model: gpuModel(t, product), Residents: []colloc.Task{seen(t, "a", .95, .5, 2*profile.GiB)}},
				{ID: "light", Model: gpuModel(t, product), Residents: []colloc.Task{seen(t, "b", light, light/3, 2*profile.GiB)}},
			}
			at, v, err := p.Best(task, gpus)
			if err != nil || at != 1 {
				t.Errorf("%s, %v: Best is %d, %v; want 1", product, light, at, err)
			}
			var scores [2]float64
			for i := range gpus {
				if scores[i], err = p.Score(task, gpus[i]); err != nil {
					t.Fatal(err)
				}
			}
			if scores[1] <= max(0, scores[0]) {
				t.Errorf("%s, %v: scores %v; want the second higher and more than 0", product, light, scores)
			}
			plan, err := p.Plan(t.Context(), []colloc.Task{task}, gpus)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range plan.Placements {
				if len(plan.Placements[i].Members) > 1 {
					got = append(got, fmt.Sprint(plan.Placements[i].GPU, " ", plan.Placements[i].Mechanism))
				}
			}
			if want := fmt.Sprint("light ", v.Mechanism); len(got) != 1 || got[0] != want {
				t.Errorf("%s, %v: the plan joins %q; Best says %q", product, light, got, want)
			}
		}
	}
}

// TestScoreWhereAlone: that tasks may also run alone on a GPU changes nothing of what company is
// worth there.
func TestScoreWhereAlone(t *testing.T) {
	p := newPlanner(t, colloc.Config{MaxSet: 3, MaxSlowdown: 10})
	gpu := card(t, "g", seen(t, "a", .3, .1, profile.GiB), seen(t, "b", .3, .1, profile.GiB))
	var scores []float64
	for _, m := range [][]profile.Mechanism{nil, {profile.Exclusive, profile.TimeSlice}} {
		gpu.Mechanisms = m
		s, err := p.Score(seen(t, "c", .3, .1, profile.GiB), gpu)
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, s)
	}
	if scores[0] != scores[1] || scores[0] <= 0 {
		t.Errorf("scores %v, want the same", scores)
	}
}

// TestSliceTeachesNothingOfItsCard: what was measured on a MIG slice is refused, and
// where a profile tells it, left aside.
func TestSliceTeachesNothingOfItsCard(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	card, slice := empty(t, "a", "A100-40GB"), gpuModel(t, "A100-40GB")
	slice.Name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
	whole := trained(t, "net", "A100-40GB", profile.CNN, profile.FP32, time.Second)
	volta := trained(t, "net", "V100", profile.CNN, profile.FP32, 2*time.Second)
	pace := func(task colloc.Task) float64 {
		t.Helper()
		v, err := p.Fit(task, card)
		if err != nil {
			t.Fatal(err)
		}
		return v.Pace.Value
	}
	task := colloc.Task{ID: "t", Profile: whole}
	before := pace(task)
	err := p.Observe(colloc.Observation{GPU: slice, Members: []colloc.Measurement{{Profile: whole, Throughput: profile.Some(1.0)}}})
	if !errors.Is(err, predictpace.ErrOnSlice) || pace(task) != before {
		t.Errorf("observed on a slice: %v; pace %v, was %v", err, pace(task), before)
	}
	onSlice := *whole
	onSlice.GPU = slice
	both, sliced := colloc.Task{ID: "t", Profile: whole}, colloc.Task{ID: "t", Profile: &onSlice}
	both.Elsewhere, sliced.Elsewhere = []*profile.Profile{volta}, []*profile.Profile{volta}
	if got := pace(sliced); got != before || pace(both) == before {
		t.Errorf("profile of a slice: pace %v, want %v; of the card %v", got, before, pace(both))
	}
}
