package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/internal/race"
)

// inventedTrace has CARMA's layout and numbers of nobody.
const inventedTrace = `task,arrival_s,job,gpus,exclusive_duration_s,peak_mem_mib,class,est_horus_mib
a,0,one,1,600,10000,light,9000
b,60,two,1,1200,20000,medium,30000
c,120,three,2,1800,30000,heavy,20000
d,180,one,1,600,10000,light,9000
`

// inventedPods has openb's layout without times.
const inventedPods = `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos
a,1000,1024,1,500,,LS
b,1000,1024,1,1000,,LS
`

// inventedTasks is a task file.
const inventedTasks = `{"format": "colloc-tasks", "version": 1, "tasks": [
  {"id": "a", "training": {"batch_size": 1}, "solo": {"gpu": "A100-40GB", "gpu_busy": 0.3, "mem_used": "3GiB", "run_time": "10m", "startup": "5s"}},
  {"id": "b", "training": {"batch_size": 1}, "solo": {"gpu": "A100-40GB", "gpu_busy": 0.4, "mem_used": "4GiB", "steps": 1000, "step_time": "300ms"}},
  {"id": "c", "training": {"batch_size": 1}, "solo": {"gpu": "A100-40GB", "gpu_busy": 0.5, "mem_used": "5GiB", "run_time": "10m"}}
]}`

