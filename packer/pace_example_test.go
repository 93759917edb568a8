package packer_test

import (
	"context"
	"fmt"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// One task and two empty GPUs: without paces they are alike, and the smaller card
// is taken. A network that is mostly arithmetic gains more from the fast one than
// a table look-up.
func ExamplePaceModel() {
	p := &packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Tasks:  []packer.Task{{ID: "bert"}, {ID: "lookup"}},
		GPUs:   []packer.GPU{{ID: "a100", Memory: 40 * profile.GiB}, {ID: "t4", Memory: 16 * profile.GiB}},
		Model:  cards{},
	}
	s, err := solve.Auto{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, set := range s.Sets {
		fmt.Printf("%s on %s: speed %v, worth %.2f\n", p.Tasks[set.Tasks[0]].ID, p.GPUs[set.GPU].ID, set.Speeds[0], set.Value)
	}
	// Output:
	// bert on a100: speed 1, worth 1.00
	// lookup on t4: speed 1, worth 0.60
}

// cards is a model in which sharing halves everything, relative to the A100.
type cards struct{}

func (cards) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = 1 / float64(len(set))
	}
	return nil
}

func (cards) Pace(task *packer.Task, gpu *packer.GPU) float64 {
	switch {
	case gpu.Total() == 40*profile.GiB:
		return 1
	case task.ID == "bert":
		return 0.15
	}
	return 0.6
}
