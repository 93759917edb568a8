package policy_test

import (
	"context"
	"fmt"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/policy"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/predict"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// The same tasks under three policies.
func Example() {
	cluster, err := sim.ParseCluster("4xA100-40GB")
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks, err := trace.Generate(trace.Workload{
		Tasks: 200, Seed: 1, Between: 12 * time.Minute,
		Types: []trace.Type{{Name: "small", Memory: 4 * profile.GiB}, {Name: "large", Memory: 12 * profile.GiB}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range tasks {
		tasks[i].Class = map[string]string{"small": "light", "large": "medium"}[tasks[i].Type]
	}
	for _, p := range []sim.Policy{policy.FIFO{}, policy.Random{}, policy.Colloc{}} {
		r, err := sim.Run(context.Background(), cluster, tasks, p, sim.Options{Truth: speed.Contention{}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-7s mean completion %6.1f min, p99 %6.1f min\n", r.Policy, r.MeanJCT.Minutes(), r.P99JCT.Minutes())
	}
	// Output:
	// fifo    mean completion  234.2 min, p99  503.1 min
	// random  mean completion   68.1 min, p99  346.7 min
	// colloc  mean completion   61.3 min, p99  361.5 min
}

func ExampleByName() {
	p, ok := policy.ByName("carma-magm")
	fmt.Println(p.Name(), ok)
	_, ok = policy.ByName("nobody")
	fmt.Println(ok)
	// Output:
	// carma-magm true
	// false
}

// How a scheduler reserves memory is an option: here as Horus' estimator would.
func ExampleEstimate() {
	reserve := policy.Estimate("horus")
	t := &sim.Task{ID: "unet", Memory: 9910 * profile.MiB, Estimates: map[string]profile.Bytes{"horus": 2231 * profile.MiB}}
	fmt.Println(reserve(t))
	// Output: 2.18 GiB
}

// colloc's own estimator, from a shape-only run of the task on a CPU.
func ExamplePredicted() {
	m, err := pretrained.Memory()
	if err != nil {
		fmt.Println(err)
		return
	}
	reserve := policy.Predicted(m, predict.Host{}, 0.1)
	t := &sim.Task{ID: "unet", Estimates: map[string]profile.Bytes{"faketensor": 3404 * profile.MiB}}
	fmt.Println(reserve(t) > 3404*profile.MiB, reserve(t) < 10*profile.GiB, reserve(&sim.Task{ID: "unknown"}))
	// Output: true true 39.06 GiB
}

// Reports leave out a policy that cannot do its thing, and name it.
func ExampleLacks() {
	tasks := []sim.Task{{ID: "a", Work: time.Hour, Busy: 0.5}}
	for _, p := range []sim.Policy{policy.Lucid{}, policy.Muri{}} {
		fmt.Printf("%s lacks %q\n", p.Name(), policy.Lacks(p, tasks))
	}
	// Output:
	// lucid lacks ""
	// muri-s lacks "the stages of an iteration"
}
