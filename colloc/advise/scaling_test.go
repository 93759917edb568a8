package advise_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"example.com/colloc/colloc/advise"
)

func TestChooseGPUs(t *testing.T) {
	a100 := []advise.ScalingPoint{{"A100", 1, 100, 2}, {"A100", 2, 190, 2}, {"A100", 4, 340, 2}, {"A100", 8, 420, 2}}
	h100 := []advise.ScalingPoint{{"H100", 1, 210, 4}, {"H100", 2, 400, 4}}
	a := advise.ScalingChoice{GPU: "A100", GPUs: 4, Throughput: 340, Speedup: 3.4, Efficiency: 0.85, Cost: 8.0 / 340, Next: 8, NextGain: 0.2}
	h := advise.ScalingChoice{GPU: "H100", GPUs: 2, Throughput: 400, Speedup: 400.0 / 210, Efficiency: 400.0 / 420, Cost: 8.0 / 400}
	unpriced := func(points []advise.ScalingPoint) []advise.ScalingPoint {
		free := append([]advise.ScalingPoint{}, points...)
		for i := range free {
			free[i].Price = 0
		}
		return free
	}
	for _, tt := range []struct {
		name    string
		points  []advise.ScalingPoint
		minGain float64
		want    []advise.ScalingChoice
	}{
		{"nothing", nil, 0, nil},
		{"stops at diminishing returns", a100, 0, []advise.ScalingChoice{a}},
		{"any order", []advise.ScalingPoint{a100[3], a100[1], a100[0], a100[2]}, 0, []advise.ScalingChoice{a}},
		{"cheapest work first", append(append([]advise.ScalingPoint{}, a100...), h100...), 0, []advise.ScalingChoice{h, a}},
		{
			"fastest first without prices", append(unpriced(a100), h100...), 0,
			[]advise.ScalingChoice{h, {GPU: "A100", GPUs: 4, Throughput: 340, Speedup: 3.4, Efficiency: 0.85, Next: 8, NextGain: 0.2}},
		},
		{
			"demanding", a100, 0.9,
			[]advise.ScalingChoice{{GPU: "A100", GPUs: 2, Throughput: 190, Speedup: 1.9, Efficiency: 0.95, Cost: 4.0 / 190, Next: 4, NextGain: 0.75}},
		},
		{
			"undemanding", a100, 0.1,
			[]advise.ScalingChoice{{GPU: "A100", GPUs: 8, Throughput: 420, Speedup: 4.2, Efficiency: 0.525, Cost: 16.0 / 420}},
		},
		{
			"does not fit on one",
			[]advise.ScalingPoint{{"A100", 2, 50, 0}, {"A100", 4, 30, 0}},
			0,
			[]advise.ScalingChoice{{GPU: "A100", GPUs: 2, Throughput: 50, Speedup: 1, Efficiency: 1, Next: 4, NextGain: -0.4}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := advise.ChooseGPUs(tt.points, tt.minGain)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-12), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestChooseGPUsFaults(t *testing.T) {
	_, err := advise.ChooseGPUs([]advise.ScalingPoint{
		{"A", 0, 1, 0}, {"A", 1, 0, 0}, {"A", 1, math.NaN(), 0}, {"A", 1, math.Inf(1), 0}, {"A", 1, 1, -1}, {"A", 2, 1, 0}, {"A", 2, 1, 0},
	}, 0)
	for _, want := range []string{"point 0", "GPUs is 0", "point 1", "throughput is 0", "throughput is NaN", "throughput is +Inf", "price is -1", "point 6", "measured twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if c, err := advise.ChooseGPUs([]advise.ScalingPoint{{"A", 1, 1e100, 1e100}, {"B", 1, 1e-100, 0}}, 0); err != nil || len(c) != 2 {
		t.Errorf("the largest numbers: %v, %v", c, err)
	}
	if _, err := advise.ChooseGPUs(nil, math.NaN()); err == nil || !strings.Contains(err.Error(), "minGain is NaN") {
		t.Errorf("got %v", err)
	}
}

// Property: the number chosen was measured, no smaller number that was measured
// does more, and every number is finite.
func TestChooseGPUsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []advise.ScalingPoint
		best := make(map[int]float64)
		for n := 1; n <= 64; n *= 2 {
			if rapid.Bool().Draw(t, "measured") {
				x := rapid.Float64Range(1e-6, 1e6).Draw(t, "throughput")
				points = append(points, advise.ScalingPoint{GPU: "g", GPUs: n, Throughput: x, Price: 1})
				best[n] = x
			}
		}
		choices, err := advise.ChooseGPUs(points, rapid.Float64Range(0.001, 1).Draw(t, "gain"))
		if err != nil {
			t.Fatal(err)
		}
		if (len(choices) == 0) != (len(points) == 0) {
			t.Fatalf("%d choices of %d points", len(choices), len(points))
		}
		for _, c := range choices {
			if best[c.GPUs] != c.Throughput {
				t.Errorf("%+v was not measured", c)
			}
			for n, x := range best {
				if n < c.GPUs && x > c.Throughput {
					t.Errorf("%+v is slower than %d GPUs", c, n)
				}
			}
			for _, x := range []float64{c.Speedup, c.Efficiency, c.Cost, c.NextGain} {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Errorf("%+v has a number that is not finite", c)
				}
			}
		}
	})
}
