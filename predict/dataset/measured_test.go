package dataset_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/colloc/predict/dataset"
	"example.com/colloc/profile"
)

const measuredHeader = "gpu,cell,mechanism,set_size,member,task,model,batch,threads,status,set_status,speed,step_time_s,gpu_busy,mem_busy\n"

const measured = measuredHeader +
	"Fake GPU,a,exclusive,1,0,net-b8,net,8,,ok,ok,1,0.1,0.6,0.2\n" +
	"Fake GPU,b,exclusive,1,0,text-b4,text,4,,ok,ok,1,0.2,0.4,0.1\n" +
	"Fake GPU,net+text,mps,2,0,net-b8,net,8,,ok,ok,0.9,0.11,0.8,0.3\n" +
	"Fake GPU,net+text,mps,2,1,text-b4,text,4,,ok,ok,0.8,0.25,0.8,0.3\n" +
	"Fake GPU,net+text|50,mps,2,0,net-b8,net,8,0.5,ok,ok,0.7,0.14,0.8,0.3\n" +
	"Fake GPU,net+text|50,mps,2,1,text-b4,text,4,0.5,ok,ok,0.7,0.3,0.8,0.3\n" +
	"Fake GPU,net+net,mps,2,0,net-b8,net,8,,oom,oom,,,,\n" +
	"Fake GPU,net+net,mps,2,1,net-b8,net,8,,ok,oom,,,,\n"

func ExampleReadMeasured() {
	rows, err := dataset.ReadMeasured("table.csv", strings.NewReader(measured))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rows { // capped and failed runs are left out
		o := r.Observation
		fmt.Println(r.Line, o.Mechanism, o.Groups, o.Speeds, o.Set[0].Vector.Or(profile.MeanGPUBusy, 0))
	}
	// Output:
	// 4 mps [net text] [0.9 0.8] 0.6
}

func TestMeasuredFaults(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"columns", "gpu\nx\n", `"speed"`},
		{"busy", strings.Replace(measured, "0.6,0.2", "60,0.2", 1), "x.csv:2"},
		{"speed", strings.Replace(measured, "ok,0.9", "ok,-1", 1), "x.csv:4"},
		{"mechanism", strings.ReplaceAll(measured, ",mps,", ",magic,"), "x.csv:4"},
	} {
		if _, err := dataset.ReadMeasured("x.csv", strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
}

// TestMeasuredPairs: a pair is two rows of one cell, the first of them member 0, that ran
// well without caps; anything else is left out.
func TestMeasuredPairs(t *testing.T) {
	const pair = "T4,c,mps,2,0,a,ma,8,,ok,ok,0.9,0.1,0.6,0.2\nT4,c,mps,2,1,b,mb,4,,ok,ok,0.8,0.2,0.4,0.1\n"
	for _, c := range []struct {
		name, old, cells string
		want             int
	}{
		{"good", "", "", 1},
		{"another cell", "T4,c,mps,2,1,", "T4,d,mps,2,1,", 0},
		{"a third task", "mps,2,0", "mps,3,0", 0},
		{"not the first", "2,0,", "2,1,", 0},
		{"capped", "8,,ok", "8,0.5,ok", 0},
		{"the other capped", "4,,ok", "4,0.5,ok", 0},
		{"did not run", "ok,ok,0.9", "ok,oom,0.9", 0},
	} {
		rows, err := dataset.ReadMeasured("x", strings.NewReader(measuredHeader+strings.Replace(pair, c.old, c.cells, 1)))
		if err != nil || len(rows) != c.want {
			t.Errorf("%s: %d rows, %v, want %d", c.name, len(rows), err, c.want)
		}
	}
}

// TestMeasuredTasks: what a task is comes from its row, and what it uses from its
// exclusive runs that went well, on its GPU. No batch is a batch of 1.
func TestMeasuredTasks(t *testing.T) {
	file := strings.Replace(measuredHeader, "mem_busy", "mem_busy,sm_active,dram_active,precision", 1) +
		"T4,x,exclusive,1,0,a,ma,8,,ok,ok,1,0.5,0.6,0.2,0.3,0.1,fp32\n" +
		"T4,y,exclusive,1,0,a,ma,8,,failed,ok,1,9,1,1,1,1,fp32\n" +
		"V100,z,exclusive,1,0,a,ma,8,,ok,ok,1,9,1,1,1,1,fp32\n" +
		"T4,w,exclusive,1,0,b,mb,,,ok,ok,1,0,,,,,\n" +
		"T4,c,mps,2,0,a,ma,8,,ok,ok,0.9,0.1,0.9,0.9,0.9,0.9,bf16\n" +
		"T4,c,mps,2,1,b,mb,,,ok,ok,,0.2,0.9,0.9,0.9,0.9,\n" +
		"T4,d,time-slicing,2,0,b,mb,0,,ok,ok,0.9,0.1,0.9,0.9,0.9,0.9,\n" +
		"T4,d,time-slicing,2,1,b,mb,0,,ok,ok,0.8,0.2,0.9,0.9,0.9,0.9,\n"
	rows, err := dataset.ReadMeasured("x", strings.NewReader(file))
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	first, second := rows[0].Observation, rows[1].Observation
	a, b := first.Set[0], first.Set[1]
	for f, want := range map[profile.Feature][2]float64{
		profile.MeanGPUBusy: {0.6, -1}, profile.MeanMemBusy: {0.2, -1}, profile.MeanSMActive: {0.3, -1}, profile.MeanDRAMActive: {0.1, -1},
		profile.MedianStepTime: {0.5, -1}, profile.BatchSize: {8, 1},
	} {
		if got := [2]float64{a.Vector.Or(f, -1), b.Vector.Or(f, -1)}; got != want {
			t.Errorf("%v: %v, want %v", f, got, want)
		}
	}
	if a.Spec.Training.Precision != profile.BF16 || a.Spec.Model.Name != "ma" || !first.Speeds[1].IsZero() || first.Groups[1] != "mb" {
		t.Errorf("%+v", first)
	}
	if second.Mechanism != profile.TimeSlice || second.Set[0] != second.Set[1] || second.Set[0] == b || second.Set[0].Vector.Or(profile.BatchSize, -1) != 1 {
		t.Errorf("one task under one mechanism has one profile: %+v", second)
	}
	for _, c := range []struct{ old, cells, want string }{
		{"0.9,bf16", "0.9,bf99", `x:6: column "precision"`},
		{"ok,0.9,0.1", "ok,0,0.1", `x:6: column "speed"`},
		{"ma,8,,ok,ok,0.9", "ma,9e15,,ok,ok,0.9", `x:6: column "task"`},
	} {
		if _, err := dataset.ReadMeasured("x", strings.NewReader(strings.Replace(file, c.old, c.cells, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.cells, err, c.want)
		}
	}
}
