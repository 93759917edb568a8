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
