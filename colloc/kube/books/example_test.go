package books_test

import (
	"context"
	"fmt"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/books"
)

func Example() {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := books.New(books.Config{Planner: planner, Now: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Tell it what the API server has, then open the books.
	b.SetNode(gpuNode("n1", "NVIDIA-A100-SXM4-40GB", 40960, 1))
	b.SetPod(taskPod(1))
	b.Open()
	r, err := b.Decide(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range r.Decisions {
		fmt.Println(d.Pod.Name, d.Text) // write it, then:
		fmt.Println(b.Finish(d.Pod.UID, books.Written, nil))
	}
	// Output:
	// task-1 on n1/gpu-0 alone: speed 1.00, reserves 36 GiB of 36 GiB; it names no Profile, so it runs alone
	// <nil>
}
