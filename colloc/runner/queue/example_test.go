package queue_test

import (
	"encoding/json"
	"fmt"
	"os"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// A task and a record are JSON: what a program that runs tasks and its clients say
// to one another.
func Example() {
	var t queue.Task
	if err := json.Unmarshal([]byte(`{"id":"train","command":["python3","train.py"],"memory":8589934592}`), &t); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	r := queue.Record{Task: t, Number: 1, State: queue.Running, GPU: "GPU-0", Reserved: 8 * profile.GiB, Runs: 1}
	text, err := json.Marshal(r.State)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Printf("%s is %s on %s with %v reserved\n", r.Task.ID, text, r.On(), r.Reserved)
	// Output: train is "running" on GPU-0 with 8 GiB reserved
}
