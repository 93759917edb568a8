package history_test

import (
	"context"
	"fmt"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/history"
	"example.com/colloc/colloc/sim/policy"
)

// Shortest first, told nothing: the first task of a type is believed to take an hour.
func Example() {
	tasks := []sim.Task{
		{ID: "train-1", Type: "train", Work: 3 * time.Hour},
		{ID: "test-1", Type: "test", Work: 5 * time.Minute, Arrival: time.Second},
		{ID: "train-2", Type: "train", Work: 3 * time.Hour, Arrival: 4 * time.Hour},
		{ID: "test-2", Type: "test", Work: 5 * time.Minute, Arrival: 5 * time.Hour},
	}
	cluster, err := sim.ParseCluster("1xA100-40GB")
	if err != nil {
		fmt.Println(err)
		return
	}
	h := history.New(tasks)
	r, err := sim.Run(context.Background(), cluster, tasks, policy.Shortest{}, sim.Options{Length: h.Length, OnEvent: h.Note})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range r.Ends {
		fmt.Println(e.ID, e.JCT())
	}
	// Output:
	// train-1 3h0m0s
	// test-1 3h4m59s
	// test-2 5m0s
	// train-2 3h5m0s
}
