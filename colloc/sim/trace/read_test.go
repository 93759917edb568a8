package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/colloc/sim/speed"
	"example.com/colloc/colloc/sim/trace"
	"example.com/colloc/profile"
)

const (
	carmaHeader  = "task,arrival_s,job,gpus,exclusive_duration_s,peak_mem_mib,est_horus_mib,est_gpumemnet_upper_mib,class\n"
	muriHeader   = "job_id,num_gpu,submit_time,iterations,model_name,iteration_time,resource_time_0,resource_time_1,resource_time_2\n"
	podHeader    = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
	nodeHeader   = "sn,cpu_milli,memory_mib,gpu,model\n"
	gavelHeader  = "gpu,job_id,model,solo_sim_steps_per_s,batch_saturation\n"
	heliosHeader = "job_id,user,vc,gpu_num,cpu_num,state,submit_time,duration\n"
	phillyHeader = "jobid,status,vc,submitted_time,start_time,end_time,gpus\n"
	pairHeader   = "gpu,job_a,job_b,norm_speed_a,norm_speed_b,feasible\n"
)

// TestRead reads made-up rows of every layout.
func TestRead(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	tests := []struct {
		name, in string
		want     trace.Trace
	}{
		{"carma", carmaHeader + "0,10,net,1,60.5,100,200,8000,light\n1,12,big,2,3600,200,,40000,heavy\n", trace.Trace{Layout: "carma", Tasks: []sim.Task{
			{
				ID: "0", Work: 60500 * ms, GPUs: 1, OneNode: true, Memory: 100 * profile.MiB, Type: "net", Class: "light", Busy: 0.25, Bandwidth: 0.10,
				Estimates: map[string]profile.Bytes{"horus": 200 * profile.MiB, "gpumemnet": 8000 * profile.MiB},
			},
			{
				ID: "1", Arrival: 2 * s, Work: time.Hour, GPUs: 2, OneNode: true, Memory: 200 * profile.MiB, Type: "big", Class: "heavy", Busy: 0.9, Bandwidth: 0.55,
				Estimates: map[string]profile.Bytes{"gpumemnet": 40000 * profile.MiB},
			},
		}}},
		{"muri", muriHeader + "7,2,1500,10,vgg16,200,100,50,0.5\n", trace.Trace{Layout: "muri", Tasks: []sim.Task{{
			ID: "7", Work: 2 * s, GPUs: 2, Type: "vgg16", Startup: 7 * s, Busy: 0.25,
			Stages: sim.StageTimes{Load: 100 * ms, Compute: 50 * ms, Exchange: ms / 2, Iteration: 200 * ms},
		}}}},
		{"pods", podHeader + "p,1500,1024,1,460,A10|T4,5,65\nq,1000,1,0,0,,5,5\n", trace.Trace{Layout: "openb", Tasks: []sim.Task{
			{ID: "p", Work: time.Minute, GPUs: 1, OneNode: true, CPU: 1.5, HostMemory: profile.GiB, Share: 0.46, Only: []string{"A10", "T4"}},
			{ID: "q", Work: s, HostOnly: true, OneNode: true, CPU: 1, HostMemory: profile.MiB},
		}}},
		{"nodes", nodeHeader + "n,64000,2048,2,G2\n", trace.Trace{Layout: "openb", Nodes: []sim.Node{{
			Name: "n", CPU: 64, Memory: 2 * profile.GiB, GPUs: []sim.GPU{{Model: profile.GPUModel{Name: "G2"}}, {Model: profile.GPUModel{Name: "G2"}}},
		}}}},
		{"gavel", gavelHeader + "k80,x|bs1,x,3,0.5\nv100,x|bs1,x,30,1.5\nv100,y,y,1,\n", trace.Trace{Layout: "gavel", Types: []trace.Type{{Name: "x|bs1", Busy: 0.5}, {Name: "y"}}}},
		{"helios", heliosHeader + "1,u,v,4,16,COMPLETED,2020-04-01 00:00:08,100\n2,u,v,0,1,FAILED,2020-04-01 00:00:09,5\n3,u,w,1,1,CANCELLED,2020-04-01 00:01:08,7\n", trace.Trace{Layout: "helios", Tasks: []sim.Task{
			{ID: "1", User: "u", Work: 100 * s, GPUs: 4, CPU: 16, Type: "v"}, {ID: "3", User: "u", Arrival: time.Minute, Work: 7 * s, GPUs: 1, CPU: 1, Type: "w"},
		}}},
		{"philly", phillyHeader + "a,Pass,v,2017-10-01 00:00:00,2017-10-01 00:00:05,2017-10-01 01:00:05,8\nb,Killed,v,2017-10-01 00:00:00,None,,1\nc,Pass,v,2017-10-01 00:00:00,2017-10-01 00:00:05,2017-10-01 01:00:05,0\nd,Pass,v,2017-10-01 00:00:00,2017-10-01 00:00:05,,1\ne,Pass,v,2017-10-01 00:00:00,2017-10-01 00:00:05,2017-10-01 00:00:05,1\n", trace.Trace{Layout: "philly", Tasks: []sim.Task{
			{ID: "a", Work: time.Hour, GPUs: 8, Type: "v"},
		}}},
		{"jsonl", `{"id":"a","arrival_s":1.5,"work_s":2,"gpus":2}` + "\n\n" + `{"id":"b","arrival_s":0,"work_s":0.25,"memory_bytes":7}`, trace.Trace{Layout: "jsonl", Tasks: []sim.Task{
			{ID: "a", Arrival: 1500 * ms, Work: 2 * s, GPUs: 2}, {ID: "b", Work: 250 * ms, Memory: 7},
		}}},
		{"other order of columns, byte-order mark", "\ufeffduration,submit_time,state,gpu_num,job_id\n5,2020-01-01 00:00:00,x,1,j\n", trace.Trace{Layout: "helios", Tasks: []sim.Task{{ID: "j", Work: 5 * s, GPUs: 1}}}},
		{"blanks in the header", "job_id, gpu_num ,state,submit_time,duration\nj,2,x,2020-01-01 00:00:00,5\n", trace.Trace{Layout: "helios", Tasks: []sim.Task{{ID: "j", Work: 5 * s, GPUs: 2}}}},
		{"start-ups", muriHeader + "1,1,0,1,resnet18,200,0,0,0\n2,2,0,1,resnet18,200,0,0,0\n3,3,0,1,resnet18,200,0,0,0\n4,64,0,1,vgg16,200,0,0,0\n", trace.Trace{Layout: "muri", Tasks: []sim.Task{
			{ID: "1", Work: 200 * ms, GPUs: 1, Type: "resnet18", Startup: 4 * s, Stages: sim.StageTimes{Iteration: 200 * ms}},
			{ID: "2", Work: 200 * ms, GPUs: 2, Type: "resnet18", Startup: 5 * s, Stages: sim.StageTimes{Iteration: 200 * ms}},
			{ID: "3", Work: 200 * ms, GPUs: 3, Type: "resnet18", Startup: 5 * s, Stages: sim.StageTimes{Iteration: 200 * ms}},
			{ID: "4", Work: 200 * ms, GPUs: 64, Type: "vgg16", Startup: 10 * s, Stages: sim.StageTimes{Iteration: 200 * ms}},
		}}},
		{"JSON behind a byte-order mark", "\ufeff" + `{"id":"a","work_s":1}`, trace.Trace{Layout: "jsonl", Tasks: []sim.Task{{ID: "a", Work: s}}}},
		{"no rows", carmaHeader, trace.Trace{Layout: "carma"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := trace.Read(strings.NewReader(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestMalformed: faults have a place, and nothing half-read comes back.
func TestMalformed(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"empty", "", "empty file"},
		{"blank", " \n", "empty file"},
		{"unknown", "a,b,c\n", "unknown layout"},
		{"one column", "abc\n", "unknown layout"},
		{"no iteration", muriHeader + "1,1,0,10,m,0,1,1,1\n", "muri: line 2, column 7: iterations × iteration_time is 0 s"},
		{"json too long", `{"id":"a","work_s":1}` + "\n" + strings.Repeat("x", 1<<20), "jsonl: line 2, column 1: "},
		{"column twice", "a,b,a\n", `header: line 1, column 3: column "a" stands there twice`},
		{"no number", carmaHeader + "0,x,net,1,60,100,1,1,light\n", `carma: line 2, column 3: arrival_s is "x", want a number from 0 to`},
		{"negative", carmaHeader + "0,1,net,1,60,100,1,1,light\n1,1,net,1,-60,100,1,1,light\n", "carma: line 3, column 11: exclusive_duration_s"},
		{"not finite", carmaHeader + "0,NaN,net,1,60,100,1,1,light\n", "carma: line 2, column 3: arrival_s"},
		{"half a GPU", carmaHeader + "0,1,net,0.5,60,100,1,1,light\n", `gpus is "0.5", want a whole number`},
		{"no work", carmaHeader + "0,1,net,1,0,100,1,1,light\n", "carma: line 2, column 1: sim: task \"0\": Work is 0s"},
		{"same task", carmaHeader + "0,1,net,1,6,100,1,1,light\n0,1,net,1,6,100,1,1,light\n", `carma: line 3, column 1: task "0" was on line 2 already`},
		{"too few fields", muriHeader + "1,2,3\n", "muri: line 2, column 1: wrong number of fields"},
		{"quote", muriHeader + "\"1,2\n", "muri: line 2, column"},
		{"century", muriHeader + "1,1,0,1e12,m,1e9,1,1,1\n", "iterations × iteration_time"},
		{"deleted before created", podHeader + "p,1,1,1,500,,9,5\n", "deletion_time is before creation_time"},
		{"no share", podHeader + "p,1,1,1,0,,5,9\n", "gpu_milli is 0 for 1 GPUs"},
		{"whole and more", podHeader + "p,1,1,1,1001,,5,9\n", "gpu_milli"},
		{"beyond a century", carmaHeader + "0,4e9,net,1,60,100,1,1,light\n", "carma: line 2, column 3: arrival_s"},
		{"far future", heliosHeader + "1,u,v,4,16,x,2200-01-01 00:00:00,100\n", `helios: line 2, column 14: submit_time is "2200-01-01 00:00:00"`},
		{"time", heliosHeader + "1,u,v,4,16,x,yesterday,100\n", `helios: line 2, column 14: submit_time is "yesterday", want a time`},
		{"no time", heliosHeader + "1,u,v,4,16,x,,100\n", "submit_time is empty"},
		{"ends before start", phillyHeader + "a,Pass,v,2017-10-01 00:00:00,2017-10-01 00:00:05,2017-10-01 00:00:04,8\n", "end_time is before start_time"},
		{"json", `{"id":"a","arrival_s":0,"work_s":1}` + "\n" + `{"id":"b","work_s":}`, "jsonl: line 2, column 20: invalid character"},
		{"json field", `{"id":"a","speed":1}`, "jsonl: line 1, column 21: "},
		{"json type", `{"id":"a","work_s":"1"}`, "jsonl: line 1, column 22"},
		{"json two", `{"id":"a","work_s":1} {}`, "jsonl: line 1, column 24: more than one object"},
		{"json work", `{"id":"a","work_s":-1}`, "work_s is -1"},
		{"json same", `{"id":"a","work_s":1}` + "\n" + `{"id":"a","work_s":1}`, `jsonl: line 2, column 1: task "a" was on line 1 already`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := trace.Read(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != nil {
				t.Errorf("got %v and error %v, want an error with %q", got, err, tt.want)
			}
			var place *trace.SyntaxError
			if strings.Contains(tt.want, "line ") && !errors.As(err, &place) {
				t.Errorf("%T is no SyntaxError", err)
			}
		})
	}
	if _, err := trace.Read(strings.NewReader("a,b\n")); !errors.Is(err, trace.ErrLayout) {
		t.Errorf("error %v is no ErrLayout", err)
	}
}

// TestEstimates: of two columns with one estimator's answers the later counts,
// and of two faults the first is named, however often the file is read.
// endless says the same for ever.
type endless string

// Read implements [io.Reader].
func (e endless) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = e[n%len(e)]
	}
	return len(p), nil
}

// TestEndless: a row or line without end is an error, in quotes too, in the header and behind it.
func TestEndless(t *testing.T) {
	for _, text := range []string{"", "\"", heliosHeader, heliosHeader + "\"", "{\"id\": \""} {
		for _, rest := range []endless{"x", ",", "\x00", "\n\x00"} {
			if _, err := trace.Read(io.MultiReader(strings.NewReader(text), rest)); err == nil {
				t.Errorf("%.20q and then %q without end is read", text, string(rest))
			}
		}
	}
}

func TestEstimates(t *testing.T) {
	const header = "task,arrival_s,job,gpus,exclusive_duration_s,peak_mem_mib,class,est_a_mib,est_a_upper_mib\n"
	for range 20 {
		tr, err := trace.Read(strings.NewReader(header + "0,0,net,1,60,100,light,200,300\n"))
		if err != nil || tr.Tasks[0].Estimates["a"] != 300*profile.MiB {
			t.Fatalf("got %+v, %v; want an estimate of 300 MiB", tr, err)
		}
		_, err = trace.Read(strings.NewReader(header + "0,0,net,1,60,100,light,x,y\n"))
		if err == nil || !strings.Contains(err.Error(), "est_a_mib is") {
			t.Fatalf("got %v, want the fault in est_a_mib", err)
		}
	}
}

// TestReadPairs reads made-up pairs.
func TestReadPairs(t *testing.T) {
	got, err := trace.ReadPairs(strings.NewReader(pairHeader + "v100,a,b,0.5,0.75,1\nv100,a,a,0.5,0.5,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []speed.PairSpeed{{GPU: "v100", A: "a", B: "b", SpeedA: 0.5, SpeedB: 0.75}, {GPU: "v100", A: "a", B: "a"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, in := range []string{"", "a,b\n", pairHeader + "v100,a,b,x,1,1\n", pairHeader + "v100,a,b,1,1,2\n", pairHeader + ",a,b,1,1,1\n"} {
		if got, err := trace.ReadPairs(strings.NewReader(in)); err == nil || got != nil {
			t.Errorf("ReadPairs(%q) = %v, %v", in, got, err)
		}
	}
}

// writeJSONLines writes tasks in colloc's own layout.
func writeJSONLines(w io.Writer, tasks []sim.Task) error {
	enc := json.NewEncoder(w)
	for i := range tasks {
		t := &tasks[i]
		rec := trace.Record{
			ID: t.ID, Arrival: t.Arrival.Seconds(), Work: t.Work.Seconds(), GPUs: t.GPUs, OneNode: t.OneNode,
			HostOnly: t.HostOnly, User: t.User, Priority: t.Priority, Only: t.Only, Memory: t.Memory, Share: t.Share, CPU: t.CPU,
			HostMemory: t.HostMemory, Type: t.Type, Class: t.Class, Busy: t.Busy, Bandwidth: t.Bandwidth,
			Startup: t.Startup.Seconds(), Estimates: t.Estimates,
		}
		if st := t.Stages; st != (sim.StageTimes{}) {
			rec.Stages = &[4]float64{st.Load.Seconds(), st.Compute.Seconds(), st.Exchange.Seconds(), st.Iteration.Seconds()}
		}
		if err := enc.Encode(&rec); err != nil {
			return err
		}
	}
	return nil
}

// TestRoundTrip writes tasks as JSON Lines and reads them again.
func TestRoundTrip(t *testing.T) {
	tasks, err := trace.Generate(trace.Workload{Tasks: 50, Types: []trace.Type{{Name: "x", Memory: 5, Busy: 0.5}}})
	if err != nil {
		t.Fatal(err)
	}
	tasks[3].Stages = sim.StageTimes{Load: 1, Compute: 2, Exchange: 3, Iteration: 4 * time.Millisecond}
	tasks[2].Startup = time.Second
	tasks[5].User, tasks[5].Priority = "ann", -2
	tasks[4].Estimates = map[string]profile.Bytes{"a": 1, "b": 2}
	var out bytes.Buffer
	if err := writeJSONLines(&out, tasks); err != nil {
		t.Fatal(err)
	}
	got, err := trace.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tasks, got.Tasks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPublished reads the published traces whole.
func TestPublished(t *testing.T) {
	for name, want := range map[string]struct {
		layout string
		tasks  int
		nodes  int
		types  int
	}{
		"traces/carma_trace_t1.csv":           {"carma", 60, 0, 0},
		"traces/muri_trace1.csv":              {"muri", 1494, 0, 0},
		"traces/openb_pod_list_default.csv":   {"openb", 8152, 0, 0},
		"traces/openb_node_list_gpu_node.csv": {"openb", 0, 1213, 0},
		"interference_gavel_solo.csv":         {"gavel", 0, 0, 21},
	} {
		f, err := os.Open(filepath.Join(data(t), name))
		if err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Read(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if tr.Layout != want.layout || len(tr.Tasks) != want.tasks || len(tr.Nodes) != want.nodes || len(tr.Types) != want.types {
			t.Errorf("%s: layout %s, %d tasks, %d machines, %d types; want %+v", name, tr.Layout, len(tr.Tasks), len(tr.Nodes), len(tr.Types), want)
		}
	}
}

// data is the folder with the measured data.
func data(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("COLLOC_DATA")
	if dir == "" {
		tb.Skip("set COLLOC_DATA to the folder with the measured data to run this test")
	}
	return dir
}

// FuzzRead: whatever the bytes, Read returns tasks that Run accepts, or an error
// and nothing.
func FuzzRead(f *testing.F) {
	for _, in := range []string{
		carmaHeader + "0,10,net,1,60.5,100,200,8000,light\n", muriHeader + "7,2,1500,10,vgg16,200,100,50,0.5\n",
		podHeader + "p,1500,1024,1,460,A10|T4,5,65\n", nodeHeader + "n,64000,2048,2,G2\n", gavelHeader + "k80,x|bs1,x,3,0.5\n",
		heliosHeader + "1,u,v,4,16,C,2020-04-01 00:00:08,100\n", phillyHeader + "a,Pass,v,2017-10-01 00:00:00,2017-10-01 00:00:05,2017-10-01 01:00:05,8\n",
		`{"id":"a","arrival_s":1.5,"work_s":2,"stages_s":[1,2,3,4]}`, pairHeader + "v100,a,b,0.5,0.75,1\n",
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		tr, err := trace.Read(bytes.NewReader(in))
		if (err == nil) == (tr == nil) {
			t.Fatalf("trace %v and error %v", tr, err)
		}
		if pairs, err := trace.Pairs(bytes.NewReader(in), "v100"); (err == nil) == (pairs == nil) {
			t.Fatalf("pairs %v and error %v", pairs, err)
		}
		if err != nil {
			return
		}
		for i := range tr.Tasks {
			if err := tr.Tasks[i].Validate(); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if err := writeJSONLines(&out, tr.Tasks); err != nil {
			t.Fatal(err)
		}
		again, err := trace.Read(&out)
		if len(tr.Tasks) > 0 && (err != nil || len(again.Tasks) != len(tr.Tasks)) {
			t.Fatalf("written and read again: %v, %v", again, err)
		}
	})
}
