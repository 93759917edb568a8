package runner

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/profile"
)

// The variables that tell a task who it is and what it may use.
const (
	envTask    = "COLLOC_TASK"      // its ID
	envRun     = "COLLOC_RUN"       // the number of the run, from 1
	envWorkers = "COLLOC_WORKERS"   // how many data-loader workers to use
	envPython  = "PYTHONUNBUFFERED" // else Python keeps its lines, and the steps in them, for long
	envVisible = "CUDA_VISIBLE_DEVICES"
)

// threadVariables limit the threads of numeric libraries: OpenMP, MKL, OpenBLAS,
// NumExpr, Apple's vecLib, BLIS, TensorFlow and Rust's Rayon.
//
//nolint:gochecknoglobals // a read-only table
var threadVariables = []string{
	"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS",
	"VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "RAYON_NUM_THREADS",
	envWorkers,
}

// groupVariables name the group of runs for programs that track experiments:
// Weights & Biases, and colloc's own.
//
//nolint:gochecknoglobals // a read-only table
var groupVariables = []string{"WANDB_RUN_GROUP", "COLLOC_GROUP"}

// environment is the environment of a run: what is inherited, then what the
// runner proposes where nobody decided, then what the task sets, then the GPU.
func (r *Runner) environment(e *entry) ([]string, error) {
	base := r.inherited()
	env := make([]string, 0, len(base)+len(e.Env)+len(threadVariables)+8)
	env = append(append(env, base...), e.Env...)
	propose := func(name, value string) {
		if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			env = append(env, name+"="+value)
		}
	}
	threads := strconv.Itoa(r.threads(&e.Task))
	for _, name := range threadVariables {
		propose(name, threads)
	}
	propose(envPython, "1")
	r.gangEnv(e, propose)
	if r.config.Group != "" {
		for _, name := range groupVariables {
			propose(name, r.config.Group)
		}
	}
	env = append(env,
		envTask+"="+e.Task.ID,
		envRun+"="+strconv.Itoa(e.Runs),
		supervise.Mark(e.stem()))
	device, err := r.deviceEnv(e)
	return last(append(env, device...)), err
}

// inherited is the environment that all tasks start from.
func (r *Runner) inherited() []string {
	if r.config.Env != nil {
		return r.config.Env
	}
	return os.Environ()
}

// threads is a task's share of the cores, at least one.
func (r *Runner) threads(t *Task) int {
	if t.CPUs > 0 {
		return t.CPUs
	}
	return r.config.TaskThreads(len(r.cards))
}

// deviceEnv makes the task see its GPU alone, through MPS if that is how it is
// shared.
func (r *Runner) deviceEnv(e *entry) ([]string, error) {
	if e.Mechanism != profile.MPS {
		return []string{envVisible + "=" + e.On()}, nil
	}
	return mps.Share{Device: e.GPU, Memory: e.Reserved, PipeDir: r.pipeDir(e.GPU)}.Env()
}

// last keeps the last value of each variable, as programs disagree which one of
// two counts.
func last(env []string) []string {
	seen := make(map[string]bool, len(env))
	kept := make([]string, 0, len(env))
	for _, v := range slices.Backward(env) {
		name, _, ok := strings.Cut(v, "=")
		if ok && name != "" && !seen[name] {
			seen[name] = true
			kept = append(kept, v)
		}
	}
	slices.Reverse(kept)
	return kept
}

// pipeDir is where the MPS daemon of a GPU listens.
func (r *Runner) pipeDir(id nvmlx.DeviceID) string {
	if r.config.MPSPipeDir != nil {
		return cmp.Or(r.config.MPSPipeDir(id), mps.DefaultPipeDir)
	}
	return mps.PipeDir(r.inherited())
}

const firstPort = 29500 // where PyTorch looks for the first of several processes

// gangEnv lets the processes of a task of several GPUs find each other, apart from
// those of other tasks.
func (r *Runner) gangEnv(e *entry, propose func(name, value string)) {
	if e.Task.width() == 1 {
		return
	}
	taken := make(map[int]bool)
	for _, other := range r.queue.active {
		if other != e {
			taken[other.port] = true
		}
	}
	if e.port = supervise.FreePort(firstPort, taken); e.port == 0 {
		return
	}
	port := strconv.Itoa(e.port)
	propose("MASTER_ADDR", "127.0.0.1")
	propose("MASTER_PORT", port)
	propose("PET_MASTER_PORT", port) // torchrun's
}
