package script

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"example.com/colloc/internal/golden"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// someTasks are three ordinary tasks.
func someTasks() []Task {
	return []Task{
		{
			Name: "resnet50", Command: []string{"python", "train.py", "--lr", "0.1"}, Env: []string{"DATA=/data/image net"},
			CPUs: 6, Memory: 24 * profile.GiB, GPUMemory: 18 * profile.GiB,
		},
		{
			Name: "bert", Command: []string{"python", "-m", "bert.train"}, Dir: "bert",
			CPUs: 2, Memory: 16 * profile.GiB, GPUMemory: 12 * profile.GiB,
		},
		{
			Name: "gpt2 \"small\"", Command: []string{"./run.sh", "it's $HOME"}, Log: "gpt2 small.log",
			CPUs: 4, Memory: 32 * profile.GiB, GPUMemory: 20 * profile.GiB,
		},
	}
}

// someSets share two GPUs, one of them under MPS.
func someSets() []Set {
	t := someTasks()
	return []Set{{Mechanism: profile.MPS, Tasks: t[:2]}, {Mechanism: profile.Exclusive, Tasks: t[2:]}}
}

// withGPUs asks for n GPUs for each task by itself.
func withGPUs(n int) []Task {
	tasks := someTasks()
	for i := range tasks {
		tasks[i].GPUs = n
	}
	return tasks
}

// someScripts are one of each kind.
func someScripts() []struct {
	name string
	make func() (Job, error)
} {
	request := Request{Name: "sweep", Partition: "gpu", Account: "vision", Time: 90 * time.Minute, Warn: time.Minute}
	typed := request
	typed.Gres, typed.Constraint = []site.Gres{{Name: "gpu", Type: "a100"}}, "a100_80gb&ib"
	gang := Gang{Task: Task{Name: "llm", Command: []string{"train.py", "--zero", "3"}, CPUs: 32, Memory: 400 * profile.GiB}, GPUs: 4}
	gangs := gang
	gangs.Nodes = 2
	ranks := gangs
	ranks.Launcher = Ranks
	pernode := gangs
	pernode.Launcher = PerNode
	return []struct {
		name string
		make func() (Job, error)
	}{
		{"shared", func() (Job, error) { return Shared(someSets(), &Options{Request: request, Setup: "module load cuda"}) }},
		{"steps", func() (Job, error) { return Steps(withGPUs(1), &Options{Request: request}) }},
		{"node", func() (Job, error) { return Distributed(gang, &Options{Request: request}) }},
		{"gang", func() (Job, error) { return Distributed(gangs, &Options{Request: typed}) }},
		{"ranks", func() (Job, error) { return Distributed(ranks, &Options{Request: typed}) }},
		{"pernode", func() (Job, error) { return Distributed(pernode, &Options{Request: typed}) }},
		{"stacked", func() (Job, error) {
			return Shared(someSets(), &Options{Request: typed, LogDir: "logs", Group: "it's a sweep", Scratch: "/local scratch"})
		}},
	}
}

func TestGolden(t *testing.T) {
	shellcheck, missing := exec.LookPath("shellcheck")
	for _, s := range someScripts() {
		t.Run(s.name, func(t *testing.T) {
			job, err := s.make()
			if err != nil {
				t.Fatal(err)
			}
			text, err := job.Text()
			if err != nil {
				t.Fatal(err)
			}
			file := s.name + ".sh"
			golden.Check(t, file, text)
			file = filepath.Join("testdata", file)
			if out, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
				t.Errorf("bash -n: %v\n%s", err, out)
			}
			if missing != nil {
				t.Skip("shellcheck is not installed: apt-get install shellcheck")
			}
			if out, err := exec.Command(shellcheck, "--severity=style", file).CombinedOutput(); err != nil {
				t.Errorf("shellcheck: %v\n%s", err, out)
			}
		})
	}
}
