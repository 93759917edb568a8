package colloc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// TestRefit: a refit of co-runs changes what is said of tasks of other names; a
// cancelled one changes nothing and says so.
func TestRefit(t *testing.T) {
	speeds := &interference.Predictor{}
	p, err := colloc.New(colloc.Config{Interference: speeds, Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	gpu := card(t, "g").Model
	for i := range 80 { // tasks that use the same suffer when their batches agree
		a, b := seen(t, fmt.Sprint("a", i%5), 0.5, 0.2, profile.GiB), seen(t, fmt.Sprint("b", i%7), 0.5, 0.2, profile.GiB)
		o := colloc.Observation{GPU: gpu, Members: []colloc.Measurement{
			{Profile: a.Profile, Speed: profile.Some(0.4)}, {Profile: b.Profile, Speed: profile.Some(0.9)},
		}}
		if err := p.Observe(o); err != nil {
			t.Fatal(err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Refit(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v, want one that wraps context.Canceled", err)
	}
	stranger := []*profile.Profile{seen(t, "new", 0.3, 0.2, 20*profile.GiB).Profile, seen(t, "other", 0.6, 0.1, profile.GiB).Profile}
	before, err := speeds.Values(&gpu, profile.TimeSlice, stranger, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Refit(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := speeds.Values(&gpu, profile.TimeSlice, stranger, nil)
	if err != nil {
		t.Fatal(err)
	}
	if before[0] == after[0] {
		t.Errorf("a stranger runs at %v before and after the refit", before[0])
	}
	if err := (&colloc.Planner{}).Refit(t.Context()); err == nil {
		t.Error("a Planner that was not made by New refits")
	}
}
