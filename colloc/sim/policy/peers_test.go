package policy_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/profile"
)

// TestLacks: a policy that cannot do its thing says what it misses.
func TestLacks(t *testing.T) {
	plain := []sim.Task{{ID: "a", Work: 1}}
	full := []sim.Task{{ID: "a", Work: 1, Busy: 0.5, Share: 0.5, Stages: sim.StageTimes{Iteration: 1}}}
	missing := 0
	for _, p := range append(policy.All(), policy.FGD{}) {
		if policy.Lacks(p, plain) != "" {
			missing++
		}
		if why := policy.Lacks(p, full); why != "" {
			t.Errorf("%s lacks %q of tasks that say everything", p.Name(), why)
		}
	}
	if missing != 7 { // muri-s, muri-l, lucid, horus, best-fit, random-node, fgd
		t.Errorf("%d policies lack something of tasks that say nothing, want 7", missing)
	}
}

// TestProfiles: who goes by nothing but arrival, length, memory and what monitoring
// shows is not charged for profiles.
func TestProfiles(t *testing.T) {
	free := map[string]bool{
		"fifo": true, "fifo-backfill": true, "srtf": true, "srsf": true, "las": true, "random": true, "best-fit": true, "random-node": true,
		"carma-magm": true, "carma-lug": true, "carma-ff": true, "carma-bf": true, "carma-rr": true, "carma-magm-blind": true,
	}
	for _, p := range policy.All() {
		if policy.Profiles(p) == free[p.Name()] {
			t.Errorf("%s profiles: %t", p.Name(), policy.Profiles(p))
		}
	}
}

// TestLucidOutlasts: a long task joins nobody who is much shorter, unless the rule
// is left out.
func TestLucidOutlasts(t *testing.T) {
	tasks := []sim.Task{
		{ID: "short", Work: time.Hour, Busy: 0.1},
		{ID: "long", Arrival: time.Minute, Work: 3 * time.Hour, Busy: 0.1},
	}
	for _, tt := range []struct {
		policy sim.Policy
		want   time.Duration // when the short one is done
	}{
		{policy.Lucid{}, time.Hour},
		{policy.Lucid{AnyPartner: true}, 119 * time.Minute},
	} {
		r := simulate(t, cluster(t, "1xA100-40GB"), tasks, tt.policy, sim.Options{})
		if got := r.Ends[0].End; got != tt.want {
			t.Errorf("%+v: the short task is done after %v, want %v", tt.policy, got, tt.want)
		}
	}
}

// TestGavelObjectives: on one GPU that nobody can share, each objective runs the
// task that it is named for.
func TestGavelObjectives(t *testing.T) {
	const large = 30 * profile.GiB
	tasks := []sim.Task{
		{ID: "first", Work: 2 * time.Hour, Memory: large},
		{ID: "long", Arrival: time.Second, Work: 10 * time.Hour, Memory: large},
		{ID: "short", Arrival: time.Second, Work: time.Hour, Memory: large},
	}
	ends := map[string][]string{
		"gavel-makespan": {"long", "first", "short"}, "gavel-sjf": {"short", "first", "long"}, "gavel-las": {"short", "first", "long"},
	}
	for _, o := range []policy.Objective{policy.Makespan, policy.ShortestFirst, policy.LeastAttained} {
		r := simulate(t, cluster(t, "1xA100-40GB"), tasks, policy.Gavel{Objective: o}, sim.Options{})
		for i, want := range ends[r.Policy] {
			if i >= len(r.Ends) || r.Ends[i].ID != want {
				t.Errorf("%s: tasks end as %+v, want %v", r.Policy, r.Ends, ends[r.Policy])
				break
			}
		}
	}
}

// TestGavelGangs: where single tasks come so often that two GPUs are never idle at once,
// a gang gets its turn by what each objective says of it.
func TestGavelGangs(t *testing.T) {
	const large = 30 * profile.GiB
	tasks := []sim.Task{{ID: "gang", Arrival: time.Minute, Work: 90 * time.Minute, GPUs: 2, Memory: large}}
	for i := range 12 {
		at := time.Duration(i) * 30 * time.Minute
		tasks = append(tasks, sim.Task{ID: strconv.Itoa(i), Arrival: at, Work: time.Hour, Memory: large})
	}
	for _, tt := range []struct {
		objective policy.Objective
		soon      bool // the gang starts in one of the first rounds, else after the single tasks
	}{
		{policy.MaxSum, false},        // two single tasks are worth more
		{policy.ShortestFirst, false}, // it needs three hours
		{policy.LeastAttained, true},
		{policy.Makespan, true},
	} {
		r := simulate(t, cluster(t, "1x2xA100-40GB"), tasks, policy.Gavel{Objective: tt.objective}, sim.Options{})
		at := slices.IndexFunc(r.Ends, func(e sim.End) bool { return e.ID == "gang" })
		if r.Finished != len(tasks) || (r.Ends[at].Start < 15*time.Minute) != tt.soon {
			t.Errorf("%s: %d of %d tasks finished, the gang %+v, want it to start soon: %t", r.Policy, r.Finished, len(tasks), r.Ends[at], tt.soon)
		}
	}
}
