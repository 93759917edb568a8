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

func ExampleReadPace() {
	file := `source,model,family,gpu,precision,batch,throughput,notes
lab-2026,resnet50,cnn,A100-40GB,fp16,64,1200,
lab-2026,resnet50,cnn,T4,fp16,64,210,host-bound
`
	rows, err := dataset.ReadPace("pace.csv", strings.NewReader(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rows {
		fmt.Printf("%s on %s: %v a second; %q\n", r.Observation.Profile.Spec.Model.Family, r.Observation.GPU.Name, r.Observation.Throughput, r.Excluded)
	}
	// Output:
	// cnn on A100-40GB: 1200 a second; ""
	// cnn on T4: 210 a second; "host-bound: it measures the host, not the card"
}

func ExampleReadUtilization() {
	file := `task_id,optimizer,arch,activation,input_size,batch_size,n_linear,n_batchnorm,n_dropout,n_activation,total_params,` +
		`act_linear_elems_per_sample,act_batchnorm_elems_per_sample,act_dropout_elems_per_sample,max_layer_act_elems_per_sample,` +
		`max_layer_params,act_nonlin_elems_per_sample,peak_mem_mib,avg_gpu_util_pct,avg_sm_active_frac
small,Adam,pyramid,ReLU,100,32,3,2,0,2,5000,120,100,0,60,3000,100,1500,40,0.25
`
	seen, err := dataset.ReadUtilization("fc.csv", strings.NewReader(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range seen {
		busy, _ := o.Use.GPUBusy.Get()
		fmt.Printf("%d parameters keep the %s busy %.2f of the time\n", o.Spec.Model.Params(), o.GPU.Name, busy)
	}
	// Output:
	// 5000 parameters keep the A100-40GB busy 0.40 of the time
}
