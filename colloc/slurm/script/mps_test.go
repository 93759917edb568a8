package script

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/colloc/profile"
)

const showMPS = `env | grep -E '^(CUDA_|COLLOC_GPU_)' | sed "s#$TMPDIR/colloc\.[^/]*#WORK#" | sort`

func TestScriptMPS(t *testing.T) {
	a, b := sh("a", showMPS), sh("b", showMPS)
	a.GPUMemory = 20 * profile.GiB
	sets := []Set{{Mechanism: profile.TimeSlice, Tasks: []Task{sh("c", showMPS)}}, {Mechanism: profile.MPS, Tasks: []Task{a, b}}}
	tests := []struct {
		name, gpus, sees string
	}{
		{name: "numbers", gpus: "3,5", sees: "0"},
		{name: "names", gpus: "GPU-aa,GPU-bb", sees: "GPU-bb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job, err := Shared(sets, nil)
			if err != nil {
				t.Fatal(err)
			}
			bench := newBench(t, job, "CUDA_VISIBLE_DEVICES="+tt.gpus)
			bench.end(0)
			first, second, _ := strings.Cut(tt.gpus, ",")
			want := map[string]string{
				"a.log": "COLLOC_GPU_MEMORY_MIB=20480\nCUDA_DEVICE_ORDER=PCI_BUS_ID\n" +
					"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20480M\nCUDA_MPS_PIPE_DIRECTORY=WORK/1/pipe\nCUDA_VISIBLE_DEVICES=" + tt.sees + "\n",
				"b.log":   "CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_MPS_PIPE_DIRECTORY=WORK/1/pipe\nCUDA_VISIBLE_DEVICES=" + tt.sees + "\n",
				"c.log":   "CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES=" + first + "\n",
				"mps.log": "start GPU " + second + " mode 700 700\nquit\nquit\n",
			}
			for name, text := range want {
				if diff := cmp.Diff(text, bench.file(name)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// A daemon that does not start ends the job at once, and says why.
func TestScriptMPSFails(t *testing.T) {
	a := sh("a", "echo ran")
	job, err := Shared([]Set{{Mechanism: profile.MPS, Tasks: []Task{a}}}, &Options{
		Setup: `printf '#!/bin/bash\necho no permission\nexit 1\n' >nvidia-cuda-mps-control`,
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, job)
	b.end(1)
	if !strings.Contains(b.out.String(), "MPS does not start on GPU 3:\nno permission\n") {
		t.Errorf("the script printed %q", b.out.String())
	}
	if _, err := os.Stat(filepath.Join(b.dir, "a.log")); err == nil {
		t.Error("a task ran")
	}
}

// TERM stops daemon and tasks alike.
func TestScriptMPSTerm(t *testing.T) {
	set := Set{Mechanism: profile.MPS, Tasks: []Task{sh("a", forEver), sh("b", forEver)}}
	job, err := Shared([]Set{set}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, job)
	b.signal(2, syscall.SIGTERM)
	b.end(143)
	if got := b.file("mps.log"); !strings.HasSuffix(got, "quit\nquit\n") {
		t.Errorf("the daemon was told %q", got)
	}
}

func TestStepsRun(t *testing.T) {
	tasks := []Task{sh("a", "echo $CUDA_VISIBLE_DEVICES $OMP_NUM_THREADS"), sh("b", "exit 2")}
	for i := range tasks {
		tasks[i].CPUs, tasks[i].GPUs, tasks[i].Memory = 4, 1-i, profile.GiB+1
	}
	job, err := Steps(tasks, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, job)
	b.end(2)
	if got, want := b.file("a.log"), "by-srun 4\n"; got != want {
		t.Errorf("a wrote %q, want %q", got, want)
	}
	for _, want := range []string{
		"--exact --nodes=1 --ntasks=1 --cpus-per-task=4 --mem=1025M --gres=gpu:1 bash",
		"--exact --nodes=1 --ntasks=1 --cpus-per-task=4 --mem=1025M --gres=none bash",
	} {
		if got := b.file("srun.log"); !strings.Contains(got, want) {
			t.Errorf("srun was called with\n%s, want %s", got, want)
		}
	}
}

func TestDistributedRuns(t *testing.T) {
	const stubs = `printf '#!/bin/bash\nprintf "n1\\nn2\\n"\n' >scontrol
printf '#!/bin/bash\necho torchrun "$@"\nexit 6\n' >torchrun
chmod +x scontrol torchrun`
	train := Task{Name: "llm", Log: "log", Command: []string{"train.py", "--name", "a b"}, CPUs: 8}
	rank := train
	rank.Command = []string{"bash", "-c", `echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT $OMP_NUM_THREADS; exit 6`}
	tests := []struct {
		name string
		gang Gang
		want string
	}{
		{"one node", Gang{Task: train, GPUs: 4}, "torchrun --nnodes=1 --nproc_per_node=4 --standalone train.py --name a b\n"},
		{
			"two nodes",
			Gang{Task: train, GPUs: 4, Nodes: 2},
			"torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=42 --rdzv_endpoint=n1:10042 train.py --name a b\n",
		},
		{"ranks", Gang{Task: rank, GPUs: 4, Nodes: 2, Launcher: Ranks}, "5 1 8 4 n1 10042 2\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job, err := Distributed(tt.gang, &Options{Setup: stubs})
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t, job, "SLURM_JOB_NODELIST=n[1-2]", "SLURM_PROCID=5", "SLURM_LOCALID=1", "SLURM_NTASKS=8")
			b.end(6)
			if got := b.file("log"); got != tt.want {
				t.Errorf("it wrote\n%s, want\n%s", got, tt.want)
			}
		})
	}
}
