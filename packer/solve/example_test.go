package solve_test

import (
	"context"
	"fmt"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// appetite is a toy model: a task uses a fraction of the GPU, and a set that
// wants more than all of it slows down evenly.
type appetite map[string]float64

func (a appetite) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	sum := 0.0
	for _, t := range set {
		sum += a[t.ID]
	}
	for i := range dst {
		dst[i] = 1 / max(1, sum)
	}
	return nil
}

func newProblem() *packer.Problem {
	return &packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Tasks: []packer.Task{
			{ID: "bert", Memory: 12 * profile.GiB, MinSpeed: 0.7},
			{ID: "gpt2", Memory: 19 * profile.GiB, MinSpeed: 0.7},
			{ID: "mlp", Memory: 2 * profile.GiB},
			{ID: "resnet", Memory: 7 * profile.GiB},
			{ID: "vit-huge", Memory: 60 * profile.GiB},
		},
		GPUs: []packer.GPU{
			{ID: "gpu0", Memory: 24 * profile.GiB},
			{ID: "gpu1", Memory: 24 * profile.GiB},
		},
		Model: appetite{"bert": 0.6, "gpt2": 0.95, "mlp": 0.1, "resnet": 0.5, "vit-huge": 1},
	}
}

func show(p *packer.Problem, s *packer.Solution) {
	for _, set := range s.Sets {
		fmt.Printf("%s:", p.GPUs[set.GPU].ID)
		for k, t := range set.Tasks {
			fmt.Printf(" %s %.2f", p.Tasks[t].ID, set.Speeds[k])
		}
		fmt.Printf(" (%v, %.2f)\n", set.Mechanism, set.Value)
	}
	for _, r := range s.Reasons {
		fmt.Println(r)
	}
}

func ExampleMatching() {
	p := newProblem()
	s, err := solve.Matching{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(p, s)
	fmt.Printf("throughput %.2f, bound %.2f, gap %.1f %%\n", s.Throughput, s.Bound, 100*s.Gap())
	// Output:
	// gpu0: bert 0.91 resnet 0.91 (time-slicing, 1.82)
	// gpu1: gpt2 0.95 mlp 0.95 (time-slicing, 1.90)
	// vit-huge waits: it needs 60 GiB and the largest GPU offers 21.6 GiB. A GPU that offers 38.4 GiB more, or a reservation of at most 21.6 GiB, would place it.
	// throughput 3.72, bound 3.72, gap 0.0 %
}

func ExampleGreedy() {
	p := newProblem()
	p.Limits.MaxSet = 3
	s, err := solve.Greedy{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(p, s)
	// Output:
	// gpu0: gpt2 0.95 mlp 0.95 (time-slicing, 1.90)
	// gpu1: bert 0.91 resnet 0.91 (time-slicing, 1.82)
	// vit-huge waits: it needs 60 GiB and the largest GPU offers 21.6 GiB. A GPU that offers 38.4 GiB more, or a reservation of at most 21.6 GiB, would place it.
}

func ExampleAuto() {
	p := newProblem()
	p.Tasks = p.Tasks[:2]
	s, err := solve.Auto{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(p, s)
	fmt.Println(s.Method)
	// Output:
	// gpu0: bert 1.00 (exclusive, 1.00)
	// gpu1: gpt2 1.00 (exclusive, 1.00)
	// bert runs alone: with gpt2, its best partner, it would be 9.4 GiB short of memory; reservations smaller by that much, or a GPU that much larger, would do.
	// gpt2 runs alone: with bert, its best partner, it would be 9.4 GiB short of memory; reservations smaller by that much, or a GPU that much larger, would do.
	// auto: matching, exact (sets of at most 2)
}

func ExampleLocalSearch() {
	p := newProblem()
	p.Limits.MaxSet = 3
	p.Tasks = append(p.Tasks, packer.Task{ID: "lstm", Memory: 3 * profile.GiB})
	p.Model = appetite{"bert": 0.6, "gpt2": 0.95, "lstm": 0.3, "mlp": 0.1, "resnet": 0.5, "vit-huge": 1}
	p.GPUs = p.GPUs[:1]
	s, err := solve.LocalSearch{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(p, s)
	// Output:
	// gpu0: bert 1.00 mlp 1.00 lstm 1.00 (time-slicing, 3.00)
	// gpt2 waits: every GPU that would take it is taken by work that is worth more, and it can join none: the tasks that could share with it do more work elsewhere, mlp for one. 1 more GPU with 19 GiB would run it.
	// resnet waits: every GPU that would take it is taken by work that is worth more, and it can join none: the tasks that could share with it do more work elsewhere, mlp for one. 1 more GPU with 7 GiB would run it.
	// vit-huge waits: it needs 60 GiB and the largest GPU offers 21.6 GiB. A GPU that offers 38.4 GiB more, or a reservation of at most 21.6 GiB, would place it.
}

// Sets of three: a, b and c slow each of their companions to 95 %, x, y and z to
// 60 %. The best plan keeps them apart.
func ExampleColumnGen() {
	p := &packer.Problem{Model: nuisance{}, Limits: packer.Limits{MaxSet: 3}}
	for _, id := range []string{"a", "b", "c", "x", "y", "z"} {
		p.Tasks = append(p.Tasks, packer.Task{ID: id, Memory: 4 * profile.GiB})
	}
	for _, id := range []string{"g0", "g1"} {
		p.GPUs = append(p.GPUs, packer.GPU{ID: id, Memory: 24 * profile.GiB})
	}
	s, err := solve.ColumnGen{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, set := range s.Sets {
		fmt.Printf("%s: tasks %v, throughput %.3f\n", p.GPUs[set.GPU].ID, set.Tasks, set.Value)
	}
	bound, err := s.Certificate.Verify(context.Background(), p)
	fmt.Printf("throughput %.3f of at most %.3f, %v\n", s.Throughput, bound, err)
	// Output:
	// g0: tasks [0 1 2], throughput 2.708
	// g1: tasks [3 4], throughput 1.200
	// throughput 3.908 of at most 3.908, <nil>
}

type nuisance struct{}

func (nuisance) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range set {
		dst[i] = 1
		for j, o := range set {
			switch {
			case i == j:
			case o.ID >= "x":
				dst[i] *= 0.6
			default:
				dst[i] *= 0.95
			}
		}
	}
	return nil
}

// Whatever its weight, a task of a lower class gets what the higher one leaves.
func ExampleClasses() {
	urgent := packer.Task{ID: "urgent", Memory: 10 * profile.GiB}
	heavy := packer.Task{ID: "heavy", Memory: 10 * profile.GiB, Weight: 100}
	p := &packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Tasks:  []packer.Task{heavy, urgent}, GPUs: []packer.GPU{{ID: "gpu0", Memory: 16 * profile.GiB}}, Model: appetite{"urgent": 1, "heavy": 1},
	}
	class := func(t *packer.Task) int { return len(t.ID) } // the longer name, the higher class
	for _, m := range []packer.Method{solve.Auto{}, solve.Classes{Class: class}} {
		s, err := m.Pack(context.Background(), p)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Tasks[s.Sets[0].Tasks[0]].ID)
	}
	// Output:
	// heavy
	// urgent
}
