//go:build linux

package environ

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

// entry is a run of a task.
func entry(t queue.Task) *backlog.Entry {
	e := &backlog.Entry{}
	e.Task, e.Env = t, t.Env
	e.Runs, e.GPU, e.Log = 2, "GPU-0", "/q/runs-1/000001.2.log"
	return e
}

// values are the settings by name; one that is there twice is a fault, and what is none.
func values(t *testing.T, env []string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, v := range env {
		name, value, ok := strings.Cut(v, "=")
		if _, twice := all[name]; twice || !ok || name == "" {
			t.Errorf("%q in %q", v, env)
		}
		all[name] = value
	}
	return all
}

// TestOrder: what is inherited comes first, then what the runner proposes where nobody
// decided, then what a task is told; of two settings the later one holds, and what is no
// setting is left out.
func TestOrder(t *testing.T) {
	e := entry(queue.Task{ID: "a", Env: []string{"B=3", "=x", Visible + "=7"}})
	env, err := Of(e, &Options{Base: []string{"A=1", "word", "B=2", "OMP_NUM_THREADS=9"}, Threads: 4})
	if err != nil {
		t.Fatal(err)
	}
	all := values(t, env)
	for name, want := range map[string]string{
		"A": "1", "B": "3", "OMP_NUM_THREADS": "9", "MKL_NUM_THREADS": "4", workers: "4", python: "1",
		task: "a", number: "2", Visible: "GPU-0",
	} {
		if got, ok := all[name]; !ok || got != want {
			t.Errorf("%s is %q, %v, want %q", name, got, ok, want)
		}
	}
	if !slices.Contains(env, supervise.Mark(e.Stem())) {
		t.Errorf("no mark of the run in %q", env)
	}
	at := func(v string) int { return slices.Index(env, v) }
	if order := []int{at("A=1"), at("OMP_NUM_THREADS=9"), at("B=3"), at("MKL_NUM_THREADS=4"), at("COLLOC_TASK=a"), at(Visible + "=GPU-0")}; order[0] != 0 || !slices.IsSorted(order) {
		t.Errorf("the order is %q", env)
	}
}

// TestShared: a task that shares its GPU by MPS is told where and how much memory it has.
func TestShared(t *testing.T) {
	for _, tt := range []struct {
		name string
		how  profile.Mechanism
		want map[string]string // empty is not set
	}{
		{"by MPS", profile.MPS, map[string]string{
			"CUDA_MPS_PIPE_DIRECTORY": "/pipe", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=2048M", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "75", Visible: "GPU-0",
		}},
		{"by time", profile.TimeSlice, map[string]string{
			"CUDA_MPS_PIPE_DIRECTORY": "", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "", Visible: "GPU-0",
		}},
	} {
		e := entry(queue.Task{ID: "a"})
		e.Mechanism, e.Reserved = tt.how, 2*profile.GiB
		env, err := Of(e, &Options{PipeDir: "/pipe", SMs: 0.75})
		if err != nil {
			t.Fatal(err)
		}
		all := values(t, env)
		for name, want := range tt.want {
			if got, set := all[name]; got != want || set != (want != "") {
				t.Errorf("%s: %s is %q, want %q", tt.name, name, got, want)
			}
		}
	}
}

// TestGang: the processes of a task of several GPUs are told where to meet, at a port that no
// other task has, unless the task says so itself; a task of one GPU is not.
func TestGang(t *testing.T) {
	first := 0
	for _, tt := range []struct {
		name  string
		gpus  int
		own   []string
		taken bool // the port of the one before
		addr  string
	}{
		{"one GPU", 1, nil, false, ""},
		{"two GPUs", 2, nil, false, "127.0.0.1"},
		{"beside another", 3, nil, true, "127.0.0.1"},
		{"its own place", 2, []string{"MASTER_ADDR=here", "MASTER_PORT=9"}, false, "here"},
	} {
		e := entry(queue.Task{ID: "a", GPUs: tt.gpus, Env: tt.own})
		taken := make(map[int]bool)
		if tt.taken {
			taken[first] = true
		}
		env, err := Of(e, &Options{Taken: taken})
		if err != nil {
			t.Fatal(err)
		}
		all, port := values(t, env), ""
		if e.Port != 0 {
			port = strconv.Itoa(e.Port)
		}
		own := port
		if tt.own != nil {
			own = "9"
		}
		if (e.Port != 0) != (tt.gpus > 1) || all["MASTER_ADDR"] != tt.addr || all["MASTER_PORT"] != own || all["PET_MASTER_PORT"] != port || taken[e.Port] {
			t.Errorf("%s: port %d, environment %q", tt.name, e.Port, all)
		}
		first = e.Port
	}
	full := make(map[int]bool)
	for port := range 1 << 16 {
		full[port] = true
	}
	e := entry(queue.Task{ID: "a", GPUs: 2})
	env, err := Of(e, &Options{Taken: full})
	if all := values(t, env); err != nil || e.Port != 0 || all["MASTER_PORT"] != "" || all["MASTER_ADDR"] != "" {
		t.Errorf("without a port: %q, %v", all, err)
	}
}
