package simulate

import (
	"math"
	"strings"
	"testing"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// solo makes the study of options and asks its truth for the speed of a task alone.
func solo(t *testing.T, o *options, product, kind string) (speed float64, world string) {
	t.Helper()
	s, err := o.study()
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.draw(0)
	if err != nil {
		t.Fatal(err)
	}
	model, ok := profile.LookupGPU(product)
	if !ok {
		t.Fatalf("GPU %q is not in the catalogue", product)
	}
	dst := []float64{0}
	if err := d.options.Truth.Speeds(&sim.GPU{Model: model}, profile.Exclusive, []*sim.Task{{ID: "a", Type: kind, Class: "light"}}, dst); err != nil {
		t.Fatal(err)
	}
	return dst[0], s.world
}

func TestPace(t *testing.T) {
	trace := write(t, "t.csv", inventedTrace)
	pairs := write(t, "p.csv", "gpu,job_a,job_b,solo_a_steps_per_s,solo_b_steps_per_s,norm_speed_a,norm_speed_b,feasible\nk80,x,x,2,2,0.6,0.6,1\nv100,x,x,8,8,0.6,0.6,1\n")
	for _, tt := range []struct {
		name, trace, pairs, gpus, product string
		pace                              bool
		lo, hi                            float64
		said                              string
	}{
		{"not asked for", trace, "", "2xK80,2xV100", "K80", false, 1, 1, ""},
		{"one product", trace, "", "2xK80", "K80", true, 1, 1, ""},
		{"the fastest", trace, "", "2xK80,2xV100", "V100", true, 1, 1, "solo speeds predicted, 1 on the V100"},
		{"predicted", trace, "", "2xK80,2xV100", "K80", true, 0.05, 0.6, "solo speeds predicted, 1 on the V100"},
		{"measured", "", pairs, "2xK80,2xV100", "K80", true, 0.25, 0.25, "solo speeds measured, 1 on the V100"},
		{"measured, not asked for", "", pairs, "2xK80,2xV100", "K80", false, 1, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &options{trace: tt.trace, pairs: tt.pairs, gpus: tt.gpus, pace: tt.pace, policies: "fifo", seeds: 1, tasks: 5, load: 1, contentions: "1", contention: 1, told: -1, estimator: "oracle"}
			got, world := solo(t, o, tt.product, "x")
			if math.IsNaN(got) || got < tt.lo || got > tt.hi {
				t.Errorf("speed %v alone on the %s, want %v to %v", got, tt.product, tt.lo, tt.hi)
			}
			if said := strings.Contains(world, "solo speeds"); said != (tt.said != "") || !strings.Contains(world, tt.said) {
				t.Errorf("the report says %q, want %q", world, tt.said)
			}
		})
	}
}
