package interference

import (
	"math"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// TestCompletionFillsGaps measures two pairs in three of eight types, each with a
// cost of its own to itself and to others, and asks for the third.
func TestCompletionFillsGaps(t *testing.T) {
	tasks := make([]*profile.Profile, 8)
	for i := range tasks {
		tasks[i] = &profile.Profile{GPU: profile.GPUModel{Name: "T4"}, Spec: profile.Spec{Model: profile.Model{Name: string(rune('a' + i))}, Training: profile.Training{BatchSize: 8}}}
	}
	loss := func(i, j int) float64 { return 0.03*float64(i) + 0.02*float64(j) }
	var seen []interference.Observation
	var gaps []dataset.SpeedRow
	for i := range tasks {
		for j := range i + 1 {
			o := interference.Observation{
				GPU: "T4", Mechanism: profile.TimeSlice, Set: []*profile.Profile{tasks[i], tasks[j]},
				Speeds: []profile.Opt[float64]{profile.Some(1 - loss(i, j)), profile.Some(1 - loss(j, i))},
			}
			if (i+j)%3 == 0 {
				gaps = append(gaps, dataset.SpeedRow{Observation: o})
			} else {
				seen = append(seen, o)
			}
		}
	}
	c, err := fitCompletion(seen)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range gaps {
		var g pairGuess
		if err := c.guess(&r, &g); err != nil {
			t.Fatal(err)
		}
		for i, s := range r.Observation.Speeds {
			if want := s.Or(0); math.Abs(g.said[i].Value-want) > 0.03 {
				t.Errorf("%s beside %s: %.3f, want %.3f", r.Observation.Set[i].Spec.Model.Name, r.Observation.Set[1-i].Spec.Model.Name, g.said[i].Value, want)
			}
		}
	}
	stranger := dataset.SpeedRow{Observation: interference.Observation{Mechanism: profile.MPS, Set: []*profile.Profile{tasks[0], tasks[1]}}}
	var g pairGuess
	if err := c.guess(&stranger, &g); err != nil || g.said != [2]predict.Estimate{{Value: 1}, {Value: 1}} {
		t.Errorf("a mechanism that was never profiled: %v, %v", g.said, err)
	}
}
