package policy_test

import (
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

// gavelTasks are tasks of the types that were measured in pairs on a GPU.
func gavelTasks(tb testing.TB, pairs *speed.Pairs, gpu string, tasks, gpus int, load float64, seed uint64) []sim.Task {
	tb.Helper()
	w := trace.Workload{Tasks: tasks, Seed: seed, Between: time.Duration(float64(time.Hour) / float64(gpus) / load)}
	for _, name := range pairs.Types(gpu) {
		w.Types = append(w.Types, trace.Type{Name: name, Memory: profile.GiB})
	}
	ts, err := trace.Generate(w)
	if err != nil {
		tb.Fatal(err)
	}
	return ts
}

// TestGavel: on Gavel's measured pairs, above the load that a cluster bears
// exclusively, colloc completes tasks sooner than the other online policies, or
// within 1 % of them; and learning makes up for wrong predictions.
func TestGavel(t *testing.T) {
	pairs, err := trace.Pairs(open(t, "interference_gavel.csv"), "v100")
	if err != nil {
		t.Fatal(err)
	}
	c := cluster(t, "4x8xV100")
	const tasks, load = 800, 1.2
	seeds := uint64(3)
	if race.Enabled {
		seeds = 1
	}
	mean := func(p sim.Policy, sd float64) float64 {
		sum := 0.0
		for seed := range seeds {
			r := simulate(t, c, gavelTasks(t, pairs, "v100", tasks, c.GPUs(), load, seed), p, sim.Options{
				Truth: pairs, Predicted: speed.Noisy{Model: pairs, SD: sd, Seed: seed}, LengthError: sd, ObserveError: 0.05, Seed: seed,
			})
			if r.Finished != tasks {
				t.Errorf("%s finished %d of %d tasks", r.Policy, r.Finished, tasks)
			}
			sum += r.MeanJCT.Hours() / float64(seeds)
		}
		return sum
	}
	ours := mean(policy.Colloc{Budget: profile.Some(0)}, 0)
	for _, p := range []sim.Policy{policy.FIFO{}, policy.Random{}, policy.Lucid{}, policy.Greedy{}} {
		if other := mean(p, 0); ours > 1.01*other {
			t.Errorf("mean JCT of %s is %.3f h, of colloc %.3f h", p.Name(), other, ours)
		}
	}
	if race.Enabled {
		return // the same once more
	}
	const wrong = 0.2
	for _, p := range [][2]sim.Policy{
		{policy.Greedy{}, policy.Greedy{NoLearning: true}},
		{policy.Gavel{}, policy.Gavel{NoLearning: true}},
	} {
		learning, fixed := mean(p[0], wrong), mean(p[1], wrong)
		t.Logf("%s: mean JCT with predictions that are wrong by 20 %% is %.3f h with learning, %.3f h without", p[0].Name(), learning, fixed)
		if learning >= fixed {
			t.Errorf("%s: mean JCT with predictions that are wrong by 20 %% is %.3f h with learning, %.3f h without", p[0].Name(), learning, fixed)
		}
	}
}

// TestGavelGangStops: a gang that is worth less than the tasks that came stops for them at the
// next round, and goes on when they are done.
func TestGavelGangStops(t *testing.T) {
	tasks := []sim.Task{
		{ID: "gang", Work: 10 * time.Hour, GPUs: 2},
		{ID: "a", Work: 10 * time.Minute, Arrival: time.Hour},
		{ID: "b", Work: 10 * time.Minute, Arrival: time.Hour},
	}
	r := simulate(t, cluster(t, "2xT4"), tasks, policy.Gavel{Objective: policy.ShortestFirst}, sim.Options{})
	for _, e := range r.Ends {
		if e.ID != "gang" && e.Wait > 6*time.Minute {
			t.Errorf("%s waits %v beside a gang that is worth less, want a round of 6 m at most", e.ID, e.Wait)
		}
	}
	if r.Finished != 3 || r.Preemptions == 0 {
		t.Errorf("%d finished, %d preemptions", r.Finished, r.Preemptions)
	}
}
