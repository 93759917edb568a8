package slurm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/cmd/internal/slurm/settings"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/colloc/taskfile"
	"example.com/colloc/internal/testbed"
	"example.com/colloc/profile"
)

// cluster is one that only prints: one node with two GPUs, shared or not.
type cluster struct {
	gres      string
	jobs      []string // of squeue
	scripts   []string // of sbatch
	down      bool
	most      int      // jobs that may be submitted; 0 is no limit
	cancelled []string // by scancel
	node      string   // more of the node
	partition string   // more of the partition

	watch    func(slurm.Command) // sees each command
	looks    int
	released []string
}

func (s *cluster) Run(_ context.Context, c slurm.Command) (slurm.Output, error) {
	out := ""
	if s.watch != nil {
		s.watch(c)
	}
	switch c.Args[0] {
	case "squeue":
		out = `{"jobs": [` + strings.Join(s.jobs, ",") + `]}`
	case "sinfo":
		out = `{"nodes": [{"name": "n", "state": "idle", "partitions": ["main"], "gres": "` + s.gres + `", "cpus": 8, "real_memory": 64000` + s.node + `}]}`
	case "scontrol":
		out = "PartitionName=main Default=YES State=UP" + s.partition + "\n"
		if c.Args[len(c.Args)-1] == "config" {
			out = "DefMemPerNode           = UNLIMITED\nSelectTypeParameters    = CR_CORE_MEMORY\n"
		}
	case "scancel":
		s.cancelled = append(s.cancelled, c.String())
	case "sbatch":
		if s.most > 0 && len(s.scripts) >= s.most {
			return slurm.Output{Stderr: []byte("sbatch: error: QOSMaxSubmitJobPerUserLimit\n"), Code: 1}, nil
		}
		s.scripts = append(s.scripts, c.Input)
		out = fmt.Sprintln(len(s.scripts))
	}
	if s.down {
		return slurm.Output{Stderr: []byte(c.Args[0] + ": error: Unable to contact slurm controller (connect failure)\n"), Code: 1}, nil
	}
	return slurm.Output{Stdout: []byte(out)}, nil
}

const (
	pinned = "gpu:a100i0:1,gpu:a100i1:1,shard:a100i0:8,shard:a100i1:8"
	whole  = "gpu:a100:2"
)

