package packer_test

import (
	"context"
	"fmt"

	"example.com/colloc/packer"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// The pair a, b is predicted best, but only guessed; a, c was measured. Caution
// prefers what is sure.
func ExampleRobust() {
	p := &packer.Problem{
		Limits: packer.Limits{MaxSet: 2},
		Tasks:  []packer.Task{{ID: "a"}, {ID: "b"}, {ID: "c"}},
		GPUs:   []packer.GPU{{ID: "g0", Memory: 24 * profile.GiB}},
	}
	for _, caution := range []float64{0, 1} {
		p.Model = packer.Robust{Model: guesses{}, Caution: caution}
		s, err := solve.Auto{}.Pack(context.Background(), p)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("caution %v: tasks %v, throughput %.2f\n", caution, s.Sets[0].Tasks, s.Sets[0].Value)
	}
	// Output:
	// caution 0: tasks [0 1], throughput 1.80
	// caution 1: tasks [0 2], throughput 1.64
}

// guesses is a model that is sure of what involves c.
type guesses struct{}

func sure(set []*packer.Task) bool { return set[0].ID == "c" || set[len(set)-1].ID == "c" }

func (guesses) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		switch {
		case len(set) == 1:
			dst[i] = 1
		case sure(set):
			dst[i] = 0.84
		default:
			dst[i] = 0.9
		}
	}
	return nil
}

func (guesses) HalfWidths(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = 0.15
		if sure(set) {
			dst[i] = 0.02
		}
	}
	return nil
}
