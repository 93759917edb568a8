package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/profile"
)

func TestReadQuota(t *testing.T) {
	for text, want := range map[string]map[string]int{
		"":             nil,
		"8":            {"*": 8},
		"ann=4, *=8":   {"ann": 4, "*": 8},
		"user-1=0,b=2": {"user-1": 0, "b": 2},
	} {
		o := options{quota: text}
		if err := o.readQuota(); err != nil || !cmp.Equal(o.quotas, want) {
			t.Errorf("-quota %q: %v, %v, want %v", text, o.quotas, err, want)
		}
	}
	for _, text := range []string{"x", "-1", "ann=", "=4", "4,5", "ann=4,ann=4", "4,"} {
		if o := (options{quota: text}); o.readQuota() == nil {
			t.Errorf("-quota %q is taken as %v", text, o.quotas)
		}
	}
}

// TestDeal: users get tasks in the ratio of 1, 1/2 and 1/3, those that have one keep it.
func TestDeal(t *testing.T) {
	tasks := make([]sim.Task, 6000)
	tasks[0].User = "ann"
	tasks[1] = sim.Task{GPUs: 4}
	tasks[2].CPU = 9
	o := options{users: 3, urgent: 0.25, taskCPUs: 2}
	o.deal(tasks, 1)
	count, urgent := map[string]float64{}, 0
	for i := range tasks {
		count[tasks[i].User]++
		urgent += tasks[i].Priority
	}
	for user, want := range map[string]float64{"ann": 1, "user-1": 6000 * 6. / 11, "user-2": 6000 * 3. / 11, "user-3": 6000 * 2. / 11} {
		if got := count[user]; got < want*0.93 || got > want*1.07 {
			t.Errorf("%s has %v tasks, want about %v", user, got, want)
		}
	}
	if urgent < 1400 || urgent > 1600 {
		t.Errorf("%d of 6000 tasks are urgent, want about 1500", urgent)
	}
	if tasks[0].CPU != 2 || tasks[1].CPU != 8 || tasks[2].CPU != 9 {
		t.Errorf("cores %v, %v, %v, want 2, 8 and what was said", tasks[0].CPU, tasks[1].CPU, tasks[2].CPU)
	}
}

func TestByUser(t *testing.T) {
	r := &sim.Result{Ends: []sim.End{
		{User: "a", Ratio: 1, Finished: true, End: time.Hour},
		{User: "a", Ratio: 3, Finished: true, End: 3 * time.Hour, Priority: 1},
		{User: "b", Ratio: 5, Finished: true, End: 5 * time.Hour, Priority: 1},
		{User: "b", Ratio: 50, Priority: 1}, // given up
		{Ratio: 9, Finished: true},
	}}
	if got := byUser(r); got != 2.5 {
		t.Errorf("users lie %v apart, want 5 over 2", got)
	}
	if got := urgent(r); got != 4*time.Hour {
		t.Errorf("urgent tasks take %v, want 4 h", got)
	}
	r.Ends = r.Ends[:1]
	if byUser(r) != 0 || urgent(r) != 0 || urgent(&sim.Result{}) != 0 {
		t.Error("one user and one priority make a figure")
	}
}

// TestLearn: what is learned on a day is told to policies: an estimator that sends every
// task to a GPU of its own is forgotten once a task of the type was seen; by a policy that does
// not look at what monitoring shows.
func TestLearn(t *testing.T) {
	cluster, err := sim.ParseCluster("2xA100-40GB")
	if err != nil {
		t.Fatal(err)
	}
	var tasks []sim.Task
	for i := range 12 {
		tasks = append(tasks, sim.Task{
			ID: string(rune('a' + i)), Type: "x", Class: "light", Arrival: time.Duration(i) * 5 * time.Minute,
			Work: time.Hour, Memory: 4 * profile.GiB,
		})
	}
	occupied := func(learn bool) time.Duration {
		s := study{cluster: cluster, draw: func(uint64) (day, error) {
			return day{tasks: tasks, learn: learn, most: 40 * profile.GiB, options: sim.Options{
				Truth: speed.Contention{}, Reserve: func(*sim.Task) profile.Bytes { return 39 * profile.GiB },
			}}, nil
		}}
		o, err := s.one(t.Context(), policy.Colloc{Budget: profile.Some(0), NoSeen: true}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return o.Makespan
	}
	if told, learned := occupied(false), occupied(true); told < 6*time.Hour || learned > 4*time.Hour {
		t.Errorf("makespan %v with an estimator that is wrong, %v where it is learned from; want more than 6 h and less than 4", told, learned)
	}
}
