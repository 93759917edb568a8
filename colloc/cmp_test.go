package colloc_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/internal/race"
	"example.com/colloc/packer/solve"
	"example.com/colloc/predict"
	"example.com/colloc/predict/utilization"
	"example.com/colloc/profile"
)

// TestCmp holds values of the library's types against each other with go-cmp and
// no options: two that are made alike are equal, and one change is a difference.
func TestCmp(t *testing.T) {
	t.Run("Plan", func(t *testing.T) {
		plan := func() colloc.Plan {
			p, err := shared(t).Plan(context.Background(), []colloc.Task{seen(t, "a", 0.3, 0.1, 2*profile.GiB), seen(t, "b", 0.2, 0.1, 30*profile.GiB)}, []colloc.GPU{card(t, "g0")})
			if err != nil {
				t.Fatal(err)
			}
			return *p
		}
		diffs(t, plan, func(p *colloc.Plan) { p.Bound = profile.Opt[float64]{} }, "Bound")
	})
	t.Run("Task", func(t *testing.T) {
		diffs(t, func() colloc.Task { return seen(t, "a", 0.3, 0.1, profile.GiB) }, func(x *colloc.Task) {
			if err := x.Profile.Vector.Set(profile.MeanGPUBusy, 0.5); err != nil {
				t.Fatal(err)
			}
		}, "Vector")
	})
	t.Run("Config", func(t *testing.T) {
		diffs(t, func() colloc.Config {
			return colloc.Config{Host: predict.Host{Context: profile.Some(300 * profile.MiB)}, Headroom: profile.Some(0.2), Method: solve.Auto{}}
		}, func(c *colloc.Config) { c.Headroom = profile.Some(0.0) }, "Headroom")
	})
	t.Run("Config with models", func(t *testing.T) {
		other := newPlanner(t, colloc.Config{}).Config()
		if !race.Enabled { // all models each time
			diffs(t, shared(t).Config, func(c *colloc.Config) { c.Memory = other.Memory }, "Memory")
			diffs(t, shared(t).Config, func(c *colloc.Config) { c.Utilization = &utilization.Predictor{} }, "Utilization")
		}
		diffs(t, shared(t).Config, func(c *colloc.Config) { c.Interference = other.Interference }, "Interference")
	})
	t.Run("Spec", func(t *testing.T) {
		diffs(t, func() profile.Spec { return profile.Spec{Dataset: profile.Dataset{Samples: profile.Some[int64](0)}} },
			func(s *profile.Spec) { s.Dataset.Samples = profile.Opt[int64]{} }, "Samples")
	})
	t.Run("Sample", func(t *testing.T) {
		diffs(t, func() profile.Sample { return profile.Sample{StepTime: profile.Some(time.Second)} },
			func(s *profile.Sample) { s.StepTime = profile.Some(time.Minute) }, "StepTime")
	})
	t.Run("sim.Task", func(t *testing.T) {
		diffs(t, func() sim.Task { return sim.Task{ID: "a", Profile: seen(t, "a", 0.3, 0.1, profile.GiB).Profile} },
			func(x *sim.Task) { x.Profile = seen(t, "a", 0.4, 0.1, profile.GiB).Profile }, "Vector")
	})
}

// diffs compares what fresh returns with itself and with a changed one.
func diffs[T any](t *testing.T, fresh func() T, change func(*T), field string) {
	t.Helper()
	a, b := fresh(), fresh()
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("made alike, but differ:\n%s", diff)
	}
	change(&b)
	if diff := cmp.Diff(a, b); !strings.Contains(diff, field) {
		t.Errorf("changed, but the difference does not show %s:\n%s", field, diff)
	}
}
