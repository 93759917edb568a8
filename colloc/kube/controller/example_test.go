package controller_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/controller"
)

// Run does this by itself, with watches and until its context is over.
func Example() {
	ctx, server := context.Background(), newServer(taskPod(1))
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
	c, err := controller.New(controller.Config{Client: server, Books: b, Now: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	b.SetNode(gpuNode("n1", 1))
	if err := c.Reread(ctx); err != nil {
		fmt.Println(err)
		return
	}
	b.Open()
	if err := c.Step(ctx); err != nil {
		fmt.Println(err)
		return
	}
	pod, err := server.CoreV1().Pods("default").Get(ctx, "task-1", metav1.GetOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pod.Annotations[api.AnnotationGPU], len(pod.Spec.SchedulingGates))
	// Output: n1/gpu-0 0
}
