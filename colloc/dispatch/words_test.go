package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// TestOptionsAtTheLimits: each option is taken up to its limits and refused beyond.
func TestOptionsAtTheLimits(t *testing.T) {
	const day = 24 * time.Hour
	p := planner(t)
	for name, o := range map[string]struct {
		least, most time.Duration
		zero        bool
		set         func(o *dispatch.Options, d time.Duration)
	}{
		"Lease":    {0, 30 * day, true, func(o *dispatch.Options, d time.Duration) { o.Lease = d }},
		"Shun":     {0, day, true, func(o *dispatch.Options, d time.Duration) { o.Shun = d }},
		"Window":   {time.Hour, 3660 * day, true, func(o *dispatch.Options, d time.Duration) { o.Window = d }},
		"HalfLife": {0, 3660 * day, true, func(o *dispatch.Options, d time.Duration) { o.HalfLife = d }},
	} {
		for d, want := range map[time.Duration]bool{-1: false, 0: o.zero, o.least: true, max(1, o.least-1): o.least <= 1, o.most: true, o.most + 1: false} {
			var options dispatch.Options
			o.set(&options, d)
			if _, err := dispatch.New(p, &options); (err == nil) != want {
				t.Errorf("%s of %v: %v", name, d, err)
			}
		}
	}
}

// TestReasonWords: a reason says all that its fields say.
func TestReasonWords(t *testing.T) {
	placing := packer.Reason{ID: "j", Code: packer.NoGPU}
	limits := dispatch.Limits{Quota: profile.Some(time.Hour)}
	some := func(n int) profile.Opt[int] { return profile.Some(n) }
	for want, r := range map[string]dispatch.Reason{
		"it runs":               {Code: dispatch.Runs},
		"it was asked to start": {Code: dispatch.Starts},
		`its place is decided: job "n" stops there first`:                                                                  {Code: dispatch.Clears, Name: "n"},
		"it was asked to stop: why":                                                                                        {Code: dispatch.Stops, Detail: "why"},
		"it is held, until it is released":                                                                                 {Code: dispatch.OnHold},
		`it comes after job "n", which is not over`:                                                                        {Code: dispatch.Follows, Name: "n"},
		`starts were refused, the last on GPU "n" (why); it is tried again at 1m0s`:                                        {Code: dispatch.Refusals, Name: "n", Detail: "why", Until: profile.Some(time.Minute)},
		`user "n" has spent the 1h0m0s of GPU time that one may have: until 1m0s`:                                          {Code: dispatch.OverQuota, Name: "n", Limits: limits, Until: profile.Some(time.Minute)},
		`user "n" has spent the 1h0m0s of GPU time that one may have`:                                                      {Code: dispatch.OverQuota, Name: "n", Limits: limits},
		`user "n" runs 1 jobs on 2 GPUs, shared ones counted for each, of the 3 jobs that one may have at once`:            {Code: dispatch.OverLimit, Name: "n", Jobs: 1, GPUs: 2, Limits: dispatch.Limits{Jobs: some(3)}},
		`user "n" runs 1 jobs on 2 GPUs, shared ones counted for each, of the 3 GPUs that one may have at once`:            {Code: dispatch.OverLimit, Name: "n", Jobs: 1, GPUs: 2, Limits: dispatch.Limits{GPUs: some(3)}},
		`user "n" runs 1 jobs on 2 GPUs, shared ones counted for each, of the 3 jobs and 4 GPUs that one may have at once`: {Code: dispatch.OverLimit, Name: "n", Jobs: 1, GPUs: 2, Limits: dispatch.Limits{Jobs: some(3), GPUs: some(4)}},
		fmt.Sprintf("too few GPUs are left: why. %v", &placing):                                                            {Code: dispatch.ForOthers, Detail: "why", Placing: placing},
		fmt.Sprintf("2 jobs of users who had less of their share go first. %v", &placing):                                  {Code: dispatch.OutOfTurn, Ahead: 2, Placing: placing},
		placing.String(): {Code: dispatch.Room, Placing: placing},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
