package policy_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/simtest"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

// TestSessionGangs: gangs larger than a machine run, among others that are not,
// and GPUs fail meanwhile.
func TestSessionGangs(t *testing.T) {
	card := sim.GPU{Model: profile.GPUModel{Name: "card", Memory: 16 * profile.GiB}}
	c := &sim.Cluster{Losses: []sim.Loss{{GPU: 1, At: time.Hour, For: time.Hour}, {GPU: 6, At: 2 * time.Hour, For: time.Minute}}}
	for range 2 {
		c.Nodes = append(c.Nodes, sim.Node{GPUs: []sim.GPU{card, card, card, card}})
	}
	var tasks []sim.Task
	for i := range 40 {
		tasks = append(tasks, sim.Task{
			ID: fmt.Sprint("t", i), Arrival: time.Duration(i) * 10 * time.Minute, Work: 20 * time.Minute,
			GPUs: []int{1, 6, 2, 8}[i%4], Memory: profile.Bytes(1+i%7) * profile.GiB, Class: []string{"light", "heavy"}[i%2],
		})
	}
	for _, p := range []sim.Policy{policy.Session{}, policy.Session{MaxSet: 4}} {
		for _, fault := range simtest.Faults(p, simtest.Scenario{Name: "wide gangs", Cluster: c, Tasks: tasks, Options: sim.Options{Truth: speed.Contention{}}}) {
			t.Errorf("%s: %s", p.Name(), fault)
		}
	}
}

// TestSessionSeats: a gang takes one GPU after the other as they become free, of one machine,
// and starts when it has all; meanwhile no other gang takes seats there.
func TestSessionSeats(t *testing.T) {
	c := &sim.Cluster{Nodes: append(named("card", 2).Nodes, named("card", 2).Nodes...)}
	var tasks []sim.Task
	for i := range 4 {
		tasks = append(tasks, sim.Task{ID: fmt.Sprint("single", i), Work: time.Duration(i+1) * time.Hour, Memory: 12 * gib})
	}
	tasks = append(tasks,
		sim.Task{ID: "first", Arrival: time.Minute, Work: 10 * time.Hour, GPUs: 2, OneNode: true, Memory: 12 * gib},
		sim.Task{ID: "second", Arrival: 2 * time.Minute, Work: time.Hour, GPUs: 2, OneNode: true, Memory: 12 * gib},
		sim.Task{ID: "late", Arrival: 90 * time.Minute, Work: time.Hour, Memory: 12 * gib},
	)
	at, _ := starts(t, c, tasks, policy.Session{}, sim.Options{})
	for id, want := range map[string]time.Duration{"first": 2 * time.Hour, "second": 4 * time.Hour} {
		if at[id][0] != want {
			t.Errorf("%s starts at %v, want %v", id, at[id], want)
		}
	}
	if at["late"][0] < 2*time.Hour {
		t.Errorf("a single task that came later took a seat at %v", at["late"])
	}
}

// TestSessionLostSeats: a gang whose seat fails takes another.
func TestSessionLostSeats(t *testing.T) {
	c := named("card", 4)
	c.Losses = []sim.Loss{{GPU: 2, At: 10 * time.Minute}}
	tasks := []sim.Task{
		{ID: "a", Work: time.Hour, Memory: 12 * gib},
		{ID: "b", Work: 2 * time.Hour, Memory: 12 * gib},
		{ID: "gang", Arrival: time.Minute, Work: time.Hour, GPUs: 3, Memory: 12 * gib},
	}
	if at, _ := starts(t, c, tasks, policy.Session{}, sim.Options{}); len(at["gang"]) != 1 || at["gang"][0] != 2*time.Hour {
		t.Errorf("the gang starts at %v, want 2 h: one of its seats is lost, and all others are needed", at["gang"])
	}
}

// TestSessionSeatsStay: gangs keep the seats that they have, and those that lack cores alone
// their turn, when another card fails.
func TestSessionSeatsStay(t *testing.T) {
	c := &sim.Cluster{Nodes: append(named("card", 4).Nodes, append(named("card", 2).Nodes, named("card", 2).Nodes...)...)}
	c.Nodes[0].CPU = 4
	c.Losses = []sim.Loss{{GPU: 3, At: 30 * time.Minute, For: time.Minute}}
	tasks := []sim.Task{
		{ID: "cores", Work: time.Hour, Memory: 12 * gib, CPU: 4},
		{ID: "needs cores", Arrival: time.Minute, Work: 3 * time.Hour, GPUs: 2, OneNode: true, CPU: 2, Memory: 12 * gib},
	}
	for i := range 4 { // on the last cards of each machine
		tasks = append(tasks, sim.Task{ID: fmt.Sprint("single", i), Arrival: 2 * time.Minute, Work: time.Duration(58+60*i) * time.Minute, Memory: 12 * gib})
	}
	for i := range 2 {
		tasks = append(tasks, sim.Task{ID: fmt.Sprint("gang", i), Arrival: time.Duration(3+i) * time.Minute, Work: time.Hour, GPUs: 2, OneNode: true, Memory: 12 * gib})
	}
	at, r := starts(t, c, tasks, policy.Session{}, sim.Options{})
	if at["needs cores"][0] != time.Hour || r.Makespan > 7*time.Hour {
		t.Errorf("tasks start at %v and end at %v; want the gang that needs cores to start when they are free", at, r.Makespan)
	}
}

