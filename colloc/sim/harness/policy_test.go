package harness_test

import (
	"slices"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/harness"
	"example.com/colloc/colloc/sim/simtest"
	"example.com/colloc/profile"
)

// TestPolicyConforms: the planner as a policy keeps the rules that bind every
// scheduler.
func TestPolicyConforms(t *testing.T) { simtest.Conformance(t, harness.Policy{}) }

// replay runs tasks of an hour that keep a card busy by a fifth, one a minute, on a cluster.
func replay(t *testing.T, cluster string, p harness.Policy, truth sim.Model, change func(i int, x *sim.Task), n int) (map[string][]int, *sim.Result) {
	t.Helper()
	c, err := sim.ParseCluster(cluster)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []sim.Task
	for i := range n {
		x := sim.Task{ID: string(rune('a' + i)), Arrival: time.Duration(i) * time.Minute, Work: time.Hour, Memory: profile.GiB, Profile: task(t, "small", 0.2, 1).Profile}
		change(i, &x)
		tasks = append(tasks, x)
	}
	on := map[string][]int{}
	r, err := sim.Run(t.Context(), c, tasks, p, sim.Options{Truth: truth, OnEvent: func(e *sim.Event) {
		if e.Kind == sim.Start {
			on[e.Task] = slices.Clone(e.GPUs)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Finished != n {
		t.Errorf("%d of %d tasks finished", r.Finished, n)
	}
	return on, r
}

func asTheyAre(int, *sim.Task) {}

// TestPolicyLearns: what is measured of sets, relative to tasks alone, decides who shares, unless
// the policy was told not to learn; and the planner that it began with learns nothing.
func TestPolicyLearns(t *testing.T) {
	planner, err := colloc.New(colloc.Config{Shared: true, MaxSet: 2})
	if err != nil {
		t.Fatal(err)
	}
	small := task(t, "small", 0.2, 1).Profile
	card, _ := profile.LookupGPU("A100-40GB")
	told := func() float64 {
		e, err := planner.Config().Interference.Speeds(&card, profile.TimeSlice, []*profile.Profile{small, small}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e[0].Value
	}
	before := told()
	bad, slow := sim.Constant{1, 0.2, 0.1}, sim.Constant{0.5, 0.5, 0.2}
	_, learns := replay(t, "1xA100-40GB", harness.Policy{Planner: planner}, bad, asTheyAre, 12)
	_, fixed := replay(t, "1xA100-40GB", harness.Policy{Planner: planner, NoLearning: true}, bad, asTheyAre, 12)
	if learns.Makespan > fixed.Makespan*3/4 {
		t.Errorf("twelve hours of tasks that disturb each other take %v, and %v without learning", learns.Makespan, fixed.Makespan)
	}
	if _, r := replay(t, "1xA100-40GB", harness.Policy{Planner: planner}, slow, asTheyAre, 12); r.Makespan > 13*time.Hour {
		t.Errorf("pairs that do not disturb each other on a slow card take %v, want twelve hours and a little", r.Makespan)
	}
	if after := told(); after != before {
		t.Errorf("the planner told %v of two small tasks, and %v after other runs", before, after)
	}
}

// TestPolicyPlanner: the planner that is given decides.
func TestPolicyPlanner(t *testing.T) {
	careful, err := colloc.New(colloc.Config{Headroom: profile.Some(0.96)})
	if err != nil {
		t.Fatal(err)
	}
	_, shared := replay(t, "1xA100-40GB", harness.Policy{}, harness.Overlap{}, asTheyAre, 2)
	_, apart := replay(t, "1xA100-40GB", harness.Policy{Planner: careful}, harness.Overlap{}, asTheyAre, 2)
	if shared.Makespan > 70*time.Minute || apart.Makespan != 2*time.Hour {
		t.Errorf("two tasks take %v, and %v where headroom leaves room for one; want about an hour, and two", shared.Makespan, apart.Makespan)
	}
}

// TestPolicyGangs: a gang takes idle cards of the first machine with enough, or, where there is
// none, of several, all of them if it must.
func TestPolicyGangs(t *testing.T) {
	for gpus, want := range map[int][]int{1: {0}, 2: {0, 1}, 4: {0, 1, 2, 3}, 6: {0, 1, 2, 3, 4, 5}} {
		on, _ := replay(t, "3x2xA100-40GB", harness.Policy{}, harness.Overlap{}, func(_ int, x *sim.Task) { x.GPUs = gpus }, 1)
		if !slices.Equal(on["a"], want) {
			t.Errorf("a gang of %d runs on %v, want %v", gpus, on["a"], want)
		}
	}
}

// TestPolicyServices: a service has company as long as it keeps the speed that it needs.
func TestPolicyServices(t *testing.T) {
	for capacity, shares := range map[float64]bool{3.05: false, 15: true} { // 2.9 requests a second, and 0.1 for the limit
		_, r := replay(t, "1xA100-40GB", harness.Policy{}, harness.Overlap{}, func(i int, x *sim.Task) {
			if i == 0 {
				x.Service = &profile.Server{Rate: 2.9, Capacity: capacity, Limit: 10 * time.Second}
			}
		}, 2)
		if (r.Makespan < 90*time.Minute) != shares {
			t.Errorf("a service that needs a speed of %.2f and a task of an hour take %v; shared: want %t", 3/capacity, r.Makespan, shares)
		}
	}
}
