package policy_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

// starts are the times at which tasks started, by their IDs.
func starts(t *testing.T, c *sim.Cluster, tasks []sim.Task, p sim.Policy, o sim.Options) (map[string][]time.Duration, *sim.Result) {
	t.Helper()
	at := map[string][]time.Duration{}
	o.OnEvent = func(e *sim.Event) {
		if e.Kind == sim.Start || e.Kind == sim.Recovery {
			at[e.Task] = append(at[e.Task], e.At)
		}
	}
	r := simulate(t, c, tasks, p, o)
	if r.Finished != len(tasks) {
		t.Errorf("%s: %d of %d tasks finished", p.Name(), r.Finished, len(tasks))
	}
	return at, r
}

// likely makes all tasks reserve a bound, of which less is expected.
func likely(expected, bound profile.Bytes) sim.Options {
	return sim.Options{
		Truth: sim.Constant{1, 0.9, 0.8}, Reserve: func(*sim.Task) profile.Bytes { return bound },
		Likely: func(*sim.Task) profile.Bytes { return expected },
	}
}

const gib = profile.GiB

// TestLostAndFound: the tasks of a GPU that fails run again, on another or when it returns,
// and the others go on.
func TestLostAndFound(t *testing.T) {
	c := named("card", 2)
	c.Losses = []sim.Loss{{GPU: 0, At: 10 * time.Minute, For: 5 * time.Minute}, {GPU: 1, At: 10 * time.Minute, For: 5 * time.Minute}}
	tasks := []sim.Task{{ID: "a", Work: time.Hour, Memory: 12 * gib}, {ID: "b", Work: 62 * time.Minute, Memory: 12 * gib}}
	for i := range tasks { // what some policies ask for
		tasks[i].Busy, tasks[i].Share, tasks[i].Stages = 0.9, 1, sim.StageTimes{Compute: time.Second, Iteration: time.Second}
	}
	for _, p := range policy.All() {
		_, r := starts(t, c, tasks, p, sim.Options{})
		if r.Makespan < 77*time.Minute || r.Makespan > 85*time.Minute {
			t.Errorf("%s: two tasks of 60 and 62 m take %v, want 77 m: both are lost after ten and go on after fifteen", p.Name(), r.Makespan)
		}
	}
}

// TestPassesOver: a task that comes while a card is down starts on another, and at once where
// the card returns as it comes.
func TestPassesOver(t *testing.T) {
	c := named("card", 2)
	c.Losses = []sim.Loss{{GPU: 0, At: 10 * time.Minute, For: 20 * time.Minute}}
	for _, p := range policy.All() {
		tasks := []sim.Task{{ID: "single", Arrival: 20 * time.Minute, Work: time.Minute, Memory: 12 * gib}}
		if policy.Lacks(p, tasks) != "" {
			continue
		}
		if at, _ := starts(t, c, tasks, p, sim.Options{}); len(at["single"]) != 1 || at["single"][0] > 27*time.Minute {
			t.Errorf("%s: it starts at %v, want 20 m, or after a round", p.Name(), at["single"])
		}
		tasks[0].Arrival, tasks[0].GPUs = 30*time.Minute, 2
		if at, _ := starts(t, c, tasks, p, sim.Options{}); len(at["single"]) != 1 || at["single"][0] > 37*time.Minute {
			t.Errorf("%s: a gang that comes as the card returns starts at %v, want 30 m, or after a round", p.Name(), at["single"])
		}
	}
}

// TestWithoutGPUs: tasks without GPUs wait for cores alone.
func TestWithoutGPUs(t *testing.T) {
	c := named("card", 1)
	c.Nodes[0].CPU = 2
	var tasks []sim.Task
	for i := range 5 {
		tasks = append(tasks, sim.Task{ID: strconv.Itoa(i), Arrival: time.Duration(i) * time.Minute, Work: time.Hour, HostOnly: true, CPU: 1})
	}
	for _, p := range policy.All() {
		if r := simulate(t, c, tasks, p, sim.Options{}); r.Finished != 5 || r.Makespan > 3*time.Hour+10*time.Minute {
			t.Errorf("%s: %d of 5 tasks finished after %v, want all after about 3 h", p.Name(), r.Finished, r.Makespan)
		}
	}
}

