package advise_test

import (
	"fmt"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/profile"
)

// A task that loads data and trains in turns: the GPU works 40 % of the time.
func ExampleDiagnose() {
	gpu, _ := profile.LookupGPU("RTX 3090")
	spec := profile.Spec{
		Model:    profile.Model{Name: "ResNet-50"},
		Training: profile.Training{BatchSize: 64, Workers: 0},
	}
	seen := profile.Sample{
		SMActive: profile.Some(0.36), GPUBusy: profile.Some(0.40), CPUBusy: profile.Some(0.25), MemUsed: profile.Some(16 * profile.GiB),
	}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{seen}}, gpu)
	if err != nil {
		fmt.Println(err)
		return
	}
	d := advise.Diagnose(&p, nil)
	fmt.Println(d.Bottleneck)
	for _, e := range d.Findings[0].Evidence {
		fmt.Println(" ", e)
	}
	for _, r := range d.Remedies {
		fmt.Println(r)
	}
	// Output:
	// few-workers
	//   mean_sm_active 0.36 < 0.5
	//   mean_cpu_busy 0.25 < 0.8
	//   workers 0 < 1
	// add-workers: load data in 2 worker processes so that loading and training overlap; throughput x2.50 (1.00 to 2.50)
}

func ExampleChooseGPUs() {
	choices, err := advise.ChooseGPUs([]advise.ScalingPoint{
		{GPU: "A100-40GB", GPUs: 1, Throughput: 100, Price: 2},
		{GPU: "A100-40GB", GPUs: 2, Throughput: 190, Price: 2},
		{GPU: "A100-40GB", GPUs: 4, Throughput: 340, Price: 2},
		{GPU: "A100-40GB", GPUs: 8, Throughput: 420, Price: 2},
		{GPU: "H100", GPUs: 1, Throughput: 210, Price: 4},
		{GPU: "H100", GPUs: 2, Throughput: 400, Price: 4},
	}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range choices {
		fmt.Println(c)
	}
	// Output:
	// 2 x H100: throughput 400, 95 % efficient
	// 4 x A100-40GB: throughput 340, 85 % efficient; with 8 each more GPU would add only 20 %
}