// TestSessionEmptiest: a gang takes its seats on the machine with the most idle cards.
func TestSessionEmptiest(t *testing.T) {
	c := &sim.Cluster{Nodes: append(append(named("card", 2).Nodes, named("card", 2).Nodes...), named("card", 1).Nodes...)}
	tasks := []sim.Task{
		{ID: "single", Work: time.Hour, Memory: 12 * gib},
		{ID: "gang", Arrival: time.Minute, Work: time.Hour, GPUs: 2, Memory: 12 * gib},
	}
	if at, _ := starts(t, c, tasks, policy.Session{}, sim.Options{}); at["gang"][0] != time.Minute {
		t.Errorf("the gang starts at %v, want when it comes", at["gang"])
	}
}

// TestSessionWide: a gang that is larger than every machine takes seats anywhere, when no other
// takes any.
func TestSessionWide(t *testing.T) {
	c := &sim.Cluster{Nodes: append(named("card", 1).Nodes, named("card", 2).Nodes...)}
	tasks := []sim.Task{
		{ID: "single", Work: time.Hour, Memory: 12 * gib},
		{ID: "pair", Work: time.Hour, GPUs: 2, Arrival: time.Minute, Memory: 12 * gib},
		{ID: "wide", Work: time.Hour, GPUs: 3, Arrival: 2 * time.Minute, Memory: 12 * gib},
		{ID: "pair again", Work: time.Hour, GPUs: 2, Arrival: 3 * time.Minute, Memory: 12 * gib},
		{ID: "in one machine", Work: time.Hour, GPUs: 2, OneNode: true, Arrival: 4 * time.Minute, Memory: 12 * gib},
	}
	at, r := starts(t, c, tasks, policy.Session{}, sim.Options{})
	if at["wide"][0] <= at["pair"][0] || r.Makespan > 6*time.Hour {
		t.Errorf("gangs start at %v, all end at %v", at, r.Makespan)
	}
}

// TestSessionAlone: a task that ran out of memory runs alone from then on, and so does one
// that reserves more than a GPU has after headroom; others do not wait for it.
func TestSessionAlone(t *testing.T) {
	pair := []sim.Task{{ID: "a", Work: time.Hour, Memory: 9 * gib}, {ID: "b", Work: time.Hour, Memory: 9 * gib}, {ID: "c", Arrival: 10 * time.Minute, Work: time.Hour, Memory: gib}}
	at, r := starts(t, named("card", 1), pair, policy.Session{}, likely(2*gib, 2*gib))
	if r.OutOfMemory != 1 || at["c"][0] != 10*time.Minute || at["b"][1] < time.Hour {
		t.Errorf("%d deaths, tasks start at %v; want one, and that the other starts again when the card is empty", r.OutOfMemory, at)
	}
	large := []sim.Task{
		{ID: "large", Work: time.Hour, Memory: 15 * gib},
		{ID: "small", Arrival: time.Minute, Work: time.Hour, Memory: gib},
		{ID: "large again", Arrival: 2 * time.Minute, Work: time.Hour, Memory: 15 * gib},
		{ID: "large for less headroom", Arrival: 3 * time.Minute, Work: time.Hour, Memory: 14 * gib},
	}
	at, _ = starts(t, named("card", 1), large, policy.Session{}, sim.Options{Truth: sim.Constant{1, 1}})
	if at["small"][0] != time.Hour || at["large again"][0] < 2*time.Hour {
		t.Errorf("tasks start at %v, want one after the other", at)
	}
	at, _ = starts(t, named("card", 1), large[:2], policy.Session{Headroom: profile.Some(0.0)}, sim.Options{Truth: sim.Constant{1, 1}})
	if at["small"][0] != time.Minute {
		t.Errorf("without headroom tasks start at %v, want the small one beside the large", at)
	}
}

// TestSessionHosts: tasks without GPUs wait for CPU.
func TestSessionHosts(t *testing.T) {
	c := &sim.Cluster{Nodes: []sim.Node{{CPU: 2, GPUs: make([]sim.GPU, 1)}}}
	var tasks []sim.Task
	for i := range 5 {
		tasks = append(tasks, sim.Task{ID: fmt.Sprint("t", i), Work: time.Minute, HostOnly: true, CPU: 1})
	}
	if r := simulate(t, c, tasks, policy.Session{}, sim.Options{}); r.Finished != 5 || r.Makespan != 3*time.Minute {
		t.Errorf("%d finished after %v, want 5 after 3 m", r.Finished, r.Makespan)
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
		r := simulate(t, c, tasks, policy.Session{MaxSlowdown: tt.limit}, sim.Options{Truth: speed.Contention{}})
		if got := r.Makespan.Round(time.Second); got != tt.want {
			t.Errorf("with at most %v times as long, 6 heavy tasks of 1 h on 3 GPUs take %v, want %v", tt.limit, got, tt.want)
		}
	}
}
