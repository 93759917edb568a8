package packer_test

import (
	"context"
	"fmt"

	"example.com/colloc/packer"
	"example.com/colloc/packer/mig"
	"example.com/colloc/packer/solve"
	"example.com/colloc/profile"
)

// Two tasks and a resident on an A100 that is cut up: the resident keeps its
// instance, the large task gets half of the GPU.
func ExampleSliceModel() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	p := &packer.Problem{
		Model:  slices{},
		Limits: packer.Limits{MaxSet: 7},
		Tasks:  []packer.Task{{ID: "large", Memory: 15 * profile.GiB}, {ID: "small", Memory: 3 * profile.GiB}},
		GPUs: []packer.GPU{{
			ID: "g0", Type: &gpu, Mechanisms: []profile.Mechanism{profile.MIG},
			Residents: []packer.Task{{ID: "resident", Memory: 2 * profile.GiB}},
			Instances: []mig.Placement{{Profile: 0, Start: 6}},
		}},
	}
	s, err := solve.ColumnGen{}.Pack(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	set := s.Sets[0]
	for i, name := range []string{"resident", "large", "small"} {
		at := set.Instances[i]
		fmt.Printf("%s: %s at slice %d, speed %.2f\n", name, gpu.MIG[at.Profile].Name, at.Start, set.Speeds[i])
	}
	fmt.Printf("gap %.1f\n", s.Gap())
	// Output:
	// resident: 1g.5gb at slice 6, speed 0.49
	// large: 4g.20gb at slice 0, speed 0.74
	// small: 2g.10gb at slice 4, speed 0.57
	// gap 0.0
}

// slices is a model in which speed is less than proportional to the slices of an
// instance, and tasks without instances of their own do half as much.
type slices struct{}

func (slices) Speeds(set []*packer.Task, _ *packer.GPU, _ profile.Mechanism, dst []float64) error {
	for i := range dst {
		dst[i] = 1
		if len(set) > 1 {
			dst[i] = 0.5 / float64(len(set))
		}
	}
	return nil
}

func (slices) SliceSpeeds(_ *packer.Task, gpu *packer.GPU, dst []float64) error {
	for p, m := range gpu.Type.MIG {
		dst[p] = 1 - 0.6*(1-float64(m.Compute)/7)
	}
	return nil
}
