package sim_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/profile"
)

// TestQuotas: whoever decides, the tasks of a user that were shown to the policy and did
// not end never ask for more GPUs than his quota; they come in the order of priority and
// arrival; nothing that may run is held back; and a task beyond its user's quota never
// comes.
func TestQuotas(t *testing.T) {
	draw := rand.New(rand.NewPCG(27, 1))
	quotas := map[string]int{"alice": 2, "*": 3}
	var tasks []sim.Task
	for i := range 60 {
		tasks = append(tasks, sim.Task{
			ID: strconv.Itoa(i), Arrival: time.Duration(draw.IntN(120)) * time.Minute, Work: time.Duration(5+draw.IntN(50)) * time.Minute,
			GPUs: 1 + draw.IntN(2), Memory: profile.GiB, User: []string{"alice", "bob", "carol"}[draw.IntN(3)], Priority: draw.IntN(3) - 1,
		})
	}
	tasks = append(tasks, sim.Task{ID: "never", Work: time.Minute, GPUs: 3, User: "alice", Priority: -9})
	c, err := sim.ParseCluster("2x4xA100-40GB")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []sim.Policy{policy.FIFO{}, policy.LAS{}, policy.Greedy{}, policy.Gavel{}, policy.Colloc{Budget: profile.Some(0)}} {
		w := &watcher{Policy: p, t: t, quotas: quotas, tasks: tasks}
		r, err := sim.Run(t.Context(), c, tasks, w, sim.Options{Quotas: quotas})
		if err != nil {
			t.Fatal(err)
		}
		if r.Finished != 60 || r.Unfinished != 1 {
			t.Errorf("%s: %d finished and %d did not, want all but the one that is beyond its quota", p.Name(), r.Finished, r.Unfinished)
		}
		for _, e := range r.Ends {
			if e.Wait != 0 && e.Start < e.Arrival+e.Wait-time.Hour || e.Start >= 0 && e.Wait < e.Start-e.Arrival {
				t.Errorf("%s: task %s waited %v and came at %v, started at %v", p.Name(), e.ID, e.Wait, e.Arrival, e.Start)
			}
		}
	}
}

// watcher looks at what a policy is shown.
type watcher struct {
	sim.Policy
	t      *testing.T
	quotas map[string]int
	tasks  []sim.Task
}

type watching struct {
	sim.Scheduler
	*watcher
	shown []*sim.TaskView
}

func (w *watcher) Begin(s *sim.State) (sim.Scheduler, error) {
	inner, err := w.Policy.Begin(s)
	return &watching{Scheduler: inner, watcher: w}, err
}

func (w *watching) Decide(s *sim.State) error {
	for _, v := range s.Arrived() {
		if !slices.Contains(w.shown, v) {
			w.shown = append(w.shown, v)
		}
	}
	have := map[string]int{}
	for _, v := range w.shown {
		if !v.Ended() {
			have[v.User] += v.GPUs
		}
	}
	for user, n := range have {
		if n > w.quota(user) {
			w.t.Errorf("%s at %v: %s has %d GPUs", w.Name(), s.Now(), user, n)
		}
	}
	for i := range w.tasks { // who came, is not shown, and has room, is behind another who has none
		x := &w.tasks[i]
		if x.Arrival <= s.Now() && !w.saw(x) && have[x.User]+x.GPUs <= w.quota(x.User) && !w.behind(s, x) {
			w.t.Errorf("%s at %v: %s of %s is held back without need", w.Name(), s.Now(), x.ID, x.User)
		}
	}
	return w.Scheduler.Decide(s)
}

func (w *watching) quota(user string) int {
	if n, ok := w.quotas[user]; ok {
		return n
	}
	return w.quotas["*"]
}

func (w *watching) saw(x *sim.Task) bool {
	return slices.ContainsFunc(w.shown, func(v *sim.TaskView) bool { return v.ID == x.ID })
}

// behind reports whether another task of x's user waits to be shown that goes first.
func (w *watching) behind(s *sim.State, x *sim.Task) bool {
	return slices.ContainsFunc(w.tasks, func(y sim.Task) bool {
		first := y.Priority > x.Priority || y.Priority == x.Priority && y.Arrival <= x.Arrival
		return y.User == x.User && y.ID != x.ID && y.Arrival <= s.Now() && !w.saw(&y) && first
	})
}

// TestPriority: tasks of a higher priority go first, whatever the order of the policy.
func TestPriority(t *testing.T) {
	c, err := sim.ParseCluster("1xA100-40GB")
	if err != nil {
		t.Fatal(err)
	}
	tasks := []sim.Task{{ID: "now", Work: time.Hour, Memory: 30 * profile.GiB}}
	for i, p := range []int{0, 2, -1, 2, 0} {
		tasks = append(tasks, sim.Task{
			ID: strconv.Itoa(i), Arrival: time.Duration(1+i) * time.Minute, Work: time.Duration(20+i) * time.Hour,
			Memory: 30 * profile.GiB, Priority: p, Busy: 0.9,
		})
	}
	want := []int{2, 2, 0, 0, -1}
	for _, p := range []sim.Policy{
		policy.FIFO{},
		policy.Shortest{},
		policy.LAS{},
		policy.Lucid{},
		policy.CARMA{},
		policy.Greedy{},
		policy.Gavel{},
	} {
		r, err := sim.Run(t.Context(), c, tasks, p, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, e := range r.Ends {
			if e.ID != "now" {
				got = append(got, e.Priority)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: tasks end as %v, want %v", p.Name(), got, want)
		}
	}
}
