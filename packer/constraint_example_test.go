package packer_test

import (
	"context"
	"fmt"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// Labels keep users apart, and a task on the GPUs that it needs.
func ExampleTask_labels() {
	p := newProblem()
	p.Tasks = p.Tasks[:3]
	p.Tasks[0].Labels, p.Tasks[0].Only = []string{"ann"}, []string{"ann"} // bert
	p.Tasks[1].On = []string{"rack7"}                                     // gpt2
	p.GPUs[1].Labels = []string{"rack7"}
	s, err := solve.Matching{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(p, s)
	// Output:
	// gpu0: bert 1.00 (exclusive, 1.00)
	// gpu1: gpt2 0.95 mlp 0.95 (time-slicing, 1.90)
	// bert runs alone: it and mlp do not accept each other's labels; Avoid and Only say which.
}

// A task with a Home runs there now, and moves if that gains more than it costs.
func ExampleTask_home() {
	p := newProblem()
	p.Tasks = p.Tasks[:4]
	for i := range p.Tasks {
		p.Tasks[i].Home, p.Tasks[i].MoveCost = "gpu0", 0.1
	}
	p.Tasks[1].Home, p.Tasks[3].Home = "gpu1", "gpu1" // gpt2 with resnet
	p.Tasks[1].Memory = 12 * profile.GiB
	s, err := solve.Matching{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, set := range s.Sets {
		for _, t := range set.Tasks {
			if g := p.GPUs[set.GPU].ID; g != p.Tasks[t].Home {
				fmt.Println(p.Tasks[t].ID, "moves to", g)
			}
		}
	}
	// Output:
	// resnet moves to gpu0
	// mlp moves to gpu1
}

// A gang takes several GPUs of one type, and shares them with gangs of its size.
func ExampleTask_gang() {
	p := newProblem()
	p.Tasks = []packer.Task{
		{ID: "bert", GPUs: 2, Memory: 12 * profile.GiB, Weight: 2},
		{ID: "resnet", GPUs: 2, Memory: 7 * profile.GiB, Weight: 2},
		{ID: "mlp", Memory: 2 * profile.GiB},
	}
	s, err := solve.Matching{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(p, s)
	fmt.Println("and", p.GPUs[s.Sets[0].Gang[0]].ID)
	// Output:
	// gpu0: bert 0.91 resnet 0.91 (time-slicing, 3.64)
	// mlp waits: every GPU that would take it is taken by work that is worth more, and it can join none: it and resnet need different numbers of GPUs. 1 more GPU with 2 GiB would run it.
	// and gpu1
}
