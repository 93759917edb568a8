package online_test

import (
	"context"
	"fmt"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

// hunger is the part of a GPU that a task uses; a set that wants more than one GPU
// has its members slowed down alike.
type hunger map[string]float64

func (h hunger) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	sum := 0.0
	for _, t := range set {
		sum += h[t.ID]
	}
	for i := range dst {
		dst[i] = 1 / max(1, sum)
	}
	return nil
}

// A scheduler that looks ahead is told what happens and asked what starts now.
func ExampleNewScheduler() {
	gpus := []packer.GPU{{ID: "gpu0", Memory: 24 * profile.GiB}}
	s, err := online.NewScheduler(gpus, hunger{"bert": 0.9, "gpt2": 0.9, "mlp": 0.1}, packer.Limits{MaxSet: 2}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"bert", "gpt2", "mlp"} {
		err := s.Submit(online.Job{
			Task: packer.Task{ID: id, Memory: 8 * profile.GiB}, Left: profile.Some(time.Hour),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	started, err := s.Decide(context.Background(), 0)
	for _, d := range started {
		fmt.Printf("%s on %s, speed %.2f\n", d.Task, gpus[d.GPU].ID, d.Speed)
	}
	fmt.Println(err)
	// Output:
	// bert on gpu0, speed 1.00
	// mlp on gpu0, speed 1.00
	// <nil>
}

// Of a task that waits a scheduler says why.
func ExampleScheduler_Why() {
	gpus := []packer.GPU{{ID: "gpu0", Memory: 24 * profile.GiB}}
	s, err := online.NewScheduler(gpus, hunger{"bert": 0.1, "vit": 0.1}, packer.Limits{MaxSet: 2, Headroom: profile.Some(0.0)}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"bert", "vit"} {
		err := s.Submit(online.Job{
			Task: packer.Task{ID: id, Memory: 16 * profile.GiB}, Left: profile.Some(time.Hour),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := s.Decide(context.Background(), 0); err != nil {
		fmt.Println(err)
		return
	}
	r, err := s.Why("vit")
	fmt.Println(r.Code, r.Sharing, r.Beside, r.Short, err)
	fmt.Println(r)
	// Output:
	// gpus-taken memory [bert] 8 GiB <nil>
	// vit waits: every GPU that would take it is taken by work that is worth more, and it can join none: beside bert it would be 8 GiB short of memory; reservations smaller by that much, or a GPU that much larger, would do. 1 more GPU with 16 GiB would run it.
}