// ours are colloc's own policies, with and without look-ahead.
func ours() []sim.Policy {
	return []sim.Policy{policy.Colloc{NoStop: true}, policy.Colloc{NoStop: true, Budget: profile.Some(0)}}
}

// TestPicky: each task runs at once on the product that it accepts, also beside
// others of its type, and in one machine where it must.
func TestPicky(t *testing.T) {
	c := &sim.Cluster{Nodes: append(named("A", 1).Nodes, named("B", 2).Nodes...)}
	tasks := []sim.Task{
		{ID: "of b", Work: time.Hour, Memory: gib, Type: "x", Only: []string{"B"}},
		{ID: "of a", Work: time.Hour, Memory: gib, Type: "x", Only: []string{"A"}, Arrival: time.Minute},
		{ID: "pair", Work: time.Hour, Memory: gib, GPUs: 2, OneNode: true, Arrival: 2 * time.Minute},
	}
	for _, p := range ours() {
		at, _ := starts(t, c, tasks, p, sim.Options{Truth: sim.Constant{1, 1}})
		for _, x := range tasks {
			if len(at[x.ID]) != 1 || at[x.ID][0] != x.Arrival {
				t.Errorf("%s: %s starts at %v, want %v", p.Name(), x.ID, at[x.ID], x.Arrival)
			}
		}
	}
}

// TestCores: tasks for which the machine has no cores left wait for those that have
// them, and start at once when they are done, as many as there are.
func TestCores(t *testing.T) {
	c := named("card", 4)
	c.Nodes[0].CPU = 8
	var tasks []sim.Task
	for i, cpu := range []float64{8, 4, 4} {
		tasks = append(tasks, sim.Task{ID: strconv.Itoa(i), Arrival: time.Duration(i) * time.Minute, Work: time.Hour, Memory: gib, CPU: cpu})
	}
	for _, p := range ours() {
		at, r := starts(t, c, tasks, p, sim.Options{})
		if r.Makespan != 2*time.Hour || len(at["1"]) != 1 || at["1"][0] != time.Hour || at["2"][0] != time.Hour {
			t.Errorf("%s: tasks start at %v and end at %v, want 0, 1 h, 1 h and 2 h", p.Name(), at, r.Makespan)
		}
	}
}

// TestAtOnce: what happens at one moment is all heard: a task ends, its speed is learned,
// and two others come.
func TestAtOnce(t *testing.T) {
	tasks := []sim.Task{{ID: "first", Work: time.Hour, Memory: 12 * gib, Type: "x"}, {ID: "beside", Work: 2 * time.Hour, Memory: gib, Type: "y"}}
	for i := range 2 {
		tasks = append(tasks, sim.Task{ID: strconv.Itoa(i), Arrival: time.Hour, Work: 10 * time.Hour, Memory: 7 * gib})
	}
	for _, p := range ours() {
		at, _ := starts(t, named("card", 1), tasks, p, sim.Options{Truth: sim.Constant{1, 1, 1}})
		for id, times := range at {
			if want := map[bool]time.Duration{id == "0" || id == "1": time.Hour}[true]; len(times) != 1 || times[0] != want {
				t.Errorf("%s: %s starts at %v, want %v", p.Name(), id, times, want)
			}
		}
	}
}

// TestCollocDeaths: who ran out of memory reserves the bound the second time, also where
// others of the type use less, and where the bound is no more than expected it runs alone:
// nobody dies twice of the same.
func TestCollocDeaths(t *testing.T) {
	pair := []sim.Task{{ID: "a", Work: time.Hour, Memory: 9 * gib}, {ID: "b", Arrival: 10 * time.Minute, Work: time.Hour, Memory: 9 * gib}}
	small := []sim.Task{
		{ID: "small", Work: 2 * time.Hour, Memory: 2 * gib, Type: "x"},
		{ID: "large", Arrival: 10 * time.Minute, Work: time.Hour, Memory: 15 * gib, Type: "x"},
	}
	for _, tt := range []struct {
		name            string
		tasks           []sim.Task
		expected, bound profile.Bytes
		deaths          int
	}{
		{"the bound was right", pair, 2 * gib, 10 * gib, 1},
		{"the bound was wrong", pair, 2 * gib, 2 * gib, 1},
		{"others use less", small, 2 * gib, 15 * gib, 1},
		{"the bound of one that never ran is not reserved", pair[:1], 2 * gib, 10 * gib, 0},
	} {
		_, r := starts(t, named("card", 1), tt.tasks, policy.Colloc{}, likely(tt.expected, tt.bound))
		if r.OutOfMemory != tt.deaths {
			t.Errorf("%s: %d deaths, want %d", tt.name, r.OutOfMemory, tt.deaths)
		}
	}
}

