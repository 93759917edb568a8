package predict_test

import (
	"fmt"
	"time"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Under MPS a cap on the neighbour's threads leaves more for the own task.
func ExampleInterference_Capped() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	set := []*profile.Profile{solo("detector", 0.7, 0.3), solo("tagger", 0.9, 0.2)}
	var m predict.Interference
	for _, caps := range [][]float64{nil, {1, 0.5}} {
		e, err := m.Capped(&gpu, set, caps, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("caps %v: %.2f and %.2f\n", caps, e[0].Value, e[1].Value)
	}
	// Output:
	// caps []: 0.73 and 0.71
	// caps [1 0.5]: 0.91 and 0.37
}

// What was timed becomes what Observe learns from.
func ExampleSpeedFromStepTimes() {
	a, err := predict.SpeedFromStepTimes(90*time.Millisecond, 120*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := predict.SpeedFromSMShares(0.6, 0.54) // nothing is known of the other but NVML's shares
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f %.2f\n", a, b)
	// Output:
	// 0.75 0.90
}

// Throughput says the same in any unit.
func ExampleSpeedFromThroughput() {
	fmt.Println(predict.SpeedFromThroughput(400, 300))
	// Output:
	// 0.75 <nil>
}
