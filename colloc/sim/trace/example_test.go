package trace_test

import (
	"fmt"
	"strings"
	"time"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/trace"
)

// Any known layout is recognised by its header.
func ExampleRead() {
	file := strings.NewReader(`job_id,user,vc,gpu_num,cpu_num,state,submit_time,duration
1,u1,vc1,8,32,COMPLETED,2020-04-01 00:00:08,3600
2,u2,vc1,1,4,FAILED,2020-04-01 00:00:38,90
`)
	tr, err := trace.Read(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tr.Layout)
	for _, t := range tr.Tasks {
		fmt.Println(t.ID, t.Arrival, t.Work, t.GPUs)
	}
	// Output:
	// helios
	// 1 0s 1h0m0s 8
	// 2 30s 1m30s 1
}

// Faults have a place.
func ExampleSyntaxError() {
	_, err := trace.Read(strings.NewReader("sn,cpu_milli,memory_mib,gpu,model\nnode-1,64000,lots,8,T4\n"))
	fmt.Println(err)
	// Output: trace: openb: line 2, column 14: memory_mib is "lots", want a number from 0 to 1.099511627776e+12
}

func ExampleGenerate() {
	tasks, err := trace.Generate(trace.Workload{Tasks: 3, Seed: 1, Between: -1, LengthSpread: -1, MeanLength: time.Hour, Types: []trace.Type{{Name: "resnet"}}})
	for _, t := range tasks {
		fmt.Println(t.ID, t.Arrival, t.Work, t.Type)
	}
	fmt.Println(err)
	// Output:
	// t0 0s 1h0m0s resnet
	// t1 0s 1h0m0s resnet
	// t2 0s 1h0m0s resnet
	// <nil>
}

func ExamplePairs() {
	pairs, err := trace.Pairs(strings.NewReader("gpu,job_a,job_b,norm_speed_a,norm_speed_b\nV100,resnet,bert,0.9,0.6\n"), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pairs.Types("V100"))
	// Output: [bert resnet]
}

// FGD's experiment: pods that never leave, until more was asked for than there
// is.
func ExampleInflate() {
	tasks := trace.Inflate([]sim.Task{{ID: "a", GPUs: 1}, {ID: "b", GPUs: 2}}, 5, 1)
	fmt.Println(len(tasks), tasks[len(tasks)-1].Arrival)
	// Output: 4 3s
}

// Days that might as well have been: the same tasks in another draw, and copies of
// the trace that differ by what no policy can be praised for.
func ExampleDay_Fresh() {
	recorded := []sim.Task{
		{ID: "a", Work: time.Hour}, {ID: "b", Arrival: 30 * time.Minute, Work: 2 * time.Hour}, {ID: "c", Arrival: time.Hour, Work: 3 * time.Hour},
	}
	day, err := trace.Day{Tasks: 4, Load: 0.8, GPUs: 2, Seed: 1}.Fresh(recorded)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range day {
		fmt.Println(day[i].ID, day[i].Arrival.Round(time.Minute), day[i].Work)
	}
	for _, t := range trace.Jitter(recorded, time.Minute, 0.02, 1) {
		fmt.Println(t.ID, t.Arrival.Round(time.Second), t.Work.Round(time.Second))
	}
	for _, l := range (trace.Losses{GPUs: 2, Every: 100 * time.Hour, For: time.Hour, Seed: 1}).Until(48 * time.Hour) {
		fmt.Println("GPU", l.GPU, "fails after", l.At.Round(time.Minute))
	}
	// Output:
	// 0-c 1h3m0s 3h0m0s
	// 1-c 2h31m0s 3h0m0s
	// 2-a 3h18m0s 1h0m0s
	// 3-b 7h21m0s 2h0m0s
	// a 0s 1h0m56s
	// b 30m13s 2h0m18s
	// c 58m24s 3h4m32s
	// GPU 0 fails after 25h37m0s
	// GPU 1 fails after 2h38m0s
}
