package trace_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/predict/dataset"
	"example.com/colloc/profile"
)

const (
	soloHeader = "workload,gpus,batch_size,epochs,end_to_end_s,peak_memory_mib,sm_active,sm_occupancy,dram_active,gpu_busy,horus_mib\n"
	dayHeader  = "job,arrival_s,workload,exclusive_jct_s\n"
	runsHeader = "day,policy,makespan_s,mean_jct_s,p95_jct_s,mean_wait_s,mean_execution_s,out_of_memory,energy_j\n"
)

// alone are two trainings that nobody ran.
func alone(tb testing.TB) []dataset.SoloRow {
	tb.Helper()
	rows, err := dataset.ReadSolo("solo.csv", strings.NewReader(soloHeader+"net_cifar_bs32,1,32,,60.5,1000,.25,.125,.0625,.5,2000\nlarge_wiki_bs8,2,8,,3600,20000,,,.5,.875,\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func ExampleReadDay() {
	solo, err := dataset.ReadSolo("solo.csv", strings.NewReader(soloHeader+"net_cifar_bs32,1,32,,60.5,1000,.25,.125,.0625,.5,2000\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	tasks, err := trace.ReadDay("day.csv", strings.NewReader(dayHeader+"0,5,net_cifar_bs32,60\n1,20,net_cifar_bs32,115\n"), solo)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range tasks {
		t := &tasks[i]
		fmt.Println(t.ID, t.Arrival, t.Work, t.Memory, t.Busy, t.Occupancy, t.Estimates["horus"])
	}
	// Output:
	// 0 0s 1m0.5s 1000 MiB 0.25 0.125 1.95 GiB
	// 1 15s 1m0.5s 1000 MiB 0.25 0.125 1.95 GiB
}

func ExampleReadRuns() {
	runs, err := trace.ReadRuns("runs.csv", strings.NewReader(runsHeader+"monday,exclusive,7200,3600,7000,1800,1800.5,1,2e6\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", runs[0])
	// Output: {Day:monday Policy:exclusive Makespan:2h0m0s MeanJCT:1h0m0s MeanWait:30m0s MeanExecution:30m0.5s OutOfMemory:1 Energy:2e+06}
}

// TestReadDay: a gang keeps its width, and where nobody saw the SMs the time with a kernel stands in.
func TestReadDay(t *testing.T) {
	tasks, err := trace.ReadDay("day.csv", strings.NewReader(dayHeader+"a,0,large_wiki_bs8,\n"), alone(t))
	if err != nil {
		t.Fatal(err)
	}
	if x := &tasks[0]; x.GPUs != 2 || !x.OneNode || x.Work != time.Hour || x.Busy != 0.875 || x.Bandwidth != 0.5 || x.Occupancy != 0 || x.Estimates != nil || x.Memory != 20000*profile.MiB {
		t.Errorf("read %+v", x)
	}
}

// TestReadDayFaults: what is wrong is named with file and line.
func TestReadDayFaults(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "empty file",
		"job,arrival_s\n":                     "unknown layout",
		dayHeader:                             "no tasks",
		dayHeader + "0,1,net_cifar_bs32\n":    "line 2",
		dayHeader + "0,1,what,\n":             "line 2, column 5: workload is \"what\", which nobody ran alone",
		dayHeader + "0,-1,net_cifar_bs32,\n":  "line 2, column 3: arrival_s",
		dayHeader + "0,NaN,net_cifar_bs32,\n": "line 2, column 3: arrival_s",
		dayHeader + ",1,net_cifar_bs32,\n":    "line 2, column 1: job is empty",
		dayHeader + "0,1,net_cifar_bs32,\n" + "0,2,net_cifar_bs32,\n": "line 3, column 1: job is \"0\", which was there already",
	} {
		tasks, err := trace.ReadDay("day.csv", strings.NewReader(in), alone(t))
		if err == nil || tasks != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "day.csv") {
			t.Errorf("%q: %v, want %q of day.csv", in, err, want)
		}
	}
	for in, want := range map[string]string{
		"day,policy\n":                                      "unknown layout",
		runsHeader + "d,p,0,1,1,1,1,0,1\n":                  "makespan_s or mean_jct_s is 0",
		runsHeader + "d,p,1,1,1,1,1,0.5,1\n":                "out_of_memory",
		runsHeader + "d,,1,1,1,1,1,0,1\n":                   "policy is empty",
		runsHeader + "d,p,1,1,1,1,1,0,1\nd,p,1,1,1,1,1,0,1": "line 3, column 3: policy is \"p\", which was there already",
	} {
		runs, err := trace.ReadRuns("runs.csv", strings.NewReader(in))
		if err == nil || runs != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "runs.csv") {
			t.Errorf("%q: %v, want %q of runs.csv", in, err, want)
		}
	}
}

func FuzzReadDay(f *testing.F) {
	f.Add([]byte(dayHeader + "0,5,net_cifar_bs32,60\n"))
	f.Add([]byte(runsHeader + "monday,exclusive,7200,3600,7000,1800,1800.5,1,2e6\n"))
	solo := alone(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		tasks, err := trace.ReadDay("f", bytes.NewReader(in), solo)
		if (err == nil) != (len(tasks) > 0) {
			t.Fatalf("%d tasks and error %v", len(tasks), err)
		}
		for i := range tasks {
			if err := tasks[i].Validate(); err != nil {
				t.Fatal(err)
			}
		}
		runs, err := trace.ReadRuns("f", bytes.NewReader(in))
		if err != nil && runs != nil {
			t.Fatalf("runs %v and error %v", runs, err)
		}
		for _, r := range runs {
			if r.Makespan <= 0 || r.MeanJCT <= 0 {
				t.Fatalf("run %+v", r)
			}
		}
	})
}
