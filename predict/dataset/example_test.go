package dataset_test

import (
	"fmt"
	"strings"

	"example.com/colloc/predict/dataset"
)

func ExampleReadMemory() {
	file := `peak_mem_mib,neurons_per_layer,n_layers,horus_estimate_mib
1500,256,4,120
1620,1024,8,900
`
	rows, err := dataset.ReadMemory("fc.csv", strings.NewReader(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rows {
		o := r.Observation
		fmt.Printf("line %d: %d parameters, peak %v, horus said %v\n", r.Line, o.Spec.Model.Params(), o.Peak, r.Others["horus"])
	}
	// Output:
	// line 2: 400906 parameters, peak 1.46 GiB, horus said 120 MiB
	// line 3: 8161290 parameters, peak 1.58 GiB, horus said 900 MiB
}
