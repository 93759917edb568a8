package packer_test

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

func ExampleProblem_Check() {
	p := newProblem()
	s, err := solve.Matching{}.Pack(context.Background(), p)
	fmt.Println(err, p.Check(s))
	s.Sets[0].Tasks[1] = 1 // gpt2, which is on gpu1
	fmt.Println(p.Check(s))
	// Output:
	// <nil> <nil>
	// packer: check: Sets[0]: GPU "gpu0" would use 31 GiB of 24 GiB; headroom leaves 21.6 GiB
	// packer: check: Sets[0]: speed of "bert" is 0.9090909090909091; the model says 0.6451612903225807
	// packer: check: Sets[0]: speed of "gpt2" is 0.9090909090909091; the model says 0.6451612903225807
	// packer: check: Sets[0]: value is 1.8181819915771484; weight times speed sum to 1.2903225806451615
	// packer: check: Sets[1]: task "gpt2" is already in another set
	// packer: check: task "resnet" is in no set and has no reason
}

func ExampleCertificate_Verify() {
	p := newProblem()
	s, err := solve.Matching{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	bound, err := s.Certificate.Verify(context.Background(), p)
	fmt.Printf("%.2f %v\n", bound, err)
	// Any prices prove some bound; these, that two tasks on a GPU do at most twice the work.
	free := packer.Certificate{U: make([]float64, len(p.Tasks))}
	bound, err = free.Verify(context.Background(), p)
	fmt.Printf("%.2f %v\n", bound, err)
	// Output:
	// 3.72 <nil>
	// 4.00 <nil>
}

func ExampleProblem_Validate() {
	p := newProblem()
	p.Tasks[1].ID = "bert"
	p.Tasks[2].MinSpeed = 2
	p.GPUs[0].Memory = 0
	fmt.Println(p.Validate())
	// Output:
	// packer: problem: Tasks[1]: ID "bert" is also that of Tasks[0]; tasks need distinct IDs
	// packer: problem: Tasks[2] ("mlp"): MinSpeed is 2; want a fraction in [0, 1]
	// packer: problem: GPUs[0] ("gpu0"): memory is 0 bytes; set Memory, or a Type that has one, up to 65536 TiB
}

// A method asks models through Ask, which notices what makes no sense.
func ExampleAsk() {
	p := newProblem()
	set := []*packer.Task{&p.Tasks[0], &p.Tasks[3]}
	speeds := make([]float64, len(set))
	err := packer.Ask(p.Model, set, &p.GPUs[0], profile.TimeSlice, speeds)
	fmt.Printf("%.2f %v\n", speeds, err)
	own, other := make([]float64, 1), make([]float64, 1)
	err = packer.AskPairs(p.Model, set[0], set[1:], &p.GPUs[0], profile.TimeSlice, own, other)
	fmt.Printf("%.2f %.2f %v\n", own, other, err)
	fmt.Println(packer.AskPace(p.Model, set[0], &p.GPUs[0])) // it tells no paces
	// Output:
	// [0.91 0.91] <nil>
	// [0.91] [0.91] <nil>
	// 1 <nil>
}

// Compile turns a problem into the numbers on which methods search.
func ExampleCompile() {
	c, err := packer.Compile(newProblem())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(c.Tasks), "tasks,", len(c.Classes), "kind of GPU")
	// Output:
	// 5 tasks, 1 kind of GPU
}
