package slurm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// written writes a sweep of these tasks.
func written(t *testing.T, name string, tasks ...string) {
	t.Helper()
	text := fmt.Sprintf(`{"name": %q, "log_dir": "logs", "tasks": [%s]}`, name, strings.Join(tasks, ","))
	if err := os.WriteFile("sweep.json", []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func oneTask(id, command string) string {
	return fmt.Sprintf(`{"id": %q, "kind": "k", "command": [%q], "training": {"batch_size": 1}}`, id, command)
}

// atWork is a command that has read the sweep.
func atWork(t *testing.T) (w *steward, out *bytes.Buffer) {
	t.Helper()
	s, err := readSweep("sweep.json")
	if err != nil {
		t.Fatal(err)
	}
	out = &bytes.Buffer{}
	path, no := "sweep.json", false
	d := &desk{input: input{path: &path, again: &no}, sweep: s, record: &record{}, impossible: map[string]string{}, refusals: map[string]int{}}
	return &steward{program: &program{stdout: out, stderr: out, client: slurm.NewClient(slurm.Config{Runner: &sstat{}})}, desk: d, recall: map[string]bool{}}, out
}

// A sweep file that changes is taken in: what came, what is another now, what is gone. One that makes
// no sense, or is another sweep, is said, and what was read before counts.
func TestReread(t *testing.T) {
	t.Chdir(t.TempDir())
	written(t, "s", oneTask("a", "x"), oneTask("b", "x"), oneTask("c", "x"))
	w, out := atWork(t)
	w.impossible["b"] = "too large"
	if w.reread() {
		t.Error("nothing changed:", out)
	}
	written(t, "s", oneTask("new", "x"), oneTask("a", "x"), oneTask("b", "y"))
	if !w.reread() || w.reread() || !w.recall["b"] || !w.recall["c"] || len(w.recall) != 2 || w.impossible["b"] != "" {
		t.Errorf("take back %v, impossible %v: %s", w.recall, w.impossible, out)
	}
	if w.sweep.byID["c"] == nil || len(w.sweep.tasks) != 3 {
		t.Error("a task that is gone may still run, and is forgotten")
	}
	written(t, "s", oneTask("new", "x"), oneTask("a", "x"), oneTask("b", "y"), oneTask("c", "x"))
	if !w.reread() || !strings.HasSuffix(out.String(), "sweep.json: 1 tasks came, 0 changed, 0 are gone: 4\n") {
		t.Error("one that came again:", out)
	}
	for _, wrong := range []func(){
		func() { written(t, "other", oneTask("a", "x")) },
		func() { written(t, "s", "}") },
		func() { _ = os.Remove("sweep.json") },
	} {
		out.Reset()
		if wrong(); w.reread() || !strings.Contains(out.String(), "going on with what it was") || len(w.sweep.tasks) != 4 {
			t.Error(out)
		}
	}
}

// add keeps what is there, and finds names that nobody has.
func TestAdd(t *testing.T) {
	t.Chdir(t.TempDir())
	written(t, "s", oneTask("run-1", "x"), oneTask("b", "x"))
	for _, want := range []string{"run-1 b run-0 run-1.2", "run-1 b run-0 run-1.2 run-0.2 run-1.3"} {
		var out, errs bytes.Buffer
		p := &program{stdout: &out, stderr: &errs}
		if code := p.run(t.Context(), []string{"add", "-n", "2", "sweep.json", "--", "train", "{}"}); code != 0 {
			t.Fatal(errs.String())
		}
		s, err := readSweep("sweep.json")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range s.tasks {
			got = append(got, e.ID)
		}
		if strings.Join(got, " ") != want || s.name != "s" {
			t.Errorf("%q of %s, want %s: %s", got, s.name, want, &out)
		}
	}
	if info, err := os.Stat("sweep.json"); err != nil || info.Mode().Perm() != 0o640 {
		t.Error("another mode:", info.Mode(), err)
	}
	for _, args := range [][]string{{"add"}, {"add", "sweep.json"}, {"add", "nothing.json", "x"}, {"add", "-limit", "3", "sweep.json", "x"}} {
		p := &program{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
		if code := p.run(t.Context(), args); code != 2 {
			t.Errorf("%q: exit status %d, want 2", args, code)
		}
	}
}

// needs is what a Dispatcher sets aside for a task on two A100-40GB, and why it gives it up if it does.
func needs(t *testing.T, w *steward, task string, jobs []site.JobInfo) (reserved profile.Bytes, gone string) {
	t.Helper()
	if w.planner == nil {
		planner, err := colloc.New(colloc.Config{})
		if err != nil {
			t.Fatal(err)
		}
		w.planner = planner
	}
	w.history(t.Context(), w.desk, jobs)
	node := site.Node{Name: "n", State: []string{"IDLE"}, Gres: []site.Held{{Gres: site.Gres{Name: "gpu", Type: "A100-40GB", Count: 2}}}}
	out := newOutline(w.sweep)
	m, err := w.ask(out, &site.State{Nodes: []site.Node{node}}, []colloc.Task{w.sweep.byID[task].task})
	if err != nil {
		t.Fatal(err)
	}
	starts, err := m.start(t.Context(), out)
	if err != nil || len(starts)+len(out.refused) != 1 {
		t.Fatalf("%v starts, %v is refused, %v; want one", starts, out.refused, err)
	}
	if len(starts) == 0 {
		return 0, out.refused[0].why
	}
	return starts[0].Reserve, ""
}

// A task that ran out of device memory gets half as much again, then a GPU alone, and is given up then; whatever was
// set aside for it is in the record, so that a command which begins again knows.
func TestStarved(t *testing.T) {
	t.Chdir(t.TempDir())
	written(t, "s", oneTask("a", "x"), oneTask("b", "x"))
	w, _ := atWork(t)
	if err := os.Mkdir("logs", 0o755); err != nil {
		t.Fatal(err)
	}
	jobs := func(times int) (jobs []site.JobInfo) {
		w.record.Sets = nil
		for id := site.JobID(1); int(id) <= times; id++ {
			w.record.Sets = append(w.record.Sets, set{Product: "A100-40GB", Members: []member{{Task: "a", Job: id, Reserved: 8 * profile.GiB}}})
			jobs = append(jobs, site.JobInfo{ID: id, State: site.Failed, Comment: "colloc:s:a", User: w.sweep.user})
		}
		return jobs
	}
	if h := w.history(t.Context(), w.desk, jobs(1)); h.fates["a"] != failed {
		t.Error(h.fates)
	}
	if err := os.WriteFile(filepath.Join("logs", "a.log"), []byte("peak_memory=9GiB\nCUDA out of memory\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for times, want := range []profile.Bytes{0, 12 * profile.GiB, 18 * profile.GiB, 0} {
		reserved, gone := needs(t, w, "a", jobs(times))
		if reserved != want || (gone != "") != (times == 3) {
			t.Errorf("after %d times: %v, %q; want %v", times, reserved, gone, want)
		}
		h := w.history(t.Context(), w.desk, jobs(times))
		if times > 0 && (h.fates["a"] != starved || h.tries["a"] != 0 || !h.fates["a"].planned(false)) {
			t.Errorf("after %d times it %v", times, h.fates["a"])
		}
	}
	all := jobs(1)
	w.record.Sets[0].Members[0].Reserved = memory.Whole
	if reserved, gone := needs(t, w, "a", all); reserved != 36*profile.GiB || gone != "" {
		t.Errorf("after a whole GPU: %v, %q; want one alone", reserved, gone)
	}
}

// What the script of a job saw of a task's memory counts for others of its kind: of one that runs once it holds no
// more for a while.
func TestHeld(t *testing.T) {
	t.Chdir(t.TempDir())
	written(t, "s", oneTask("a", "x"), oneTask("b", "x"))
	w, _ := atWork(t)
	w.record.Sets = []set{{Product: "A100-40GB", Members: []member{{Task: "a", Job: 1}}}}
	jobs := []site.JobInfo{{ID: 1, State: site.Running, Comment: "colloc:s:a", User: w.sweep.user}}
	if err := os.Mkdir("logs", 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("logs", "colloc-1.out")
	if err := os.WriteFile(path, []byte("colloc: peak 5120 MiB: a\ncolloc: peak 10240 MiB: a\ncolloc: peak 20480 MiB: other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		more string
		age  time.Duration
		want profile.Bytes
	}{{"", 0, 0}, {"", time.Hour, 11 * profile.GiB}, {"colloc: peak 20480 MiB: a\n", time.Hour, 22 * profile.GiB}} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, tt.more...), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-tt.age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		if reserved, _ := needs(t, w, "b", jobs); reserved != tt.want {
			t.Errorf("%v after the last line: %v, want %v", tt.age, reserved, tt.want)
		}
	}
}

// sstat is a Slurm that answers so.
type sstat struct {
	says  string
	asked int
}

func (s *sstat) Run(context.Context, slurm.Command) (slurm.Output, error) {
	s.asked++
	return slurm.Output{Stdout: []byte(s.says)}, nil
}

// What Slurm saw of the memory of a job that has run for a while counts for others of its kind; a site that
// watches no GPUs is asked once.
func TestMeasure(t *testing.T) {
	for says, want := range map[string]struct {
		need  profile.Bytes
		asked int
	}{"1.batch|gres/gpumem=10G\n": {11 * profile.GiB, 1}, "1.batch|mem=1G\n": {0, 1}} {
		t.Chdir(t.TempDir())
		written(t, "s", oneTask("a", "x"), oneTask("b", "x"))
		w, _ := atWork(t)
		cluster := &sstat{says: says}
		w.client = slurm.NewClient(slurm.Config{Runner: cluster})
		w.record.Sets = []set{{Product: "A100-40GB", Members: []member{{Task: "a", Job: 1}}}}
		for i, began := range []time.Time{time.Now(), time.Now().Add(-time.Hour), time.Now().Add(-time.Hour)} {
			jobs := []site.JobInfo{{ID: 1, State: site.Running, Comment: "colloc:s:a", User: w.sweep.user, Started: began}}
			reserved, _ := needs(t, w, "b", jobs)
			if i == 0 && (reserved != 0 || cluster.asked != 0) || i > 0 && (reserved != want.need || cluster.asked != want.asked) {
				t.Errorf("%q, look %d: %v after %d questions, want %v after %d", says, i, reserved, cluster.asked, want.need, want.asked)
			}
		}
	}
}

// A job that comes to hold more is asked about again a minute later, and so is one after a question that was
// not understood: neither ends the watch.
func TestMeasureAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	written(t, "s", oneTask("a", "x"), oneTask("b", "x"))
	w, _ := atWork(t)
	cluster := &sstat{}
	now := time.Now()
	w.client, w.clock = slurm.NewClient(slurm.Config{Runner: cluster}), func() time.Time { return now }
	w.record.Sets = []set{{Product: "A100-40GB", Members: []member{{Task: "a", Job: 1}}}}
	jobs := []site.JobInfo{{ID: 1, State: site.Running, Comment: "colloc:s:a", User: w.sweep.user, Started: now.Add(-time.Hour)}}
	for _, look := range []struct {
		says string
		want profile.Bytes
	}{{"sstat: error\n", 0}, {"1.batch|gres/gpumem=1G\n", profile.BytesOf(1.1 * float64(profile.GiB))}, {"1.batch|gres/gpumem=10G\n", 11 * profile.GiB}, {"1.batch|gres/gpumem=5G\n", 11 * profile.GiB}} {
		cluster.says = look.says
		if reserved, _ := needs(t, w, "b", jobs); reserved != look.want {
			t.Errorf("%q: %v, want %v", look.says, reserved, look.want)
		}
		now = now.Add(time.Minute)
	}
}

// A task that was measured on a fast product takes longer on a slow one.
func TestPace(t *testing.T) {
	planner, err := colloc.New(colloc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	written(t, "s", `{"id": "a", "command": ["x"], "model": {"name": "resnet50"}, "training": {"batch_size": 64}, "solo": {"gpu": "A100-40GB", "gpu_busy": 0.9, "mem_busy": 0.5, "mem_used": "9GiB", "step_time": "120ms"}}`, oneTask("b", "x"))
	w, _ := atWork(t)
	for _, tt := range []struct {
		task, product string
		least, most   float64
	}{{"a", "A100-40GB", 1, 1}, {"a", "T4", 0.01, 0.7}, {"b", "T4", 1, 1}} {
		gpu, ok := profile.LookupGPU(tt.product)
		if pace := w.sweep.byID[tt.task].pace(planner, gpu); !ok || pace < tt.least || pace > tt.most {
			t.Errorf("%s on %s: pace %v, want %v to %v", tt.task, tt.product, pace, tt.least, tt.most)
		}
	}
}