// TestCollocSees: once monitoring has shown what a task uses, others find room beside it, and
// those of its type reserve that from their start.
func TestCollocSees(t *testing.T) {
	for _, tt := range []struct {
		name         string
		second       string
		memory, used profile.Bytes // what is expected of each, and used
		policy       policy.Colloc
		joins        bool
	}{
		{"of one type", "x", 12 * gib, 2 * gib, policy.Colloc{}, true},
		{"of another", "y", 12 * gib, 2 * gib, policy.Colloc{}, true},
		{"of another that is large", "y", 14 * gib, 2 * gib, policy.Colloc{}, false},
		{"of one type that is large", "x", 14 * gib, 2 * gib, policy.Colloc{}, true},
		{"unseen", "x", 12 * gib, 2 * gib, policy.Colloc{NoSeen: true}, false},
		{"no memory at all", "x", 12 * gib, 0, policy.Colloc{}, false},
	} {
		tasks := []sim.Task{
			{ID: "a", Work: 2 * time.Hour, Memory: tt.used, Type: "x"},
			{ID: "b", Arrival: 10 * time.Minute, Work: 2 * time.Hour, Memory: tt.used, Type: tt.second},
		}
		at, _ := starts(t, named("card", 1), tasks, tt.policy, likely(tt.memory, tt.memory))
		if joins := at["b"][0] == 10*time.Minute; joins != tt.joins {
			t.Errorf("%s: the second starts at %v, at once: %t, want %t", tt.name, at["b"], joins, tt.joins)
		}
	}
}

// TestCollocStops: a task stops for a much shorter one, unless it is a service or the policy
// was told not to.
func TestCollocStops(t *testing.T) {
	service := &profile.Server{Rate: 1, Capacity: 100, Limit: time.Second}
	for _, tt := range []struct {
		name    string
		policy  policy.Colloc
		service *profile.Server
		stops   int
	}{
		{"a task", policy.Colloc{Objective: profile.Some(0.0)}, nil, 1},
		{"where none may stop", policy.Colloc{NoStop: true}, nil, 0},
		{"a service", policy.Colloc{}, service, 0},
	} {
		tasks := []sim.Task{
			{ID: "long", Work: 10 * time.Hour, Memory: 12 * gib, Service: tt.service},
			{ID: "short", Arrival: time.Hour, Work: 10 * time.Minute, Memory: 12 * gib},
		}
		if _, r := starts(t, named("card", 1), tasks, tt.policy, sim.Options{}); r.Preemptions != tt.stops {
			t.Errorf("%s: %d stops, want %d", tt.name, r.Preemptions, tt.stops)
		}
	}
}

// TestCollocPriority: of two tasks alike the one of higher priority goes first, however far
// priorities lie apart.
func TestCollocPriority(t *testing.T) {
	for _, first := range []int{1, 9, 100, -1, -100} {
		tasks := []sim.Task{{ID: "now", Work: time.Hour, Memory: 12 * gib}}
		for i := range 2 {
			tasks = append(tasks, sim.Task{
				ID: strconv.Itoa(i), Arrival: time.Duration(i+1) * time.Minute, Work: time.Hour, Memory: 12 * gib, Priority: i * first,
			})
		}
		at, _ := starts(t, named("card", 1), tasks, policy.Colloc{NoStop: true}, sim.Options{})
		if late := at["1"][0] > at["0"][0]; late != (first < 0) {
			t.Errorf("a task of priority %d starts at %v, one of 0 that came before at %v", first, at["1"], at["0"])
		}
	}
}

