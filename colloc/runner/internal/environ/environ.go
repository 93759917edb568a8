package environ

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/profile"
)

// The variables that tell a task who it is and what it may use.
const (
	task    = "COLLOC_TASK"      // its ID
	number  = "COLLOC_RUN"       // the number of the run, from 1
	workers = "COLLOC_WORKERS"   // how many data-loader workers to use
	restart = "COLLOC_RESTART"   // the file where it says what a restart costs
	stops   = "COLLOC_RESTARTS"  // how often it was stopped for others
	python  = "PYTHONUNBUFFERED" // else Python keeps its lines, and the steps in them, for long
	// Visible names the GPUs that a task may use.
	Visible = "CUDA_VISIBLE_DEVICES"
)

// threadVariables limit the threads of numeric libraries: OpenMP, MKL, OpenBLAS,
// NumExpr, Apple's vecLib, BLIS, TensorFlow and Rust's Rayon.
//
//nolint:gochecknoglobals // a read-only table
var threadVariables = []string{
	"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS",
	"VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "RAYON_NUM_THREADS",
	workers,
}

// Options say what a runner decides for its tasks.
type Options struct {
	Base    []string     // what they inherit
	Threads int          // of one that does not say how many
	PipeDir string       // where the MPS daemon of the task's GPU listens
	SMs     float64      // the share of the multiprocessors that it may fill there; 0 is all
	Taken   map[int]bool // ports of other tasks
}

// Of is the environment of a task's run: what is inherited, then what the runner
// proposes where nobody decided, then what the task sets, then the GPU. It notes the
// port of a task of several GPUs.
func Of(e *backlog.Entry, o *Options) ([]string, error) {
	env := slices.Concat(o.Base, e.Env)
	propose := func(name, value string) {
		if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			env = append(env, name+"="+value)
		}
	}
	threads := strconv.Itoa(cmp.Or(e.Task.CPUs, o.Threads))
	for _, name := range threadVariables {
		propose(name, threads)
	}
	propose(python, "1")
	gang(e, o.Taken, propose)
	env = append(env,
		task+"="+e.Task.ID,
		number+"="+strconv.Itoa(e.Runs),
		restart+"="+e.Stem()+supervise.RestartEnd,
		stops+"="+strconv.Itoa(e.Stops),
		supervise.Mark(e.Stem()))
	device, err := device(e, o)
	return last(append(env, device...)), err
}

// device makes the task see its GPU alone, through MPS if that is how it is
// shared.
func device(e *backlog.Entry, o *Options) ([]string, error) {
	if e.Mechanism != profile.MPS {
		return []string{Visible + "=" + e.On()}, nil
	}
	return mps.Share{Device: e.GPU, Memory: e.Reserved, PipeDir: o.PipeDir, Threads: o.SMs}.Env()
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

const firstPort = 29500 // where PyTorch looks for the first of several processes

// gang lets the processes of a task of several GPUs find each other, apart from
// those of other tasks.
func gang(e *backlog.Entry, taken map[int]bool, propose func(name, value string)) {
	if e.Task.Width() == 1 {
		return
	}
	if e.Port = supervise.FreePort(firstPort, taken); e.Port == 0 {
		return
	}
	port := strconv.Itoa(e.Port)
	propose("MASTER_ADDR", "127.0.0.1")
	propose("MASTER_PORT", port)
	propose("PET_MASTER_PORT", port) // torchrun's
}
