package bound_test

import (
	"context"
	"fmt"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/bound"
	"example.com/colloc/colloc/sim/policy"
)

// Four tasks of an hour on one GPU, which runs two at .6 each.
func ExampleFind() {
	cluster, err := sim.ParseCluster("1xA100-40GB")
	if err != nil {
		fmt.Println(err)
		return
	}
	var tasks []sim.Task
	for _, id := range []string{"a", "b", "c", "d"} {
		tasks = append(tasks, sim.Task{ID: id, Work: time.Hour, Memory: 15 << 30})
	}
	truth := sim.Constant{1, 0.6}
	day := bound.Options{Truth: truth}
	b, err := bound.Find(context.Background(), cluster, tasks, day)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("nobody ends before %.1f h, or in less than %.1f h in the mean\n", b.Makespan.Hours(), b.MeanJCT.Hours())
	r, err := sim.Run(context.Background(), cluster, tasks, policy.FIFO{}, sim.Options{Truth: truth})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("one after the other: %.1f h and %.1f h\n", r.Makespan.Hours(), r.MeanJCT.Hours())
	_, _, err = b.Certificate.Verify(context.Background(), cluster, tasks, day)
	fmt.Println(err)
	b.Certificate.MeanJCT += time.Hour
	_, _, err = b.Certificate.Verify(context.Background(), cluster, tasks, day)
	fmt.Println(err != nil)
	// Output:
	// nobody ends before 3.3 h, or in less than 2.2 h in the mean
	// one after the other: 4.0 h and 2.5 h
	// <nil>
	// true
}