// TestCollocLearns: sets that turn out to be much worse than predicted are not formed for long,
// unless the policy was told not to learn.
func TestCollocLearns(t *testing.T) {
	var tasks []sim.Task
	for i := range 12 {
		tasks = append(tasks, sim.Task{ID: strconv.Itoa(i), Arrival: time.Duration(i) * time.Minute, Work: time.Hour, Memory: gib, Type: "x"})
	}
	o := sim.Options{Truth: sim.Constant{1, 0.2, 0.1, 0.05}, Predicted: sim.Constant{1, 0.9, 0.8, 0.7}}
	_, learns := starts(t, named("card", 1), tasks, policy.Colloc{}, o)
	_, fixed := starts(t, named("card", 1), tasks, policy.Colloc{NoLearning: true}, o)
	if learns.Makespan > fixed.Makespan*3/4 {
		t.Errorf("twelve hours of tasks that disturb each other take %v, and %v without learning", learns.Makespan, fixed.Makespan)
	}
	// What is measured of a set as it ends counts for who starts then: the third waits for both.
	tasks[1].Work *= 2
	at, _ := starts(t, named("card", 1), tasks[:3], policy.Colloc{MaxSet: 2, NoStop: true}, o)
	if first, second, third := at["0"], at["1"], at["2"]; third[0] < 5*time.Hour+30*time.Minute { // the first ends after about five, the second an hour later
		t.Errorf("tasks start at %v, %v and %v, want the third when the others are done", first, second, third)
	}
}

// TestSlowdownLimits: no set runs slower than the limit allows, which sets do without one.
func TestSlowdownLimits(t *testing.T) {
	var tasks []sim.Task
	for i := range 6 {
		tasks = append(tasks, sim.Task{ID: fmt.Sprint("t", i), Work: time.Hour, Memory: gib, Class: "heavy"})
	}
	for _, tt := range []struct {
		policy sim.Policy
		slow   bool
	}{
		{policy.Colloc{}, true},
		{policy.Colloc{MaxSlowdown: 1.5}, false},
		{policy.Colloc{MaxSlowdown: 1}, false},
	} {
		least := 1.0
		simulate(t, named("card", 3), tasks, tt.policy, sim.Options{Truth: speed.Contention{}, OnEvent: func(e *sim.Event) {
			if e.Kind == sim.SpeedChange {
				least = min(least, e.Speed)
			}
		}})
		if slow := least < 1/1.5; slow != tt.slow {
			t.Errorf("%+v: the least speed is %v, below one over 1.5: %t, want %t", tt.policy, least, slow, tt.slow)
		}
	}
}

// TestCollocByRequest: tasks that ask for halves of GPUs leave a whole one free for the
// task that needs it.
func TestCollocByRequest(t *testing.T) {
	c := cluster(t, "2xT4")
	tasks := []sim.Task{
		{ID: "a", Work: time.Hour, Share: 0.5},
		{ID: "whole", Work: time.Hour, Arrival: 2 * time.Minute},
		{ID: "b", Work: time.Hour, Share: 0.5, Arrival: time.Minute},
	}
	started := time.Duration(-1)
	simulate(t, c, tasks, policy.Colloc{}, sim.Options{OnEvent: func(e *sim.Event) {
		if e.Kind == sim.Start && e.Task == "whole" {
			started = e.At
		}
	}})
	if started != 2*time.Minute {
		t.Errorf("the task that needs a whole GPU starts after %v, want when it comes", started)
	}
}

// TestMaxSlowdown: a limit on slowdown is kept by the prediction.
func TestMaxSlowdown(t *testing.T) {
	var tasks []sim.Task
	for i := range 6 {
		tasks = append(tasks, sim.Task{ID: fmt.Sprint("t", i), Work: time.Hour, Class: "heavy"})
	}
	c := cluster(t, "3xT4")
	for _, tt := range []struct {
		limit float64
		want  time.Duration
	}{{0, 96 * time.Minute}, {1.6, 96 * time.Minute}, {1.5, 2 * time.Hour}} {
		r := simulate(t, c, tasks, policy.Colloc{MaxSet: 2, MaxSlowdown: tt.limit}, sim.Options{Truth: speed.Contention{}})
		if got := r.Makespan.Round(time.Second); got != tt.want {
			t.Errorf("with at most %v times as long, 6 heavy tasks of 1 h on 3 GPUs take %v, want %v", tt.limit, got, tt.want)
		}
	}
}
