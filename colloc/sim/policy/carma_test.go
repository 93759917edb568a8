package policy_test

import (
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/profile"
)

// TestCARMAFilters: a task joins another where what monitoring shows free covers its
// estimate and the margins, and unless both the SMs and the memory are pressed.
func TestCARMAFilters(t *testing.T) {
	for _, tt := range []struct {
		busy, bandwidth float64
		memory          profile.Bytes // of a card of 16 GiB, of which the other has 8
		joins           bool
	}{
		{0.8, 0.4, gib, false},
		{0.79, 0.9, gib, true},
		{0.9, 0.39, gib, true},
		{0.1, 0.1, 5*gib + gib/2, true},
		{0.1, 0.1, 5*gib + gib/2 + 1, false},
	} {
		tasks := []sim.Task{
			{ID: "first", Work: time.Hour, Memory: 8 * gib, Busy: tt.busy, Bandwidth: tt.bandwidth},
			{ID: "second", Arrival: 2 * time.Minute, Work: time.Hour, Memory: tt.memory},
		}
		at, _ := starts(t, named("card", 1), tasks, policy.CARMA{}, sim.Options{})
		if joins := at["second"][0] == 2*time.Minute; joins != tt.joins {
			t.Errorf("%+v: it joins at %v", tt, at["second"][0])
		}
	}
}
