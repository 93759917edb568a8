package pace_test

import (
	"fmt"

	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

func ExampleMIGSpeed_Speed() {
	gpu, _ := profile.LookupGPU("A100-40GB")
	var m pace.MIGSpeed // nothing fitted: the prior; see package pretrained
	for _, slice := range gpu.MIG {
		e, err := m.Speed(nil, &gpu, slice)
		if err != nil {
			fmt.Println(err)
			return
		}
		if slice.Compute == 3 || slice.Compute == 7 {
			fmt.Printf("%s: %.2f (%v)\n", slice.Name, e.Value, e.Source.Kind)
		}
	}
	// Output:
	// 3g.20gb: 0.43 (prior)
	// 7g.40gb: 1.00 (prior)
}
