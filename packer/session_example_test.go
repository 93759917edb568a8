package packer_test

import (
	"context"
	"fmt"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

func ExampleSession() {
	gpus := []packer.GPU{{ID: "gpu0", Memory: 24 * profile.GiB}, {ID: "gpu1", Memory: 24 * profile.GiB}}
	model := appetite{"bert": 0.6, "gpt2": 0.95, "resnet": 0.5, "vit": 0.9}
	s, err := packer.NewSession(gpus, model, packer.Limits{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"bert", "gpt2", "resnet", "vit"} {
		d, err := s.Arrive(packer.Task{ID: id, Memory: 8 * profile.GiB})
		if err != nil {
			fmt.Println(err)
			return
		}
		if d.Placed {
			fmt.Printf("%s runs on %s at speed %.2f and adds %.2f\n", d.Task, gpus[d.GPU].ID, d.Speed, d.Gain)
		} else {
			fmt.Printf("%s waits\n", d.Task)
		}
	}
	started, err := s.Finish("gpt2")
	fmt.Println(started[0].Task, "starts on", gpus[started[0].GPU].ID, err)
	// Output:
	// bert runs on gpu0 at speed 1.00 and adds 1.00
	// gpt2 runs on gpu1 at speed 1.00 and adds 1.00
	// resnet runs on gpu0 at speed 0.91 and adds 0.82
	// vit waits
	// vit starts on gpu1 <nil>
}

func ExampleSession_Rebalance() {
	task := func(id string) packer.Task {
		return packer.Task{ID: id, Memory: 8 * profile.GiB, MoveCost: 0.05}
	}
	gpus := []packer.GPU{
		{ID: "gpu0", Memory: 24 * profile.GiB, Residents: []packer.Task{task("bert"), task("gpt2")}},
		{ID: "gpu1", Memory: 24 * profile.GiB, Residents: []packer.Task{task("lstm"), task("mlp")}},
	}
	model := appetite{"bert": 0.8, "gpt2": 0.8, "lstm": 0.2, "mlp": 0.2}
	s, err := packer.NewSession(gpus, model, packer.Limits{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("throughput %.2f\n", s.Throughput())
	steps, err := s.Rebalance(context.Background(), 2)
	for _, m := range steps {
		fmt.Println(m.Task, m.From, "->", m.To)
	}
	fmt.Printf("throughput %.2f %v\n", s.Throughput(), err)
	// Output:
	// throughput 3.25
	// mlp 1 -> -1
	// gpt2 0 -> 1
	// mlp -1 -> 0
	// throughput 4.00 <nil>
}
