package pods_test

import (
	"fmt"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/pods"
)

func Example() {
	pod := gated(api.Gate)
	phase, _ := pods.PhaseOf(pod)
	task, note := pods.Task(pod, &api.Demand{}, pods.Known{}, pods.Tenancy{})
	fmt.Println(phase)
	fmt.Println(task.Alone, note)
	// Output:
	// waiting
	// true it names no Profile, so it runs alone
}
