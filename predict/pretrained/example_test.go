package pretrained_test

import (
	"fmt"

	"example.com/colloc/predict/pretrained"
)

func ExampleMemory() {
	m, err := pretrained.Memory()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("measured on", m.Provenance().GPU)
	// Output:
	// measured on A100-40GB
}
