package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/profile"
)

func ExampleDispatcher() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		panic(err)
	}
	d, err := dispatch.New(planner, nil)
	if err != nil {
		panic(err)
	}
	model, _ := profile.LookupGPU("A100-SXM4-40GB")
	job := func(id string, memory profile.Bytes) dispatch.Submitted {
		return dispatch.Submitted{Job: dispatch.Job{Task: colloc.Task{ID: id, Reserved: memory}}}
	}
	now := time.Duration(0)
	decide := func() {
		actions, err := d.Decide(context.Background(), now)
		for _, a := range actions {
			fmt.Println(now, a.Verb, a.Job, "as run", a.Run, "on", a.GPUs)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	err = d.Tell(now, dispatch.GPUAdded{GPU: colloc.GPU{ID: "gpu0", Model: model}}, job("a", 30*profile.GiB), job("b", 30*profile.GiB))
	if err != nil {
		fmt.Println(err)
	}
	decide()
	why, err := d.Why("b")
	fmt.Println("b:", why.String(), err)

	now = time.Hour
	if err := d.Tell(now, dispatch.Started{Job: "a", Run: 1}, dispatch.Ended{Job: "a", Run: 1, How: dispatch.Done}); err != nil {
		fmt.Println(err)
	}
	decide()
	fmt.Println(d.Tell(now, dispatch.Ended{Job: "a", Run: 1, How: dispatch.Done})) // it comes twice
	// Output:
	// 0s start a as run 1 on [gpu0]
	// b: b waits: every GPU that would take it is taken by work that is worth more, and it can join none: beside a it would be 24 GiB short of memory; reservations smaller by that much, or a GPU that much larger, would do. 1 more GPU with 30 GiB would run it. <nil>
	// 1h0m0s start b as run 2 on [gpu0]
	// dispatch: event 0, dispatch.Ended of "a": late: run 1 is over
}

// A job of a higher class does not fit. Of those that run the one goes that says what a restart costs it: the stop
// says for whom. The other would never be stopped.
func ExampleDispatcher_Decide_stop() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		panic(err)
	}
	d, err := dispatch.New(planner, nil)
	if err != nil {
		panic(err)
	}
	model, _ := profile.LookupGPU("RTX 3090")
	job := func(id string, class int) dispatch.Job {
		return dispatch.Job{Task: colloc.Task{ID: id, Reserved: 16 * profile.GiB, Priority: class}}
	}
	low, firm := job("low", 0), job("firm", 0)
	low.Restart = profile.Some(5 * time.Minute)
	err = d.Tell(0, dispatch.GPUAdded{GPU: colloc.GPU{ID: "gpu0", Model: model}}, dispatch.GPUAdded{GPU: colloc.GPU{ID: "gpu1", Model: model}},
		dispatch.Submitted{Job: low}, dispatch.Submitted{Job: firm})
	if err != nil {
		fmt.Println(err)
	}
	decide := func(now time.Duration) {
		actions, err := d.Decide(context.Background(), now)
		for _, a := range actions {
			fmt.Println(now, a.Verb, a.Job, a.GPUs, a.For)
			if a.Verb == dispatch.Start { // carry it out here
				err = errors.Join(err, d.Tell(now, dispatch.Started{Job: a.Job, Run: a.Run}))
			}
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	decide(0)
	if err := d.Tell(time.Hour, dispatch.Submitted{Job: job("urgent", 1)}); err != nil {
		fmt.Println(err)
	}
	decide(time.Hour)
	if err := d.Tell(time.Hour, dispatch.Ended{Job: "low", Run: 1, How: dispatch.Stopped}); err != nil {
		fmt.Println(err)
	}
	decide(time.Hour)
	// Output:
	// 0s start low [gpu0] []
	// 0s start firm [gpu1] []
	// 1h0m0s stop low [gpu0] [urgent]
	// 1h0m0s start urgent [gpu0] []
}

func ExampleRestore() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		panic(err)
	}
	d, err := dispatch.New(planner, nil)
	if err != nil {
		panic(err)
	}
	if err := d.Tell(0, dispatch.Submitted{Job: dispatch.Job{Task: colloc.Task{ID: "a", Reserved: profile.GiB}}}); err != nil {
		fmt.Println(err)
	}
	state, err := d.State()
	fmt.Println(err)
	again, err := dispatch.Restore(planner, nil, state)
	fmt.Println(err)
	why, err := again.Why("a")
	fmt.Println(why.String(), err)
	_, err = dispatch.Restore(planner, nil, []byte(`{"version":7}`))
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// a waits: there is no GPU. One with 1 GiB would run it. <nil>
	// dispatch: bad state: version is 7; want 1
}
