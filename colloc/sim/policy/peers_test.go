package policy_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/packer/online"
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
		"carma-magm": true, "carma-magm-blind": true,
		"aegis": true, "aegis-blind": true,
	}
	for _, p := range policy.All() {
		if policy.Profiles(p) == free[p.Name()] {
			t.Errorf("%s profiles: %t", p.Name(), policy.Profiles(p))
		}
	}
}

// TestLucidOutlasts: a long task joins nobody who is much shorter.
func TestLucidOutlasts(t *testing.T) {
	for _, tt := range []struct {
		long time.Duration
		want time.Duration // when the short one is done
	}{
		{3 * time.Hour, time.Hour},
		{2 * time.Hour, 119 * time.Minute},
	} {
		tasks := []sim.Task{
			{ID: "short", Work: time.Hour, Busy: 0.1},
			{ID: "long", Arrival: time.Minute, Work: tt.long, Busy: 0.1},
		}
		r := simulate(t, cluster(t, "1xA100-40GB"), tasks, policy.Lucid{}, sim.Options{})
		if got := r.Ends[0].End; got != tt.want {
			t.Errorf("beside one of %v the short task is done after %v, want %v", tt.long, got, tt.want)
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

// TestObjectives: the objectives have names, and others are unknown.
func TestObjectives(t *testing.T) {
	for o, want := range map[policy.Objective]string{-1: "unknown", policy.MaxSum: "sum", policy.LeastAttained: "las", policy.LeastAttained + 1: "unknown"} {
		if o.String() != want {
			t.Errorf("%d is %q, want %q", int(o), o, want)
		}
	}
}

// TestGavelQueue: of those that wait for one GPU only the first four are looked at, though
// another would suit them better.
func TestGavelQueue(t *testing.T) {
	var tasks []sim.Task
	for i := range 5 {
		tasks = append(tasks, sim.Task{ID: strconv.Itoa(i), Work: time.Hour, Memory: gib, Class: "heavy"})
	}
	tasks[4].Class = "light"
	at, _ := starts(t, named("card", 1), tasks, policy.Gavel{}, sim.Options{Truth: speed.Contention{}})
	if at["4"][0] == 0 {
		t.Errorf("tasks start at %v, want two of the first four at once", at)
	}
}

// TestGavelGangMoves: a gang stops for another that is worth more by what a move costs.
func TestGavelGangMoves(t *testing.T) {
	tasks := []sim.Task{
		{ID: "runs", Work: 120 * time.Minute, GPUs: 2},
		{ID: "longer", Work: 125 * time.Minute, GPUs: 2, Arrival: time.Minute},
	}
	for cost, want := range map[float64]time.Duration{0: 2 * time.Hour, 0.01: 6 * time.Minute} { // in the second round 114 m are left
		at, _ := starts(t, named("card", 2), tasks, policy.Gavel{Objective: policy.Makespan, MoveCost: cost}, sim.Options{})
		if at["longer"][0] != want {
			t.Errorf("a move costs %v: it starts at %v, want %v", cost, at["longer"][0], want)
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

// TestVariantNames: what makes a variant of a policy is in its name.
func TestVariantNames(t *testing.T) {
	for want, p := range map[string]sim.Policy{
		"colloc": policy.Colloc{Budget: profile.Some(1)}, "colloc-2": policy.Colloc{MaxSet: 2},
		"colloc-jct": policy.Colloc{Objective: profile.Some(0.0)}, "colloc-makespan": policy.Colloc{Objective: profile.Some(1.0)},
		"colloc-0.25": policy.Colloc{Objective: profile.Some(0.25)}, "colloc-greedy": policy.Colloc{Budget: profile.Some(0)},
		"colloc-fixed": policy.Colloc{NoLearning: true}, "colloc-nostop": policy.Colloc{NoStop: true}, "colloc-noseen": policy.Colloc{NoSeen: true},
		"colloc-noorder-nomove-nodetour": policy.Colloc{Without: online.Order | online.Moves | online.Detours},
		"gfill-4":                        policy.Greedy{MaxSet: 4, Overtake: true}, "gsjf-4": policy.Greedy{MaxSet: 4, Shortest: true}, "gsjf": policy.Greedy{Shortest: true},
		"greedy": policy.Greedy{MaxSet: 2}, "greedy-3": policy.Greedy{MaxSet: 3},
		"fgd": policy.FGD{}, "fgd-exact": policy.FGD{Exact: true}, "gavel": policy.Gavel{}, "gavel-las": policy.Gavel{Objective: policy.LeastAttained},
		"gavel-unknown": policy.Gavel{Objective: policy.LeastAttained + 1}, "carma-magm": policy.CARMA{},
		"carma-magm-blind": policy.CARMA{Blind: true},
		"aegis":            policy.AEGIS{}, "aegis-blind": policy.AEGIS{Blind: true}, "lucid-in-order": policy.Lucid{InOrder: true},
	} {
		if p.Name() != want {
			t.Errorf("%+v is called %q, want %q", p, p.Name(), want)
		}
	}
}

// TestNames: no two policies of a list have the same name.
func TestNames(t *testing.T) {
	for _, list := range [][]sim.Policy{policy.All(), policy.Ablation()} {
		var names []string
		for _, p := range list {
			names = append(names, p.Name())
		}
		slices.Sort(names)
		if n := len(slices.Compact(slices.Clone(names))); n != len(list) {
			t.Errorf("%d policies have %d names: %v", len(list), n, names)
		}
	}
}

// TestLucidScores: two tasks share where their scores add up to two: tiny is below 0.4 of the
// SMs, medium below 0.8, unless told otherwise.
func TestLucidScores(t *testing.T) {
	for _, tt := range []struct {
		first, second float64
		policy        policy.Lucid
		share         bool
	}{
		{0.9, 0.39, policy.Lucid{}, true},
		{0.9, 0.4, policy.Lucid{}, false},
		{0.79, 0.79, policy.Lucid{}, true},
		{0.8, 0.79, policy.Lucid{}, false},
		{0.8, 0.39, policy.Lucid{}, true},
		{0.9, 0.39, policy.Lucid{Tiny: 0.3}, false},
		{0.7, 0.7, policy.Lucid{Medium: 0.7}, false},
	} {
		tasks := []sim.Task{{ID: "first", Work: time.Hour, Busy: tt.first}, {ID: "second", Work: time.Hour, Busy: tt.second, Arrival: time.Minute}}
		at, _ := starts(t, named("card", 1), tasks, tt.policy, sim.Options{})
		if share := at["second"][0] == time.Minute; share != tt.share {
			t.Errorf("%+v: tasks of %v and %v share: %t", tt.policy, tt.first, tt.second, share)
		}
	}
}

// TestGavelMoves: a task moves where the round that it gains is worth more than the move.
func TestGavelMoves(t *testing.T) {
	tasks := []sim.Task{
		{ID: "a", Work: 2 * time.Hour, Memory: 3 * gib},
		{ID: "b", Work: 2 * time.Hour, Memory: 3 * gib},
		{ID: "fills a card", Work: 10 * time.Minute, Memory: 14 * gib},
	}
	for _, tt := range []struct {
		together float64 // the speed of each of two
		cost     float64
		moves    int
	}{
		{0.95, 0, 0}, // a tenth of a round is not worth a sixth of it
		{0.6, 0, 1},
		{0.6, 1, 0},
		{0.95, 0.05, 1},
	} {
		_, r := starts(t, named("card", 2), tasks, policy.Gavel{MoveCost: tt.cost}, sim.Options{Truth: sim.Constant{1, tt.together}})
		if r.Preemptions != tt.moves {
			t.Errorf("two that run at %v together, where a move costs %v of a round: %d moves, want %d", tt.together, tt.cost, r.Preemptions, tt.moves)
		}
	}
}

// TestGreedyOrders: greedy keeps the order of arrival, gfill lets tasks pass who do not fit, gsjf
// sorts them by length besides.
func TestGreedyOrders(t *testing.T) {
	tasks := []sim.Task{
		{ID: "runs", Work: time.Hour, Memory: 10 * gib},
		{ID: "large", Arrival: time.Minute, Work: 2 * time.Hour, Memory: 10 * gib},
		{ID: "long", Arrival: 2 * time.Minute, Work: 3 * time.Hour, Memory: 6 * gib},
		{ID: "short", Arrival: 2 * time.Minute, Work: time.Minute, Memory: 6 * gib},
	}
	for _, tt := range []struct {
		policy sim.Policy
		passes string // who starts while large waits
	}{
		{policy.Greedy{}, ""},
		{policy.Greedy{Overtake: true}, "long"},
		{policy.Greedy{Shortest: true}, "short"},
	} {
		at, _ := starts(t, named("card", 1), tasks, tt.policy, sim.Options{Truth: sim.Constant{1, 0.9}})
		for _, id := range []string{"long", "short"} {
			if now := at[id][0] == 2*time.Minute; now != (id == tt.passes) {
				t.Errorf("%s: %s starts at %v", tt.policy.Name(), id, at[id])
			}
		}
	}
}

// TestPeersMemory: peers set aside what is expected of tasks, and from when monitoring shows their
// memory on no more than that; who died gets its bound.
func TestPeersMemory(t *testing.T) {
	tasks := []sim.Task{
		{ID: "a", Work: time.Hour, Memory: 4 * gib},
		{ID: "b", Work: time.Hour, Memory: 4 * gib},
		{ID: "c", Work: time.Hour, Memory: 4 * gib},
		{ID: "alike", Arrival: 2 * time.Minute, Work: time.Hour, Memory: 4 * gib},
	}
	for i := range tasks {
		tasks[i].Type = "x"
	}
	for _, p := range []sim.Policy{policy.Greedy{MaxSet: 4}, policy.Greedy{MaxSet: 4, Overtake: true}, policy.Greedy{MaxSet: 4, Shortest: true}} {
		for _, tt := range []struct {
			expected, bound profile.Bytes
			third           time.Duration
		}{
			{5 * gib, 16 * gib, 0},           // what is expected fits
			{6 * gib, 16 * gib, time.Minute}, // what is seen does
			{6 * gib, 6 * gib, time.Minute},
		} {
			o := likely(tt.expected, tt.bound)
			o.Truth = sim.Constant{1, 0.9, 0.8, 0.7}
			at, _ := starts(t, named("card", 1), tasks, p, o)
			if got := at["c"][0]; got != tt.third {
				t.Errorf("%s: the third of %v each, at most %v, starts at %v, want %v", p.Name(), tt.expected, tt.bound, got, tt.third)
			}
			if got := at["alike"][0]; got != 2*time.Minute {
				t.Errorf("%s: one like those that were seen starts at %v, want at once", p.Name(), got)
			}
		}
	}
}

// TestAEGIS: a task joins 45 s after the last did, where memory suffices and the SMs are not both
// active and occupied, or active while memory is read.
func TestAEGIS(t *testing.T) {
	const soon = 46 * time.Second
	for _, tt := range []struct {
		name   string
		policy policy.AEGIS
		runs   sim.Task
		want   time.Duration
	}{
		{"half used", policy.AEGIS{}, sim.Task{Busy: 0.64, Occupancy: 0.9, Bandwidth: 0.9}, soon},
		{"active alone", policy.AEGIS{}, sim.Task{Busy: 0.9, Occupancy: 0.34, Bandwidth: 0.49}, soon},
		{"occupied", policy.AEGIS{}, sim.Task{Busy: 0.65, Occupancy: 0.35}, time.Hour},
		{"read", policy.AEGIS{}, sim.Task{Busy: 0.65, Bandwidth: 0.5}, time.Hour},
		{"too large", policy.AEGIS{}, sim.Task{Busy: 0.1, Memory: 13 * gib}, time.Hour},
		{"free memory alone", policy.AEGIS{Blind: true}, sim.Task{Busy: 0.1, Memory: 10 * gib}, soon},
		{"too little free", policy.AEGIS{Blind: true}, sim.Task{Busy: 0.1, Memory: 11 * gib}, time.Hour},
		{"watched for longer", policy.AEGIS{Settle: 2 * time.Minute}, sim.Task{Busy: 0.1}, 2*time.Minute + time.Second},
	} {
		tt.runs.ID, tt.runs.Work = "runs", time.Hour
		tasks := []sim.Task{tt.runs, {ID: "comes", Arrival: time.Second, Work: time.Minute, Memory: 3 * gib, Busy: 0.1}}
		at, _ := starts(t, named("card", 1), tasks, tt.policy, sim.Options{Truth: sim.Constant{1, 1}})
		if got := at["comes"][0]; got < tt.want-2*time.Second || got > tt.want+2*time.Second {
			t.Errorf("%s: it joins at %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestLucidInOrder: nobody is passed, and each joins where scores add up to least.
func TestLucidInOrder(t *testing.T) {
	tasks := []sim.Task{
		{ID: "jumbo", Work: time.Hour, Busy: 0.5},
		{ID: "tiny", Work: 3 * time.Hour, Busy: 0.1},
		{ID: "joins", Arrival: time.Minute, Work: time.Minute, Busy: 0.5},
		{ID: "second", Arrival: 2 * time.Minute, Work: time.Minute, Busy: 0.1, Memory: 12 * gib},
	}
	tasks[0].Memory = 8 * gib
	at, _ := starts(t, named("card", 2), tasks, policy.Lucid{InOrder: true}, sim.Options{Truth: sim.Constant{1, 1}})
	if at["joins"][0] != time.Minute || at["second"][0] != 2*time.Minute {
		t.Errorf("tasks start at %v", at)
	}
}

// TestHorusByProfile: Horus goes by the time with a kernel where a profile has it.
func TestHorusByProfile(t *testing.T) {
	p, err := profile.Solo{Name: "x", GPU: "A100-40GB", GPUBusy: profile.Some(0.75)}.Profile()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		profile *profile.Profile
		share   bool
	}{{nil, true}, {&p, false}} {
		tasks := []sim.Task{{ID: "a", Work: time.Hour, Busy: 0.25, Profile: tt.profile}, {ID: "b", Work: time.Hour, Arrival: time.Minute, Busy: 0.25, Profile: tt.profile}}
		at, _ := starts(t, named("card", 1), tasks, policy.Horus{}, sim.Options{Truth: sim.Constant{1, 1}})
		if share := at["b"][0] == time.Minute; share != tt.share {
			t.Errorf("profile %v: they share: %t", tt.profile != nil, share)
		}
	}
}
