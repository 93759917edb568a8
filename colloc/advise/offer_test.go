package advise_test

import (
	"math"
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/advise"
	"example.com/colloc/profile"
)

// stepped is a task that was measured on one A100: 32 samples in a quarter of a second.
func stepped(t *testing.T) *profile.Profile {
	t.Helper()
	p := &profile.Profile{GPU: gpuModel(t, "A100-40GB")}
	p.Spec.Training.BatchSize = 32
	if err := p.Vector.Set(profile.MedianStepTime, 0.25); err != nil {
		t.Fatal(err)
	}
	if err := p.Vector.Set(profile.PeakMemory, float64(20*profile.GiB)); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOffers compares kinds of GPU: measured ones as they are, others by the
// Planner's paces.
func TestOffers(t *testing.T) {
	planner := newPlanner(t, colloc.Config{})
	p := stepped(t)
	offers := []advise.Offer{
		{GPU: gpuModel(t, "T4"), Price: 0.1},
		{GPU: gpuModel(t, "V100-32GB"), Price: 1},
		{GPU: gpuModel(t, "H100"), Price: 3},
		{GPU: gpuModel(t, "A100-40GB"), Price: 2},
	}
	d := advise.Diagnose(p, &advise.Options{Planner: planner, Offers: offers})
	if len(d.Scaling) != 3 || !strings.Contains(d.String(), "predicted from the") {
		t.Fatalf("choices %v, want the A100 and two that are predicted", d)
	}
	if !strings.Contains(strings.Join(d.Warnings, "\n"), "does not fit") {
		t.Errorf("warnings %q say nothing of the T4, which has 16 GB", d.Warnings)
	}
	for i, c := range d.Scaling {
		if i > 0 && c.Cost < d.Scaling[i-1].Cost {
			t.Errorf("%v costs less than what stands before it", c)
		}
		e, predicted := c.Predicted.Get()
		if c.GPU == p.GPU.Name {
			if predicted || c.Throughput != 128 || c.Cost != 2.0/128 {
				t.Errorf("%+v, want what was measured", c)
			}
			continue
		}
		gpu := gpuModel(t, c.GPU)
		want := planner.Config().Pace.Ratio(p, &gpu, &p.GPU)
		if c.From != p.GPU.Name || c.Throughput != 128*want.Value || e.Lo != 128*want.Lo || e.Hi != 128*want.Hi || e.Source != want.Source {
			t.Errorf("%+v, want 128 times %+v", c, want)
		}
	}
}

// TestOffersMeasured has points of a scaling profile, which decide.
func TestOffersMeasured(t *testing.T) {
	planner := newPlanner(t, colloc.Config{})
	unseen := &profile.Profile{}
	unseen.Spec.Training.BatchSize = 32
	points := []advise.ScalingPoint{{"V100", 1, 100, 0}, {"V100", 2, 190, 0}, {"A100-40GB", 1, 90, 0}}
	offers := []advise.Offer{{GPU: gpuModel(t, "A100-40GB")}, {GPU: gpuModel(t, "H100"), Price: math.NaN()}, {GPU: gpuModel(t, "K80")}}
	d := advise.Diagnose(unseen, &advise.Options{Planner: planner, Offers: offers, Scaling: points})
	if len(d.Scaling) != 3 || d.Scaling[0].GPU != "V100" || d.Scaling[1].Throughput != 90 || d.Scaling[2].GPU != "K80" {
		t.Fatalf("choices %v, want V100, A100 and K80", d)
	}
	k80 := d.Scaling[2]
	if e, ok := k80.Predicted.Get(); !ok || e.Lo >= e.Value || e.Hi <= e.Value || k80.Throughput != e.Value {
		t.Errorf("%+v is not predicted", k80)
	}
	if !strings.Contains(strings.Join(d.Warnings, "\n"), "price is NaN") {
		t.Errorf("warnings %q say nothing of a price that is none", d.Warnings)
	}
	d = advise.Diagnose(unseen, &advise.Options{Planner: planner, Offers: offers})
	if len(d.Scaling) != 0 || !strings.Contains(strings.Join(d.Warnings, "\n"), "offers are not compared") {
		t.Errorf("%v without any measurement", d)
	}
}
