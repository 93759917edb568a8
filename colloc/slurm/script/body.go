package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/profile"
)

// body writes the program of one script, part by part in the order of a script.
type body struct {
	text    strings.Builder
	options *Options
	tasks   int  // functions written so far
	gang    bool // one task, on nodes that share no folder
}

func (b *body) printf(format string, args ...any) { fmt.Fprintf(&b.text, format, args...) }

// head opens the script. What is in about goes into a comment.
func (b *body) head(about string, steps, mps bool) {
	b.printf("# %s\n# Written by colloc. Exit code: 143 after TERM, else that of the first task that failed.\n", about)
	b.printf("# shellcheck disable=SC2016,SC2317 # arguments are meant as they are; start calls the functions\n")
	if b.options.Setup != "" {
		b.printf("\n%s%s\n%s", setupHead, strings.TrimRight(b.options.Setup, "\n"), setupTail)
	}
	pass, quit := passGroups, ""
	if steps {
		pass = passSteps
	}
	if mps {
		quit = "  quit\n"
	}
	if b.scratch() {
		quit += "  rm -rf -- \"${scratch?}\"\n"
	}
	caught := []string{"USR1"} // anybody may send it
	if warning := b.options.Request.signal(); !slices.Contains([]string{"USR1", "INT", "TERM"}, warning) {
		caught = append(caught, warning)
	}
	var traps strings.Builder
	for _, s := range caught {
		fmt.Fprintf(&traps, "trap 'pass %s 0' %[1]s\n", s)
	}
	b.printf(frameHead, pass, quit, strings.Join(caught, " ")+" INT TERM", traps.String())
	if b.scratch() {
		b.printf("\nscratch=$(mktemp -d %s/colloc.XXXXXX) || exit 1\nexport scratch\n", path(b.options.Scratch))
	}
	if mps {
		b.printf("%s", frameMPS)
	}
	if steps {
		b.printf("%s", frameStep)
	}
}

// logs sets where the logs of tasks go that name none.
func (b *body) logs(tasks []Task) {
	if !slices.ContainsFunc(tasks, func(t Task) bool { return t.Log == "" }) {
		return
	}
	dir := path(b.options.LogDir)
	if b.options.LogDir == "" {
		dir = "."
	} else {
		b.printf("mkdir -p -- %s || exit 1\n", dir)
	}
	b.printf("logs=%s/${SLURM_JOB_ID:-0}\n", dir)
}

// scratch reports whether the tasks get folders of their own.
func (b *body) scratch() bool { return b.options.Scratch != "" && !b.gang }

// tail waits for the tasks and ends the script.
func (b *body) tail() {
	b.printf("%s", frameTail)
}

// role is how a task takes part in a script.
type role struct {
	gpu     bool // the first argument of its function is its GPU
	shared  bool // others are on the same GPU
	mps     bool
	threads int    // for numeric libraries, in each process
	prelude string // code before the program starts
	command string // instead of the task's own
}

// function writes the shell function that becomes the task.
func (b *body) function(t *Task, r role) {
	name := "task_" + strconv.Itoa(b.tasks)
	b.tasks++
	b.printf("\n%s() { # %s\n", name, label(t.Name))
	if r.gpu {
		b.printf("  export CUDA_VISIBLE_DEVICES=$1\n")
	}
	n := strconv.Itoa(r.threads)
	b.printf("  export OMP_NUM_THREADS=%s MKL_NUM_THREADS=%s OPENBLAS_NUM_THREADS=%s NUMEXPR_NUM_THREADS=%s\n", n, n, n, n)
	b.limits(t, r)
	if b.options.Group != "" {
		group := quote(b.options.Group)
		b.printf("  export COLLOC_TASK=%s COLLOC_GROUP=%s WANDB_RUN_GROUP=%s\n", quote(t.Name), group, group)
	}
	if b.scratch() {
		b.printf("  export COLLOC_SCRATCH=$scratch/%d TMPDIR=$scratch/%d\n  mkdir -p -- \"$TMPDIR\" || exit 1\n", b.tasks-1, b.tasks-1)
	}
	b.printf("%s", r.prelude)
	for _, pair := range t.Env {
		key, value, _ := strings.Cut(pair, "=")
		if slices.Contains(frameArrays, key) {
			b.printf("  unset -v %s\n", key)
		}
		b.printf("  export %s=%s\n", key, quote(value))
	}
	if t.Dir != "" {
		b.printf("  cd -- %s || exit 1\n", path(t.Dir))
	}
	command := r.command
	if command == "" {
		command = quoteAll(t.Command)
	}
	b.printf("  exec -- %s\n}\n", command)
}

// limits tells a task, and under MPS the driver, how much of the GPU is its own.
func (b *body) limits(t *Task, r role) {
	mib := int64(t.GPUMemory / profile.MiB)
	if mib > 0 {
		b.printf("  export COLLOC_GPU_MEMORY_MIB=%d\n", mib)
	}
	if r.shared {
		b.printf("  export TF_FORCE_GPU_ALLOW_GROWTH=true XLA_PYTHON_CLIENT_PREALLOCATE=false\n")
	}
	if r.mps && mib > 0 {
		b.printf("  export CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%dM\n", mib)
	}
}

// start writes the line that runs a command in the background: a task's
// function, or the job step that runs it.
func (b *body) start(t *Task, ordinal int, command string) {
	log := path(t.Log)
	if t.Log == "" {
		log = `"$logs"` + quote(fmt.Sprintf("-%d-%s.log", ordinal, fileName(t.Name)))
	}
	b.printf("start %s %s %s\n", log, quote(t.Name), command)
}
