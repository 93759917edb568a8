package script

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

func TestHeader(t *testing.T) {
	r := Request{
		Name: "a", Account: "b", Partition: "c", QOS: "d", Reservation: "e", Constraint: "f&g|h", NodeList: "g[1-3,5]",
		Nodes: 2, TasksPerNode: 3, CPUsPerTask: 4, Memory: 5*profile.GiB + 1, Gres: []site.Gres{{Name: "gpu", Type: "a100", Count: 2}, {Name: "shard", Type: "", Count: 8}},
		Time: 49*time.Hour + 30*time.Minute + time.Millisecond, Warn: 90 * time.Second, Output: "log/%x-%A_%a.out",
		Requeue: true, Comment: "colloc:x",
	}
	got, err := r.Header()
	if err != nil {
		t.Fatal(err)
	}
	const want = `#SBATCH --job-name=a
#SBATCH --account=b
#SBATCH --partition=c
#SBATCH --qos=d
#SBATCH --reservation=e
#SBATCH --constraint=f&g|h
#SBATCH --nodelist=g[1-3,5]
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=3
#SBATCH --cpus-per-task=4
#SBATCH --mem=5121M
#SBATCH --gres=gpu:a100:2,shard:8
#SBATCH --time=2-01:30:01
#SBATCH --signal=B:USR1@90
#SBATCH --output=log/%x-%A_%a.out
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --comment=colloc:x
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	args, err := r.Args()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(strings.ReplaceAll(want, "#SBATCH ", "")), strings.Join(args, "\n")); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestHeaderFaults(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		r          Request
	}{
		{"nodes", "Nodes is -1", Request{Nodes: -1}},
		{"tasks", "TasksPerNode is -1", Request{TasksPerNode: -1}},
		{"cpus", "CPUsPerTask is 16777217", Request{CPUsPerTask: maxCount + 1}},
		{"memory", "Memory is -1 bytes", Request{Memory: -1}},
		{"time", "Time is -1ns", Request{Time: -1}},
		{"warning", "Warn is -1ns", Request{Warn: -1}},
		{"long warning", "Warn is 24h0m0s", Request{Warn: 24 * time.Hour}},
		{"late warning", "Warn is 2m0s, which is no less than Time, 1m0s", Request{Warn: 2 * time.Minute, Time: time.Minute}},
		{"gres name", `Gres[0] is ":1"`, Request{Gres: []site.Gres{{Count: 1}}}},
		{"gres type", `Gres[1] is "gpu:a 100:1"`, Request{Gres: []site.Gres{{Name: "gpu", Type: "", Count: 1}, {Name: "gpu", Type: "a 100", Count: 1}}}},
		{"gres count", `Gres[0] is "gpu:0"`, Request{Gres: []site.Gres{{Name: "gpu", Type: "", Count: 0}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, func() error { _, err := tt.r.Header(); return err }(), "slurm: request: "+tt.want)
		})
	}
	_, err := (&Request{Name: "a b", Partition: "c d"}).Header()
	wantError(t, err, "Name is", "Partition is")
	_, err = (&Request{Name: "~a"}).Header()
	if err != nil {
		t.Error(err)
	}
	for at, body := range []string{"\x00", "a\x00"} {
		_, err = (&Job{Body: body}).Text()
		wantError(t, err, fmt.Sprintf("slurm: job: Body has a NUL byte at offset %d", at))
	}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("there is no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("the error is %q, want one with %q", err, p)
		}
	}
}

func TestScriptFaults(t *testing.T) {
	set := func(tasks ...Task) []Set { return []Set{{Mechanism: profile.TimeSlice, Tasks: tasks}} }
	ok := sh("a", ":")
	with := func(change func(*Task)) Task { t := ok; change(&t); return t }
	for _, tt := range []struct {
		name, want string
		sets       []Set
		o          Options
	}{
		{name: "no sets", want: "slurm: there are no sets"},
		{name: "empty set", sets: []Set{{}}, want: "slurm: set 0 has no tasks"},
		{name: "exclusive", sets: []Set{{Tasks: []Task{ok, sh("b", ":")}}}, want: "slurm: set 0 has 2 tasks but is exclusive"},
		{name: "mechanism", sets: []Set{{Mechanism: 9, Tasks: []Task{ok}}}, want: "mechanism 9 is none"},
		{name: "GPUs", sets: set(with(func(t *Task) { t.GPUs = 1 })), want: `set 0: task "a" asks for 1 GPUs of its own`},
		{name: "no name", sets: set(with(func(t *Task) { t.Name = "" })), want: `task 0 (""): Name is empty`},
		{name: "no command", sets: set(Task{Name: "a"}), want: `task 0 ("a"): Command is empty`},
		{name: "twice", sets: set(ok, ok), want: `task 1 ("a"): task 0 has the same name`},
		{name: "NUL", sets: set(with(func(t *Task) { t.Command = []string{"x", "\x00"} })), want: `Command holds a NUL byte`},
		{name: "NUL in a folder", sets: set(with(func(t *Task) { t.Dir = "\x00" })), want: `Dir holds a NUL byte`},
		{name: "variable", sets: set(with(func(t *Task) { t.Env = []string{"A"} })), want: `Env[0] is "A": want NAME=value`},
		{name: "variable's name", sets: set(with(func(t *Task) { t.Env = []string{"A-B=1"} })), want: `Env[0] is "A-B=1": the name is no shell variable's`},
		{name: "variable of digits", sets: set(with(func(t *Task) { t.Env = []string{"0A=1"} })), want: `Env[0] is "0A=1": the name is no shell variable's`},
		{name: "bash's variable", sets: set(with(func(t *Task) { t.Env = []string{"UID=1"} })), want: `the name is bash's own`},
		{name: "our variable", sets: set(with(func(t *Task) { t.Env = []string{"CUDA_VISIBLE_DEVICES=1"} })), want: `the script sets it from the plan`},
		{name: "CPUs", sets: set(with(func(t *Task) { t.CPUs = -1 })), want: `CPUs is -1`},
		{name: "memory", sets: set(with(func(t *Task) { t.Memory = -1 })), want: `Memory is -1`},
		{name: "huge memory", sets: set(with(func(t *Task) { t.GPUMemory = math.MaxInt64 })), want: `GPUMemory 9223372036854775807 bytes`},
		{name: "some memory", sets: set(with(func(t *Task) { t.Memory = 1 }), sh("b", ":")), want: `1 of 2 tasks state their Memory`},
		{name: "log folder", sets: set(ok), o: Options{LogDir: "\x00"}, want: `LogDir holds a NUL`},
		{name: "too few CPUs", sets: set(with(func(t *Task) { t.CPUs = 3 })), o: Options{Request: Request{CPUsPerTask: 2}}, want: `CPUsPerTask is 2, but the tasks need 3`},
		{name: "too little memory", sets: set(with(func(t *Task) { t.Memory = 3 * profile.GiB })), o: Options{Request: Request{Memory: profile.GiB}}, want: `Memory is 1 GiB, but the tasks need 3 GiB`},
		{name: "too few GPUs", sets: append(set(ok), set(sh("b", ":"))...), o: Options{Request: Request{Gres: []site.Gres{{Name: "gpu", Type: "", Count: 1}}}}, want: `Gres has 1 GPUs on each node, but the tasks need 2`},
		{name: "nodes", sets: set(ok), o: Options{Request: Request{Nodes: 2}}, want: `Nodes is 2, but the script is made for 1`},
		{name: "header", sets: set(ok), o: Options{Request: Request{Name: "a b"}}, want: `Name is "a b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Shared(tt.sets, &tt.o)
			wantError(t, err, tt.want)
		})
	}
}

// TestMostMemory: a task may ask for as much as the bound says, and is asked for to the MiB.
func TestMostMemory(t *testing.T) {
	most := sh("a", ":")
	most.Memory, most.GPUMemory = maxMemory, maxMemory
	for memory, want := range map[profile.Bytes]string{0: "", 1: "1M", profile.MiB: "1M", profile.MiB + 1: "2M", maxMemory: "268435456M"} {
		if got := megabytes(memory); got != want {
			t.Errorf("%d bytes are asked for as %q, want %q", int64(memory), got, want)
		}
	}
	if _, err := Shared([]Set{{Mechanism: profile.Exclusive, Tasks: []Task{most}}}, nil); err != nil {
		t.Error(err)
	}
}

// TestLaunchers: each way to start a gang has a name, which is read again.
func TestLaunchers(t *testing.T) {
	for launcher, want := range map[Launcher]string{Torchrun: "torchrun", Ranks: "ranks", PerNode: "node", -1: "launcher(-1)", PerNode + 1: "launcher(3)"} {
		if got := launcher.String(); got != want {
			t.Errorf("launcher %d is %q, want %q", int(launcher), got, want)
		}
		var again Launcher
		if err := again.UnmarshalText([]byte(want)); (err == nil) != (launcher >= 0 && launcher <= PerNode) || err == nil && again != launcher {
			t.Errorf("%q is read as %d, %v", want, int(again), err)
		}
	}
}

func TestStepsFaults(t *testing.T) {
	a, b := sh("a", ":"), sh("b", ":")
	a.CPUs, a.GPUs, a.Memory = 4, 2, profile.GiB
	b.CPUs, b.GPUs, b.Memory = 2, 1, profile.GiB
	both := []Task{a, b}
	for _, tt := range []struct {
		name, want string
		tasks      []Task
		r          Request
	}{
		{"nothing", "there are no tasks", nil, Request{}},
		{"memory", `task 0 ("c"): Memory is 0`, []Task{sh("c", ":")}, Request{}},
		{"sum of CPUs", "CPUsPerTask is 5, but the tasks need 6", both, Request{CPUsPerTask: 5}},
		{"sum of memory", "Memory is 1.5 GiB, but the tasks need 2 GiB", both, Request{Memory: 3 * profile.GiB / 2}},
		{"sum of GPUs", "Gres has 2 GPUs on each node, but the tasks need 3", both, Request{Gres: []site.Gres{{Name: "gpu", Type: "a100", Count: 2}}}},
		{"shards", "Gres has 0 GPUs on each node, but the tasks need 3", both, Request{Gres: []site.Gres{{Name: "shard", Type: "", Count: 2}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Steps(tt.tasks, &Options{Request: tt.r})
			wantError(t, err, tt.want)
		})
	}
	one, err := Steps([]Task{b}, nil)
	if err != nil || !slices.Equal(one.Request.Gres, []site.Gres{{Name: "gpu", Count: 1}}) {
		t.Errorf("for one GPU %v is asked, %v", one.Request.Gres, err)
	}
	job, err := Steps(both, &Options{Request: Request{Gres: []site.Gres{{Name: "gpu", Type: "a100"}}}})
	if err != nil {
		t.Fatal(err)
	}
	want := Request{Nodes: 1, TasksPerNode: 1, CPUsPerTask: 6, Memory: 2 * profile.GiB, Gres: []site.Gres{{Name: "gpu", Type: "a100", Count: 3}}}
	if diff := cmp.Diff(want, job.Request); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestGangFaults(t *testing.T) {
	task := sh("a", ":")
	for _, tt := range []struct {
		name, want string
		gang       Gang
	}{
		{"GPUs", "1 nodes with 0 GPUs each", Gang{Task: task}},
		{"launcher", "launcher 7 is none", Gang{Task: task, GPUs: 1, Launcher: 7}},
		{"task", "Command is empty", Gang{Task: Task{Name: "a"}, GPUs: 1}},
		{"shares", "the task's GPUs must be 0", Gang{Task: Task{Name: "a", Command: []string{"a"}, GPUs: 1}, GPUs: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Distributed(tt.gang, nil)
			wantError(t, err, tt.want)
		})
	}
}
