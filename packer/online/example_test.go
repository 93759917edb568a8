package online_test

import (
	"context"
	"fmt"
	"time"

	"example.com/colloc/packer"
	"example.com/colloc/packer/online"
	"example.com/colloc/profile"
)

func ExampleSession() {
	gpus := []packer.GPU{{ID: "gpu0", Memory: 24 * profile.GiB}, {ID: "gpu1", Memory: 24 * profile.GiB}}
	model := hunger{"bert": 0.6, "gpt2": 0.95, "resnet": 0.5, "vit": 0.9}
	s, err := online.NewSession(gpus, model, packer.Limits{MaxSet: 2}, nil)
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
	model := hunger{"bert": 0.8, "gpt2": 0.8, "lstm": 0.2, "mlp": 0.2}
	s, err := online.NewSession(gpus, model, packer.Limits{MaxSet: 2}, nil)
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

// A model that has learned, between two events: what waited for its old judgement may
// start now.
func ExampleSession_Renew() {
	task := func(id string) packer.Task { return packer.Task{ID: id, Memory: 8 * profile.GiB, MinSpeed: 0.6} }
	s, err := online.NewSession([]packer.GPU{{ID: "gpu0", Memory: 24 * profile.GiB}}, hunger{"bert": 1, "gpt2": 1}, packer.Limits{MaxSet: 2}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"bert", "gpt2"} {
		d, err := s.Arrive(task(id))
		fmt.Println(d.Task, d.Placed, err)
	}
	started, err := s.Renew(hunger{"bert": 0.5, "gpt2": 0.4})
	for _, d := range started {
		fmt.Printf("%s starts at speed %.2f\n", d.Task, d.Speed)
	}
	fmt.Println(err)
	// Output:
	// bert true <nil>
	// gpt2 false <nil>
	// gpt2 starts at speed 1.00
	// <nil>
}

// A MIG instance that is made anew, larger, at its old index.
func ExampleSession_ChangeGPU() {
	s, err := online.NewSession([]packer.GPU{{ID: "slice", Memory: 10 * profile.GiB}}, hunger{}, packer.Limits{MaxSet: 2}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := s.Arrive(packer.Task{ID: "bert", Memory: 16 * profile.GiB})
	fmt.Println(d.Task, d.Placed, err)
	started, err := s.ChangeGPU(0, packer.GPU{ID: "larger slice", Memory: 20 * profile.GiB})
	for _, d := range started {
		fmt.Println(d.Task, d.Placed)
	}
	fmt.Println(err)
	// Output:
	// bert false <nil>
	// bert true
	// <nil>
}

// An A100 that is cut into three instances, which are cut anew when two of them are
// empty.
func ExampleSession_instances() {
	a100, _ := profile.LookupGPU("A100-40GB")
	instance := func(name string) packer.GPU {
		for _, p := range a100.MIG {
			if p.Name == name {
				return packer.GPU{ID: "gpu0/" + name, Memory: p.Memory, Labels: []string{name}, Mechanisms: []profile.Mechanism{profile.MPS}}
			}
		}
		return packer.GPU{}
	}
	model := onInstances{"4g.20gb": 0.8, "3g.20gb": 0.7, "2g.10gb": 0.5, "1g.5gb": 0.3}
	s, err := online.NewSession([]packer.GPU{instance("4g.20gb"), instance("2g.10gb"), instance("1g.5gb")}, model, packer.Limits{MaxSet: 2}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range []packer.Task{
		{ID: "large", Memory: 16 * profile.GiB}, {ID: "small", Memory: 4 * profile.GiB}, {ID: "medium", Memory: 12 * profile.GiB},
	} {
		d, err := s.Arrive(t)
		fmt.Printf("%s: placed %v, speed %.1f %v\n", d.Task, d.Placed, d.Speed, err)
	}
	if _, err := s.Finish("small"); err != nil {
		fmt.Println(err)
	}
	for _, empty := range []int{1, 2} {
		if _, err := s.Fail(empty); err != nil {
			fmt.Println(err)
		}
	}
	started, err := s.AddGPU(instance("3g.20gb"))
	fmt.Printf("%s: speed %.1f %v\n", started[0].Task, started[0].Speed, err)
	// Output:
	// large: placed true, speed 0.8 <nil>
	// small: placed true, speed 0.5 <nil>
	// medium: placed false, speed 0.0 <nil>
	// medium: speed 0.7 <nil>
}

// onInstances are the speeds of any task alone on each kind of instance. In company
// it does 0.7 of that.
type onInstances map[string]float64

func (m onInstances) Speeds(set []*packer.Task, gpu *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range set {
		dst[i] = m[gpu.Labels[0]]
		if len(set) > 1 {
			dst[i] *= 0.7
		}
	}
	return nil
}

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
