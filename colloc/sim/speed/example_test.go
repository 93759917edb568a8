package speed_test

import (
	"fmt"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// An assumption about tasks that nobody measured: a medium pair under its central
// and its pessimistic form.
func ExampleContention() {
	set := []*sim.Task{{ID: "a", Class: "medium"}, {ID: "b", Class: "medium"}}
	dst := make([]float64, 2)
	for _, c := range []speed.Contention{{}, {Scale: 2}} {
		err := c.Speeds(&sim.GPU{}, profile.TimeSlice, set, dst)
		fmt.Printf("%.3f %v\n", dst, err)
	}
	// Output:
	// [0.741 0.741] <nil>
	// [0.588 0.588] <nil>
}

// colloc's predictor as the truth of a simulation, here one that knows nothing of
// the tasks yet.
func ExampleFitted() {
	truth := speed.Fitted{Interference: &interference.Predictor{}}
	gpu := &sim.GPU{Model: profile.GPUModel{Name: "A100-40GB"}}
	dst := make([]float64, 1)
	err := truth.Speeds(gpu, profile.Exclusive, []*sim.Task{{ID: "a"}}, dst)
	fmt.Println(dst, err)
	// Output: [1] <nil>
}

// Two predictions of one truth: exact, and wrong by some 20 %.
func ExampleNoisy() {
	truth := sim.Constant{1, 0.8}
	a, b := &sim.Task{ID: "a", Type: "resnet"}, &sim.Task{ID: "b", Type: "bert"}
	dst := make([]float64, 2)
	for _, m := range []sim.Model{truth, speed.Noisy{Model: truth, SD: 0.2, Seed: 1}} {
		err := m.Speeds(&sim.GPU{}, profile.TimeSlice, []*sim.Task{a, b}, dst)
		fmt.Printf("%.3f %v\n", dst, err)
	}
	// Output:
	// [0.800 0.800] <nil>
	// [0.827 0.712] <nil>
}

// Measured pairs as the truth: a pair, and what follows for three.
func ExampleNewPairs() {
	pairs, err := speed.NewPairs([]speed.PairSpeed{
		{GPU: "V100", A: "resnet", B: "bert", SpeedA: 0.9, SpeedB: 0.6},
		{GPU: "V100", A: "bert", B: "bert", SpeedA: 0.5, SpeedB: 0.5},
	}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, b := &sim.Task{Type: "resnet"}, &sim.Task{Type: "bert"}
	gpu := &sim.GPU{Model: profile.GPUModel{Name: "V100"}}
	for _, set := range [][]*sim.Task{{r}, {r, b}, {r, b, b}} {
		dst := make([]float64, len(set))
		err := pairs.Speeds(gpu, profile.TimeSlice, set, dst)
		fmt.Printf("%.3f %v\n", dst, err)
	}
	// Output:
	// [1.000] <nil>
	// [0.900 0.600] <nil>
	// [0.818 0.375 0.375] <nil>
}

// Two tasks of which one loads while the other computes hardly slow each other
// down.
func ExampleStages() {
	ms := time.Millisecond
	loader := &sim.Task{ID: "loader", Stages: sim.StageTimes{Load: 90 * ms, Compute: 10 * ms, Iteration: 100 * ms}}
	worker := &sim.Task{ID: "worker", Stages: sim.StageTimes{Load: 10 * ms, Compute: 90 * ms, Iteration: 100 * ms}}
	for _, set := range [][]*sim.Task{{loader, worker}, {worker, worker}} {
		dst := make([]float64, 2)
		err := speed.Stages{}.Speeds(&sim.GPU{}, profile.TimeSlice, set, dst)
		fmt.Printf("%.2f %v\n", dst, err)
	}
	// Output:
	// [0.76 0.76] <nil>
	// [0.42 0.42] <nil>
}

// MPS leaves a part of what tasks lose by time-slicing.
func ExampleMPS() {
	set := []*sim.Task{{ID: "a", Class: "heavy"}, {ID: "b", Class: "heavy"}}
	for _, m := range []sim.Model{speed.Contention{}, speed.MPS{Model: speed.Contention{}, Left: 0.5, Always: true}} {
		dst := make([]float64, 2)
		if err := m.Speeds(&sim.GPU{}, profile.TimeSlice, set, dst); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.3f\n", dst)
	}
	// Output:
	// [0.625 0.625]
	// [0.769 0.769]
}