// call runs one subcommand in a folder that holds the sweep of testdata.
func call(t *testing.T, r slurm.Runner, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	p := &program{
		client: slurm.NewClient(slurm.Config{Runner: r}), stdout: &out, stderr: &errs,
		every: 50 * time.Millisecond, slowest: 100 * time.Millisecond,
	}
	if got := p.run(t.Context(), args); got != want {
		t.Fatalf("slurm %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), got, want, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

func folder(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sweep.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("sweep.json", text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

func TestPlan(t *testing.T) {
	folder(t)
	s := &cluster{gres: pinned}
	out, _ := call(t, s, 0, "plan", "-sweep", "sweep.json", "-scripts", "-decisions", "decisions.json")
	contains(t, out, "resnet lr=0.1", "n/1", `--- ["bert"] on n/`, "--gres=shard:a100i", "--nodelist=n", "--partition=main", "--time=00:10:00")
	if len(s.scripts) != 0 {
		t.Error("plan submitted something")
	}
	var shown struct {
		Plan struct{ Placements []struct{ GPU string } }
		Jobs []struct {
			Tasks  []string
			Script string
		}
	}
	text, _ := call(t, s, 0, "plan", "-sweep", "sweep.json", "-json")
	if err := json.Unmarshal([]byte(text), &shown); err != nil || len(shown.Plan.Placements) != 2 || len(shown.Jobs) != 3 || !strings.HasPrefix(shown.Jobs[0].Script, "#!/bin/bash\n") {
		t.Errorf("%v: as JSON it is\n%s", err, text)
	}
	answer, _ := call(t, s, 0, "decide", "-decisions", "decisions.json", "mine:resnet+lr%3D0.1")
	if !strings.HasPrefix(answer, "node=n gres=shard:a100i") {
		t.Errorf("decide says %q", answer)
	}
}

func TestSubmit(t *testing.T) {
	for _, tt := range []struct {
		name, gres string
		jobs       int
		script     string
	}{
		{"one job for each task", pinned, 3, "#SBATCH --gres=shard:a100i"},
		{"one job for each set", whole, 2, "#SBATCH --gres=gpu:a100:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder(t)
			s := &cluster{gres: tt.gres}
			call(t, s, 0, "submit", "-sweep", "sweep.json", "-dry-run")
			if len(s.scripts) != 0 {
				t.Fatal("the dry run submitted something")
			}
			out, _ := call(t, s, 0, "submit", "-sweep", "sweep.json")
			contains(t, out, fmt.Sprintf("job %d: ", tt.jobs))
			contains(t, strings.Join(s.scripts, ""), tt.script, "sleep 2", "logs/resnet+lr%3D0.1.log")
			rec, err := files.Load("submitted.json", readRecord, nil)
			if err != nil || len(s.scripts) != tt.jobs || len(rec.Sets) != 2 {
				t.Fatalf("%d jobs, %+v, %v; want %d jobs of 2 sets", len(s.scripts), rec, err, tt.jobs)
			}
			// All are over and forgotten: nothing is submitted twice.
			call(t, s, 0, "submit", "-sweep", "sweep.json")
			if len(s.scripts) != tt.jobs {
				t.Errorf("%d jobs after the second submit, want %d", len(s.scripts), tt.jobs)
			}
		})
	}
}

// Where the site divides GPUs, each task has a job of its own and neighbours all
// the same.
func TestNeighbours(t *testing.T) {
	for _, tt := range []struct{ share, more string }{
		{"shard", ""},
		{"mps", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0="},
	} {
		t.Run(tt.share, func(t *testing.T) {
			folder(t)
			s := &cluster{gres: "gpu:a100i0:1,gpu:a100i1:1," + tt.share + ":a100i0:100," + tt.share + ":a100i1:100"}
			call(t, s, 0, "submit", "-sweep", "sweep.json")
			for _, text := range s.scripts {
				if strings.Contains(text, "nvidia-cuda-mps-control") {
					t.Error("the job starts a daemon beside the site's")
				}
				if strings.Contains(text, "--gres=gpu:") {
					if strings.Contains(text, "XLA_PYTHON_CLIENT_PREALLOCATE") {
						t.Error("a task that is alone is told to spare memory")
					}
					continue
				}
				contains(t, text, "TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false", "COLLOC_GPU_MEMORY_MIB=", tt.more)
			}
		})
	}
}

// What is planned again follows from how each task ended: by Slurm's word, by
// the job's own output, and only for this user's jobs of this sweep.
func TestAgain(t *testing.T) {
	job := func(id int, state, more string) string {
		return fmt.Sprintf(`{"job_id": %d, "job_state": %q%s}`, id, state, more)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	owner := func(name, comment string) string {
		return fmt.Sprintf(`, "user_name": %q, "comment": %q`, name, comment)
	}
	for _, tt := range []struct {
		name   string
		gres   string
		jobs   []string
		output string // of job 1
		args   []string
		more   int // jobs of the second submit
		says   string
	}{
		{name: "forgotten, no output", gres: whole, more: 0, says: "3 tasks forgotten by Slurm, without accounts or output"},
		{name: "forgotten, again", gres: whole, args: []string{"-again"}, more: 2},
		{name: "forgotten, its output says that all is well", gres: whole, output: "colloc: exit 0: a\ncolloc: exit 0: b\n", more: 0, says: "2 tasks done"},
		{name: "forgotten, one failed", gres: whole, output: "colloc: exit 0: a\ncolloc: exit 7: b\n", more: 1, says: "1 tasks failed: planned again"},
		{name: "forgotten, its setup failed", gres: whole, output: "colloc: setup: exit 3: exit 3\n", more: 2, says: "2 tasks failed: planned again"},
		{name: "one failed, its partner is done", gres: whole, jobs: []string{job(1, "FAILED", ""), job(2, "COMPLETED", "")}, output: "colloc: exit 0: a\ncolloc: exit 5: b\n", more: 1, says: "1 tasks failed"},
		{name: "put back, and ended well then", gres: whole, jobs: []string{job(1, "FAILED", ""), job(2, "COMPLETED", "")}, output: "colloc: exit 0: a\ncolloc: exit 143: b\ncolloc: exit 0: a\ncolloc: exit 0: b\n", more: 0, says: "3 tasks done"},
		{name: "preempted for good", gres: whole, jobs: []string{job(1, "PREEMPTED", ""), job(2, "COMPLETED", "")}, output: "colloc: exit 0: a\ncolloc: exit 143: b\n", more: 1, says: "1 tasks had to make room, or lost its node: planned again"},
		{name: "its node failed", gres: whole, jobs: []string{job(1, "NODE_FAIL", ""), job(2, "COMPLETED", "")}, more: 2, says: "2 tasks had to make room"},
		{name: "cancelled", gres: whole, jobs: []string{job(1, "CANCELLED", ""), job(2, "COMPLETED", "")}, more: 0, says: "2 tasks cancelled: planned again with -again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder(t)
			s := &cluster{gres: tt.gres}
			call(t, s, 0, "submit", "-sweep", "sweep.json")
			first := len(s.scripts)
			if tt.output != "" {
				if err := os.WriteFile(filepath.Join("logs", "colloc-1.out"), []byte(tt.output), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s.jobs = tt.jobs
			out, _ := call(t, s, 0, append([]string{"submit", "-sweep", "sweep.json"}, tt.args...)...)
			contains(t, out, tt.says)
			if got := len(s.scripts) - first; got != tt.more {
				t.Errorf("%d jobs were submitted again, want %d\n%s", got, tt.more, out)
			}
		})
	}
	for _, tt := range []struct {
		name, jobs string
		big        bool // it is submitted
		says       string
	}{
		{"my job of this sweep", job(1, "PENDING", owner(me.Username, slurm.Comment("mine", "big"))), false, `1 tasks waiting or running: "big" (job 1)`},
		{"my job of another sweep", job(1, "PENDING", owner(me.Username, slurm.Comment("other", "big"))), true, `runs a task that is called "big", too`},
		{"a stranger's", job(1, "PENDING", owner("mallory", slurm.Comment("mine", "big"))), true, "job 1 of mallory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder(t)
			s := &cluster{gres: whole, jobs: []string{tt.jobs}}
			out, _ := call(t, s, 0, "submit", "-sweep", "sweep.json")
			contains(t, out, tt.says)
			if got := strings.Contains(strings.Join(s.scripts, ""), "--comment=colloc:mine:big\n"); got != tt.big {
				t.Errorf("big is submitted: %v, want %v\n%s", got, tt.big, out)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	s := &sweep{Settings: settings.Settings{Time: taskfile.Duration(10 * time.Minute)}}
	for _, tt := range []struct {
		slowest float64
		longest time.Duration
		want    time.Duration
	}{
		{0, 0, 10 * time.Minute},
		{1, 0, 10 * time.Minute},
		{0.79, 0, 13 * time.Minute},
		{0.5, 15 * time.Minute, 15 * time.Minute},
		{0.5, 5 * time.Minute, 10 * time.Minute}, // the user's own, right or wrong
		{0.001, 0, 101 * time.Minute},
	} {
		s.longest = tt.longest
		if got := s.limit(&entry{slowest: tt.slowest}); got != tt.want {
			t.Errorf("at speed %v, at most %v: %v, want %v", tt.slowest, tt.longest, got, tt.want)
		}
	}
	s.longest, s.Restart = 0, taskfile.Duration(2*time.Minute)
	for slowest, want := range map[float64]time.Duration{1: 13 * time.Minute, 0.5: 25 * time.Minute} {
		if got := s.limit(&entry{slowest: slowest}); got != want || !s.Options().Request.Requeue {
			t.Errorf("at speed %v, with a restart: %v, want %v, and requeue", slowest, got, want)
		}
	}
	if got := (&sweep{}).limit(&entry{slowest: 0.5}); got != 0 {
		t.Errorf("without a time the site's default holds, not %v", got)
	}
}

// A second submit at the same time does nothing; one that the site refuses half
// of a set takes the other half back.
func TestSubmitsAtOnce(t *testing.T) {
	folder(t)
	unlock, err := files.Lock("submitted.json.lock", false)
	if err != nil {
		t.Fatal(err)
	}
	s := &cluster{gres: pinned}
	_, stderr := call(t, s, 1, "submit", "-sweep", "sweep.json")
	contains(t, stderr, "another submit is at work")
	unlock()
	s.most, s.jobs = 1, []string{`{"job_id": 1, "job_state": "PENDING", "state_reason": "JobHeldUser"}`}
	_, stderr = call(t, s, 1, "submit", "-sweep", "sweep.json")
	contains(t, stderr, "QOSMaxSubmitJobPerUserLimit")
	if diff := cmp.Diff([]string{"scancel 1"}, s.cancelled); diff != "" {
		t.Errorf("cancelled (-want +got):\n%s", diff)
	}
	s.most, s.jobs = 0, nil
	call(t, s, 0, "submit", "-sweep", "sweep.json")
	if n := len(s.scripts); n != 4 {
		t.Errorf("%d jobs in all, want the one that was cancelled and 3", n)
	}
}

// On a full cluster the tasks wait in Slurm, for any GPU of the kind; none asks
// for more than a node has.
func TestQueue(t *testing.T) {
	stranger := `{"job_id": 90, "user_name": "mallory", "job_state": "RUNNING", "nodes": "n", "gres_detail": ["gpu:a100:2(IDX:0-1)"], "tres_per_node": "gres:gpu:a100:2"}`
	for _, tt := range []struct {
		name, gres, cpus string
		jobs             []string
		args             []string
		want             []string // of each script's header
		says             string
	}{
		{name: "full", gres: whole, cpus: "1", jobs: []string{stranger}, want: []string{"colloc:mine:resnet+lr%3D0.1,bert", "colloc:mine:big"}, says: "In Slurm's queue"},
		{name: "full, later", gres: whole, cpus: "1", jobs: []string{stranger}, args: []string{"-now"}},
		{name: "too many CPUs together", gres: whole, cpus: "5", jobs: []string{stranger}, want: []string{"colloc:mine:resnet+lr%3D0.1", "colloc:mine:bert", "colloc:mine:big"}},
		{name: "too many CPUs", gres: whole, cpus: "9", want: []string{"colloc:mine:big"}, says: `no job: "bert" asks for 9 CPUs and 0 B: no node with such GPUs has more than 8`},
		{name: "any GPU", gres: "gpu:a100i0:1,gpu:a100i1:1", cpus: "1", jobs: []string{strings.ReplaceAll(stranger, "gpu:a100:2(IDX:0-1)", "gpu:a100i0:1(IDX:0),gpu:a100i1:1(IDX:1)")}, want: []string{"colloc:mine:resnet+lr%3D0.1,bert", "colloc:mine:big"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder(t)
			text, err := os.ReadFile("sweep.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("sweep.json", bytes.ReplaceAll(text, []byte(`"cpus": 1`), []byte(`"cpus": `+tt.cpus)), 0o644); err != nil {
				t.Fatal(err)
			}
			s := &cluster{gres: tt.gres, jobs: tt.jobs}
			out, _ := call(t, s, 0, append([]string{"submit", "-sweep", "sweep.json"}, tt.args...)...)
			contains(t, out, tt.says)
			var got []string
			for _, text := range s.scripts {
				_, rest, _ := strings.Cut(text, "#SBATCH --comment=")
				comment, _, _ := strings.Cut(rest, "\n")
				got = append(got, comment)
				if strings.Contains(text, "--nodelist") {
					t.Errorf("%s is bound to a node", comment)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("jobs (-want +got):\n%s\n%s", diff, out)
			}
		})
	}
}

// What a script said is kept, and watch shows it.
func TestScriptsOutput(t *testing.T) {
	folder(t)
	s := &cluster{gres: whole}
	call(t, s, 0, "submit", "-sweep", "sweep.json")
	contains(t, s.scripts[0], "#SBATCH --output=logs/colloc-%j.out\n")
	if err := os.WriteFile(filepath.Join("logs", "colloc-1.out"), []byte("module: command not found\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("logs", "bert.log"), []byte("KeyError: 'lr'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.jobs = []string{`{"job_id": 1, "job_state": "FAILED"}`, `{"job_id": 2, "job_state": "COMPLETED"}`}
	out, _ := call(t, s, 1, "watch", "-sweep", "sweep.json")
	again, _ := call(t, s, 1, "submit", "-sweep", "sweep.json", "-wait", "-retries", "0")
	contains(t, again, `no job: "bert" failed 1 times, and -retries is 0: a larger one runs it again`, "1 of 3 tasks are done")
	contains(t, out, "job 1 said last (", "module: command not found\n", "its task said last (logs/bert.log):\nKeyError: 'lr'\n")
}

func TestWatch(t *testing.T) {
	dir := folder(t)
	s := &cluster{gres: pinned}
	call(t, s, 0, "submit", "-sweep", "sweep.json")
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"resnet+lr%3D0.1.log": "epoch 1 step_time=0.130s\nepoch 2 step_time=0.125s\nepoch 3 step_time=0.120s\npeak_memory=9.5GiB\n",
		"bert.log":            "step time: 250 ms\nRuntimeError: CUDA out of memory\npeak_memory=13GiB",
	} {
		if err := os.WriteFile(filepath.Join(logs, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range s.scripts {
		s.jobs = append(s.jobs, fmt.Sprintf(`{"job_id": %d, "job_state": "COMPLETED", "nodes": "n", "start_time": 1000, "end_time": %d}`, i+1, 1100+i))
	}
	first, _ := call(t, s, 0, "watch", "-sweep", "sweep.json")
	contains(t, first, "job 1 ", "COMPLETED", "resnet lr=0.1 on n/", ", seen 0.80, peak 9.5 GiB\n", "bert on n/", "seen 0.80, peak 13 GiB, out of memory", "big on n/", "learned from 1 of 2 sets")
	again, _ := call(t, s, 0, "watch", "-sweep", "sweep.json")
	contains(t, again, "learned from 0 of 2 sets")
	// What was learned moves the next prediction towards what was seen.
	before := predicted(t, s, "none")
	after := predicted(t, s, "models")
	for task, p := range before {
		if q := after[task]; task != "big" && !(q < p) {
			t.Errorf("%s: predicted %.3f before, %.3f after a speed of 0.80 was seen", task, p, q)
		}
	}
}

// predicted submits anew with what is in a folder of models and returns the
// speeds that are predicted.
func predicted(t *testing.T, s *cluster, models string) map[string]float64 {
	t.Helper()
	empty := &cluster{gres: s.gres}
	call(t, empty, 0, "submit", "-sweep", "sweep.json", "-models", models, "-record", models+".json")
	rec, err := files.Load(models+".json", readRecord, nil)
	if err != nil {
		t.Fatal(err)
	}
	speeds := map[string]float64{}
	for _, set := range rec.Sets {
		for _, m := range set.Members {
			speeds[m.Task] = m.Speed.Value
		}
	}
	return speeds
}

func TestSeen(t *testing.T) {
	held := func(gpu int) ([]string, [][]site.Held) {
		return []string{"n"}, [][]site.Held{{{Gres: site.Gres{Name: "shard", Count: 4}, Index: []int{gpu}}}}
	}
	job := func(begin, end int64, gpu int) site.JobInfo {
		j := site.JobInfo{State: site.Completed, Started: time.Unix(begin, 0), Ended: time.Unix(end, 0)}
		if j.Nodes, j.Held = held(gpu); gpu < 0 {
			j.Nodes, j.Held = nil, nil
		}
		return j
	}
	both := &set{GPU: "n/0", Product: "A100-40GB", Members: []member{{Task: "a", Job: 1}, {Task: "b", Job: 2}}}
	v100 := *both
	v100.Product = "V100-16GB"
	e := &entry{Task: taskfile.Task{Solo: &taskfile.Solo{GPU: "A100-40GB", RunTime: profile.Some(taskfile.Duration(80 * time.Second))}}}
	for _, tt := range []struct {
		name      string
		set       *set
		me, other site.JobInfo
		want      profile.Opt[float64]
	}{
		{"beside all the time", both, job(0, 100, 0), job(0, 200, 0), profile.Some(0.8)},
		{"beside for the most part", both, job(0, 100, 0), job(0, 80, 0), profile.Some(0.8)},
		{"beside for a while", both, job(0, 100, 0), job(0, 50, 0), profile.Opt[float64]{}},
		{"never", both, job(0, 100, 0), site.JobInfo{}, profile.Opt[float64]{}},
		{"on another GPU", both, job(0, 100, 0), job(0, 100, 1), profile.Opt[float64]{}},
		{"both on another than planned", both, job(0, 100, 1), job(0, 100, 1), profile.Opt[float64]{}},
		{"nobody saw where", both, job(0, 100, 0), job(0, 100, -1), profile.Opt[float64]{}},
		{"another product", &v100, job(0, 100, 0), job(0, 200, 0), profile.Opt[float64]{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.me.ID, tt.other.ID = 1, 2
			out := (&sight{}).outcome(e, tt.set, 0, map[site.JobID]site.JobInfo{1: tt.me, 2: tt.other})
			if out.Speed != tt.want {
				t.Errorf("speed %v, want %v", out.Speed, tt.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	folder(t)
	t.Setenv("SLURM_JWT", "secret")
	for name, text := range map[string]string{
		"garbage.json": "{\n\"tasks\": [\n{]}", "empty.json": "{}", "field.json": `{"tusks": []}`,
		"twice.json":     `{"tasks": [{"id": "a", "command": ["x"], "training": {"batch_size": 1}}, {"id": "a", "command": ["x"]}]}`,
		"gpu.json":       `{"tasks": [{"id": "a", "command": ["x"], "solo": {"gpu": "Voodoo 2"}}]}`,
		"time.json":      `{"time": "-1h", "tasks": [{"id": "a", "command": ["x"], "training": {"batch_size": 1}}]}`,
		"product.json":   `{"models": {"a100": "Z9000"}, "tasks": [{"id": "a", "command": ["x"], "training": {"batch_size": 32}}]}`,
		"command.json":   `{"tasks": [{"id": "a", "command": "python train.py", "training": {"batch_size": 1}}]}`,
		"partition.json": `{"partition": "nope", "tasks": [{"id": "a", "command": ["x"], "model": {"name": "resnet50"}, "training": {"batch_size": 32}}]}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no subcommand", nil, 2, "want new, add, plan, submit, watch, advise, decide or shadow"},
		{"unknown flag", []string{"plan", "-x"}, 2, "-x"},
		{"operand", []string{"plan", "x"}, 2, "1 operands, want 0"},
		{"no sweep", []string{"plan"}, 2, "-sweep names no file"},
		{"no such file", []string{"plan", "-sweep", "gone.json"}, 2, "gone.json"},
		{"garbage", []string{"plan", "-sweep", "garbage.json"}, 2, "garbage.json:3"},
		{"no tasks", []string{"plan", "-sweep", "empty.json"}, 2, "no tasks"},
		{"unknown field", []string{"plan", "-sweep", "field.json"}, 2, "tusks"},
		{"twice", []string{"plan", "-sweep", "twice.json"}, 2, `task "a": this id was used before`},
		{"unknown GPU", []string{"plan", "-sweep", "gpu.json"}, 2, "Voodoo 2"},
		{"no time", []string{"plan", "-sweep", "time.json"}, 2, "not more than 0"},
		{"nothing submitted", []string{"watch", "-sweep", "sweep.json"}, 2, "submit first"},
		{"no decisions", []string{"decide", "-decisions", "gone.json", "x"}, 2, "gone.json"},
		{"no such partition", []string{"plan", "-sweep", "partition.json"}, 2, `unknown partition "nope": the cluster has main`},
		{"no such product", []string{"plan", "-sweep", "product.json"}, 2, `models: "a100" stands for "Z9000", which is not in the catalogue`},
		{"a command that is no list", []string{"plan", "-sweep", "command.json"}, 2, "command is a JSON string, want a list of strings"},
		{"slurmrestd without encryption", []string{"plan", "-sweep", "sweep.json", "-rest", "http://cluster:6820"}, 1, "a token must not travel unencrypted"},
		{"no cluster", []string{"submit", "-sweep", "sweep.json"}, 1, "no cluster: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, stderr := call(t, &cluster{down: tt.name == "no cluster"}, tt.code, tt.args...)
			contains(t, stderr, tt.says)
		})
	}
}

func TestHelp(t *testing.T) {
	out, _ := call(t, &cluster{}, 0, "-h")
	contains(t, out, "new|add|plan|submit|watch|advise|decide", `"solo"`)
	for _, c := range []string{"plan", "submit", "watch", "decide"} {
		out, _ := call(t, &cluster{}, 0, c, "-h")
		contains(t, out, "usage: colloc slurm "+c, "\nflags:\n")
	}
}

// The sweep that the help shows can be read.
func TestHelpsExample(t *testing.T) {
	_, text, _ := strings.Cut(help, "settings for Slurm:\n")
	text, _, _ = strings.Cut(text, "\nmodels says")
	path := filepath.Join(t.TempDir(), "sweep.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := readSweep(path)
	if err != nil || len(s.tasks) != 1 || s.Partition != "main" || s.Time == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
}

// Stand-ins for the programs on PATH: what main uses.
func TestPrograms(t *testing.T) {
	bin := t.TempDir()
	s := &cluster{gres: pinned}
	for _, name := range []string{"squeue", "sinfo", "scontrol"} {
		out, err := s.Run(t.Context(), slurm.Command{Args: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		if err := testbed.Program(filepath.Join(bin, name), []byte("#!/bin/sh\ncat <<'END'\n"+string(out.Stdout)+"\nEND\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := testbed.Program(filepath.Join(bin, "sbatch"), []byte("#!/bin/sh\ncat >>"+bin+"/scripts\necho 7\n")); err != nil {
		t.Fatal(err)
	}
	folder(t)
	call(t, slurm.Exec{Bin: bin}, 0, "submit", "-sweep", "sweep.json")
	scripts, err := os.ReadFile(filepath.Join(bin, "scripts"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(scripts), "#SBATCH --nodelist=n\n"); n != 3 {
		t.Errorf("%d scripts were submitted, want 3", n)
	}
	rec, err := os.ReadFile("submitted.json")
	if err != nil || !json.Valid(rec) {
		t.Errorf("the record is %s, %v", rec, err)
	}
	if diff := cmp.Diff(3, strings.Count(string(rec), `"job": 7`)); diff != "" {
		t.Error("the record has not the jobs' numbers:", diff)
	}
}

func TestWatchFailedJob(t *testing.T) {
	folder(t)
	s := &cluster{gres: pinned}
	call(t, s, 0, "submit", "-sweep", "sweep.json")
	s.jobs = []string{`{"job_id": 1, "job_state": "FAILED", "nodes": "n"}`, `{"job_id": 2, "job_state": "COMPLETED"}`, `{"job_id": 3, "job_state": "TIMEOUT"}`}
	_, stderr := call(t, s, 1, "watch", "-sweep", "sweep.json")
	contains(t, stderr, "jobs [1 3] did not complete: submit plans their tasks again")
	// The tasks that failed are submitted again.
	s.jobs = []string{`{"job_id": 1, "job_state": "FAILED"}`, `{"job_id": 2, "job_state": "COMPLETED"}`, `{"job_id": 3, "job_state": "TIMEOUT"}`}
	call(t, s, 0, "submit", "-sweep", "sweep.json")
	if n := len(s.scripts); n != 5 {
		t.Errorf("%d jobs in all, want 3 and the 2 that failed", n)
	}
}
