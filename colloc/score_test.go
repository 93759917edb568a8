package colloc_test

import (
	"fmt"
	"testing"

	"example.com/colloc/colloc"
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
			got := ""
			for i := range plan.Placements {
				if len(plan.Placements[i].Members) > 1 {
					got += fmt.Sprint(plan.Placements[i].GPU, " ", plan.Placements[i].Mechanism)
				}
			}
			if want := fmt.Sprint("light ", v.Mechanism); got != want {
				t.Errorf("%s, %v: the plan joins %q; Best says %q", product, light, got, want)
			}
		}
	}
}