// inventedPairs has the layout of measured pairs.
const inventedPairs = `gpu,job_a,job_b,norm_speed_a,norm_speed_b
v100,x,x,0.6,0.6
v100,x,y,0.9,0.8
v100,y,y,0.7,0.7
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	trace, pairs := write(t, "t.csv", inventedTrace), write(t, "p.csv", inventedPairs)
	greedyTrace := write(t, "g.csv", strings.Replace(inventedTrace, "30000\n", "99999\n", 1))
	pods := write(t, "pods.csv", inventedPods)
	tasks := write(t, "tasks.json", inventedTasks)
	tests := []struct {
		name string
		args []string
		want string // in the table
	}{
		{"every policy", []string{"-trace", trace, "-seeds", "2"}, "colloc"},
		{"another cluster, errors", []string{"-trace", trace, "-gpus", "2x2xV100", "-policies", "fifo,colloc", "-speed-error", "0.2", "-length-error", "0.2", "-observe-error", "0.05"}, "4 GPUs"},
		{"an estimator that is wrong", []string{"-trace", trace, "-estimator", "horus", "-policies", "carma-magm"}, "predicted by horus"},
		{"an estimate of more than a card", []string{"-trace", greedyTrace, "-estimator", "horus", "-policies", "fifo"}, "fifo "},
		{"our own estimator", []string{"-trace", trace, "-estimator", "colloc", "-policies", "carma-magm"}, "predicted by colloc"},
		{"drawn from measured pairs", []string{"-pairs", pairs, "-gpus", "4xV100", "-tasks", "50", "-policies", "greedy,gavel"}, "50 tasks on 4 GPUs"},
		{"fresh days with losses", []string{"-trace", trace, "-policies", "las,colloc", "-fresh", "-seeds", "2", "-losses", "5h", "-checkpoint", "20m", "-checkpoint-cost", "5s", "-diurnal", "0.5"}, "each GPU fails every 5h0m0s"},
		{"described tasks", []string{"-trace", tasks, "-gpus", "2xA100-40GB", "-policies", "fifo,colloc"}, "speeds of described tasks"},
		{"a mixed cluster", []string{"-trace", trace, "-gpus", "2xK80,2xA100", "-policies", "colloc,greedy,gavel", "-pace"}, "solo speeds predicted, 1 on the A100"},
		{"profiles and MPS", []string{"-trace", trace, "-policies", "greedy,carma-magm", "-profiling", "2m", "-mps", "0.7", "-told", "2"}, "of which MPS leaves 0.7"},
		{"users", []string{"-trace", trace, "-policies", "fifo,colloc", "-users", "2", "-quota", "user-1=1,*=3"}, "user spread, x"},
		{"priorities", []string{"-trace", trace, "-policies", "fifo,colloc", "-urgent", "0.5", "-seeds", "3"}, "urgent JCT, h"},
		{"tasks that are too large", []string{"-trace", trace, "-policies", "srtf", "-gpus", "1xT4"}, "can never run here, and behind which others may wait for ever: 2, first b: it needs"},
		{"shared cores", []string{"-trace", trace, "-policies", "fifo", "-cpus", "2", "-task-cpus", "2"}, "share 2 cores"},
		{"learned on the day", []string{"-trace", trace, "-policies", "srtf,colloc", "-learn", "-estimator", "horus"}, "lengths, memory and speeds are learned"},
		{"lengths unknown", []string{"-trace", trace, "-policies", "srtf,las,colloc", "-unknown-lengths", "-seeds", "2"}, "nobody knows lengths"},
		{"services", []string{"-trace", trace, "-policies", "greedy,colloc", "-services", "3", "-service-up", "6h", "-contention", "4"}, "late, h"},
		{"told another contention", []string{"-trace", trace, "-policies", "greedy", "-told", "2"}, "policies are told 2"},
		{"without stages", []string{"-trace", trace}, "muri-s, muri-l: left out, as the tasks do not say the stages of an iteration"},
		{"without stages, by name", []string{"-trace", trace, "-policies", "best-fit"}, "best-fit: not what the name says"},
		{"filled up without times", []string{"-trace", pods, "-gpus", "4xV100", "-inflate", "1.2"}, "best-fit"},
		{"proven", []string{"-trace", trace, "-policies", "fifo,colloc", "-bound", "-seeds", "2"}, "above what no policy comes below (fifo "},
		{"proven of too little", []string{"-trace", trace, "-gpus", "1xA100-40GB", "-policies", "greedy-4,colloc", "-bound", "-bound-set", "1"}, "greedy-4 puts up to 2 tasks on a GPU: what is proven is of 1 at most"},
		{"nothing proven", []string{"-trace", trace, "-policies", "fifo", "-gpus", "1xT4", "-bound"}, "nothing is proven: bound: task"},
		{"filled up", []string{"-trace", trace, "-inflate", "2", "-policies", "fgd,best-fit"}, "tasks on 4 GPUs"},
	}
	times := race.Fewer(2)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var first, again, stderr bytes.Buffer
			for _, out := range []*bytes.Buffer{&first, &again}[:times] {
				if err := run(t.Context(), tt.args, out, &stderr); err != nil {
					t.Fatal(err)
				}
			}
			if !strings.Contains(first.String(), tt.want) || stderr.Len() > 0 {
				t.Errorf("no %q in\n%s%s", tt.want, &first, &stderr)
			}
			if tt.name == "an estimate of more than a card" && strings.Contains(first.String(), "did not finish") {
				t.Errorf("tasks did not finish:\n%s", &first)
			}
			if times > 1 && first.String() != again.String() {
				t.Errorf("two runs differ:\n%s\n%s", &first, &again)
			}
		})
	}
}

// TestJSONUnfinished: where a task did not finish there is no makespan and no completion time.
func TestJSONUnfinished(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-trace", write(t, "t.csv", inventedTrace), "-policies", "fifo", "-until", "20m", "-json"}
	if err := run(t.Context(), args, &out, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got["finished"] == got["tasks"] {
		t.Fatalf("all finished: %v", got)
	}
	for _, name := range []string{"makespan_s", "mean_jct_s", "p50_jct_s", "p99_jct_s"} {
		if v, ok := got[name]; !ok || v != nil {
			t.Errorf("%s is %v, want null", name, v)
		}
	}
}

func TestRunJSONAndReport(t *testing.T) {
	page := filepath.Join(t.TempDir(), "r.html")
	var out bytes.Buffer
	args := []string{"-trace", write(t, "t.csv", inventedTrace), "-policies", "fifo,colloc", "-seeds", "2", "-json", "-bound", "-html", page}
	if err := run(t.Context(), args, &out, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for d := json.NewDecoder(&out); d.More(); lines++ {
		var r record
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Trace != "t.csv" || r.Finished != 4 || r.Makespan == nil || *r.Makespan <= 0 {
			t.Errorf("line %d is %+v", lines, r)
		}
		if r.BoundMakespan == nil || *r.BoundMakespan > *r.Makespan || r.BoundJCT == nil || *r.BoundJCT > *r.MeanJCT || *r.BoundJCT <= 0 {
			t.Errorf("line %d is below what is proven: %+v", lines, r)
		}
	}
	if lines != 4 {
		t.Errorf("%d lines, want one for each of 2 policies and 2 seeds", lines)
	}
	text, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(text, []byte("Policies on t.csv")) {
		t.Errorf("report %v: %.100s", err, text)
	}
}

func TestRunRefuses(t *testing.T) {
	trace := write(t, "t.csv", inventedTrace)
	tests := []struct {
		name, want string
		args       []string
	}{
		{"nothing", "no trace", nil},
		{"no such file", "no such file", []string{"-trace", filepath.Join(t.TempDir(), "none")}},
		{"unknown layout", "unknown layout", []string{"-trace", write(t, "u.csv", "a,b\n1,2\n")}},
		{"no run time", "does not tell how long it runs alone", []string{"-trace", write(t, "n.json", strings.Replace(inventedTasks, `"run_time": "10m"}`, `"source": "x"}`, 1)), "-gpus", "T4"}},
		{"bad line", "line 3, column", []string{"-trace", write(t, "b.csv", strings.Replace(inventedTrace, "1200", "-1", 1))}},
		{"unknown policy", `no "psychic"`, []string{"-trace", trace, "-policies", "psychic"}},
		{"policy twice", "twice", []string{"-trace", trace, "-policies", "fifo,fifo"}},
		{"unknown GPU", "-gpus", []string{"-trace", trace, "-gpus", "3xAbacus"}},
		{"no estimate", `no estimate of "oracles"`, []string{"-trace", trace, "-estimator", "oracles"}},
		{"no machines", "holds no machines with GPUs", []string{"-trace", trace, "-nodes", trace}},
		{"contention", "-contention is", []string{"-trace", trace, "-contention", "1,x"}},
		{"a report of two", "a report is of one", []string{"-trace", trace, "-contention", "1,2", "-html", "x"}},
		{"a report over it", "is read, too", []string{"-trace", trace, "-html", trace}},
		{"seeds", "-seeds is 0", []string{"-trace", trace, "-seeds", "0"}},
		{"until", "-until is -5s", []string{"-trace", trace, "-until", "-5s"}},
		{"services of pairs", "leave out -pairs", []string{"-pairs", write(t, "p.csv", inventedPairs), "-services", "1"}},
		{"startup", "-startup is -1s", []string{"-trace", trace, "-startup", "-1s"}},
		{"checkpoints that cost more than they save", "more than -checkpoint-cost", []string{"-trace", trace, "-checkpoint", "10s"}},
		{"a report nowhere", "-html: stat", []string{"-trace", trace, "-html", filepath.Join(t.TempDir(), "none", "r.html")}},
		{"a blank file", "empty file", []string{"-trace", write(t, "blank.csv", "\n \n"), "-gpus", "2xV100"}},
		{"a quota of nobody", "-quota: \"=3\"", []string{"-trace", trace, "-quota", "4,=3"}},
		{"proofs of nothing", "-bound, which is missing", []string{"-trace", trace, "-proofs", t.TempDir()}},
		{"a day of trainings nobody ran alone", "no solo_a100.csv", []string{"-trace", write(t, "day_x.csv", "job,arrival_s,workload\n1,0,a\n")}},
		{"cores of nothing", "which is missing", []string{"-trace", trace, "-task-cpus", "3"}},
		{"losses all the time", "-losses is 1s", []string{"-trace", trace, "-losses", "1s"}},
		{"no times", "has no times", []string{"-trace", write(t, "q.csv", inventedPods), "-gpus", "2xV100"}},
		{"no published figures", "no such file", []string{"-published", t.TempDir()}},
		{"argument", "no argument", []string{trace}},
		{"flag", "not defined", []string{"-frobnicate"}},
		{"no tasks", "holds no tasks", []string{"-trace", write(t, "e.csv", strings.SplitAfter(inventedTrace, "\n")[0]), "-inflate", "2"}},
		{"no GPUs", "holds no machines with GPUs", []string{"-pairs", write(t, "p.csv", inventedPairs), "-nodes", write(t, "n.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,1000,1024,0,\n")}},
		{"no pairs there", "has no pairs", []string{"-pairs", write(t, "p.csv", inventedPairs), "-gpus", "2xK80"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := run(t.Context(), tt.args, &bytes.Buffer{}, &bytes.Buffer{})
			if !errors.Is(err, cli.ErrUsage) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want wrong input with %q", err, tt.want)
			}
		})
	}
}

func TestRunHelpAndCancel(t *testing.T) {
	var help bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &help, &bytes.Buffer{}); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "colloc") {
		t.Errorf("-h: %v, %s", err, &help)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := []string{"-trace", write(t, "t.csv", inventedTrace)}
	if err := run(ctx, args, &bytes.Buffer{}, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
