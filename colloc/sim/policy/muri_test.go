package policy_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
)

// halves are four tasks, of which the first two interleave with the last two without loss.
func halves() []sim.Task {
	loads := sim.StageTimes{Load: 2 * time.Second, Compute: time.Second, Iteration: 3 * time.Second}
	computes := sim.StageTimes{Load: time.Second, Compute: 2 * time.Second, Iteration: 3 * time.Second}
	var tasks []sim.Task
	for i, stages := range []sim.StageTimes{loads, loads, computes, computes} {
		tasks = append(tasks, sim.Task{ID: strconv.Itoa(i), Work: time.Hour, Stages: stages})
	}
	return tasks
}

// TestMuriAdmits: of those that wait for one GPU only as many are grouped as may share it,
// the best-ranked, though others would suit them better.
func TestMuriAdmits(t *testing.T) {
	tasks := halves()
	for i := range tasks {
		tasks[i].Work *= time.Duration(i + 1)
	}
	at, _ := starts(t, named("card", 1), tasks, policy.Muri{MaxGroup: 2}, sim.Options{Truth: speed.Stages{}})
	for i, now := range []bool{true, true, false, false} {
		if started := at[strconv.Itoa(i)][0]; (started == 0) != now {
			t.Errorf("task %d starts at %v, want at once: %t", i, started, now)
		}
	}
}

// TestMuriInOrder: tasks that are ranked alike and need not share take GPUs in their order.
func TestMuriInOrder(t *testing.T) {
	var on []int
	simulate(t, named("card", 4), halves(), policy.Muri{}, sim.Options{Truth: speed.Stages{}, OnEvent: func(e *sim.Event) {
		if e.Kind == sim.Start {
			on = append(on, e.GPUs[0])
			if e.Task != strconv.Itoa(e.GPUs[0]) {
				t.Errorf("task %s is on GPU %d", e.Task, e.GPUs[0])
			}
		}
	}})
	if slices.Sort(on); !slices.Equal(on, []int{0, 1, 2, 3}) {
		t.Errorf("GPUs %v are used, want all four", on)
	}
}

// TestMuriDeaths: a task that ran out of memory runs alone from then on.
func TestMuriDeaths(t *testing.T) {
	stages := sim.StageTimes{Load: time.Second, Compute: time.Second, Exchange: time.Second, Iteration: 3 * time.Second}
	pair := []sim.Task{{ID: "a", Work: time.Hour, Memory: 9 * gib, Stages: stages}, {ID: "b", Work: time.Hour, Memory: 9 * gib, Stages: stages}}
	o := likely(2*gib, 2*gib)
	o.Truth = speed.Stages{}
	if _, r := starts(t, named("card", 1), pair, policy.Muri{}, o); r.OutOfMemory != 1 {
		t.Errorf("%d deaths, want one", r.OutOfMemory)
	}
}

// TestMuriSizes: at most four tasks share a GPU, and none that ask for a share or a product,
// within its memory.
func TestMuriSizes(t *testing.T) {
	stages := sim.StageTimes{Load: time.Second, Compute: time.Second, Exchange: time.Second, Iteration: 3 * time.Second}
	for _, tt := range []struct {
		name   string
		policy policy.Muri
		change func(*sim.Task)
		most   int
	}{
		{"by default", policy.Muri{}, func(*sim.Task) {}, 4},
		{"as many as five", policy.Muri{MaxGroup: 5}, func(*sim.Task) {}, 4},
		{"that fill a card in pairs", policy.Muri{}, func(x *sim.Task) { x.Memory = 8 * gib }, 2},
		{"two", policy.Muri{MaxGroup: 2}, func(*sim.Task) {}, 2},
		{"that ask for shares", policy.Muri{}, func(x *sim.Task) { x.Share = 0.1 }, 1},
		{"that ask for a product", policy.Muri{}, func(x *sim.Task) { x.Only = []string{"card"} }, 1},
	} {
		var tasks []sim.Task
		for i := range 6 {
			x := sim.Task{ID: strconv.Itoa(i), Work: time.Hour, Memory: gib, Stages: stages}
			tt.change(&x)
			tasks = append(tasks, x)
		}
		r := simulate(t, named("card", 1), tasks, tt.policy, sim.Options{Truth: speed.Stages{}, Until: time.Minute})
		if r.Last.Running != tt.most {
			t.Errorf("%s: %d tasks run together, want %d", tt.name, r.Last.Running, tt.most)
		}
	}
}

// TestMuriStays: tasks whose places do not change go on as longer ones come.
func TestMuriStays(t *testing.T) {
	stages := sim.StageTimes{Load: time.Second, Compute: time.Second, Iteration: 2 * time.Second}
	var tasks []sim.Task
	for i := range 4 {
		tasks = append(tasks, sim.Task{ID: strconv.Itoa(i), Work: time.Duration(i+1) * time.Hour, Arrival: time.Duration(i) * 10 * time.Minute, Stages: stages})
	}
	r := simulate(t, cluster(t, "4xT4"), tasks, policy.Muri{}, sim.Options{Truth: speed.Stages{}, Until: 50 * time.Minute})
	if r.Preemptions != 0 || r.Last.Running != 4 {
		t.Errorf("%d preemptions, %d run; want none and 4", r.Preemptions, r.Last.Running)
	}
}
