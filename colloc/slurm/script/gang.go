package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/enum"
)

// Launcher is what starts the processes of a gang.
type Launcher int

const (
	// Torchrun lets PyTorch's torchrun start them. A Command is then what
	// follows torchrun's own options: the training program and its arguments.
	Torchrun Launcher = iota
	// Ranks lets srun start them. Each finds RANK, LOCAL_RANK, WORLD_SIZE,
	// LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT set, as under torchrun.
	Ranks
	// PerNode lets srun start one process on each node, with all of the job's
	// GPUs there: for programs that start their own, such as accelerate, deepspeed
	// or one process for all GPUs. Each finds NNODES, NODE_RANK, MASTER_ADDR and
	// MASTER_PORT set.
	PerNode
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var launchers = enum.Of("script: launcher", "torchrun", "ranks", "node")

// String returns "torchrun", "ranks" or "node".
func (l Launcher) String() string { return launchers.Text(int(l)) }

// MarshalText writes what String returns; an undefined value is an error.
func (l Launcher) MarshalText() ([]byte, error) { return launchers.Marshal(int(l)) }

// UnmarshalText reads what String returns; the error says what there is.
func (l *Launcher) UnmarshalText(text []byte) error { return enum.Parse(launchers, text, l) }

// Gang is one task that runs on several GPUs at once.
type Gang struct {
	// Task is the program. Its CPUs and Memory are those on one node.
	Task Task
	// Nodes is the number of nodes; 0 means 1. GPUs is the number on each, at
	// least 1.
	Nodes int
	GPUs  int
	// Launcher starts its processes.
	Launcher Launcher
}

// Distributed returns a job for a task on several GPUs, on one node or on many:
// data-parallel training with PyTorch or anything that reads the same
// variables. On many nodes the processes meet at the first of them, on a port
// that follows from the job's number, so that jobs which share a node do not
// collide. Choose nodes by [Request].Constraint and the type in Gres.
//
// When a process ends with an error, so does the whole gang. Signals, exit codes
// and the log are as for [Shared]. It returns an error that joins every fault.
func Distributed(g Gang, o *Options) (Job, error) {
	opt := o.defaults()
	g.Nodes = max(g.Nodes, 1)
	need := Request{
		Nodes: g.Nodes, TasksPerNode: 1, CPUsPerTask: g.Task.cpus(), Memory: g.Task.Memory,
		Gres: []site.Gres{{Name: "gpu", Count: g.GPUs}},
	}
	if g.Launcher == Ranks {
		need.TasksPerNode, need.CPUsPerTask = g.GPUs, max(1, g.Task.cpus()/max(1, g.GPUs))
	}
	request, err := finish(&opt, need, checkTasks([]Task{g.Task}), g.check())
	if err != nil {
		return Job{}, err
	}
	b := &body{options: &opt, gang: true}
	b.head(fmt.Sprintf("One task on %d x %d GPUs.", g.Nodes, g.GPUs), true, false)
	r := role{threads: max(1, g.Task.cpus()/g.GPUs)}
	b.printf("%s", g.meet())
	switch g.Launcher {
	case Ranks:
		r.prelude = fmt.Sprintf(gangRank, g.GPUs)
	case PerNode:
		r = role{threads: g.Task.cpus(), prelude: fmt.Sprintf(gangNode, g.Nodes)}
	default:
		r.command = g.torchrun()
	}
	b.function(&g.Task, r)
	b.printf("\n")
	b.logs([]Task{g.Task})
	b.start(&g.Task, 0, "step task_0 '' "+g.srun(&request))
	b.tail()
	return Job{Request: request, Body: b.text.String()}, nil
}

func (g *Gang) check() error {
	var errs []error
	if g.Nodes > maxCount || g.GPUs < 1 || g.GPUs > maxCount {
		errs = append(errs, fmt.Errorf("slurm: gang: %d nodes with %d GPUs each, want at least 1 of each", g.Nodes, g.GPUs))
	}
	if g.Launcher < Torchrun || g.Launcher > PerNode {
		errs = append(errs, fmt.Errorf("slurm: gang: launcher %d is none", g.Launcher))
	}
	if g.Task.GPUs != 0 {
		errs = append(errs, errors.New("slurm: gang: the task's GPUs must be 0: the gang says how many"))
	}
	return errors.Join(errs...)
}

const (
	// gangMeet tells all processes where to meet. The port is below those that
	// Linux gives to outgoing connections.
	gangMeet = `
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST") || exit 1
export MASTER_ADDR=${MASTER_ADDR%%$'\n'*}
export MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
`
	gangRank = `  export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS LOCAL_WORLD_SIZE=%d
`
	gangNode = `  export NODE_RANK=$SLURM_NODEID NNODES=%d
`
)

// meet is empty where torchrun finds a place by itself.
func (g *Gang) meet() string {
	if g.Nodes == 1 && g.Launcher == Torchrun {
		return ""
	}
	return gangMeet
}

// torchrun returns the command of one node. Old versions know its options with
// underscores only.
func (g *Gang) torchrun() string {
	meet := "--standalone"
	if g.Nodes > 1 {
		meet = `--rdzv_backend=c10d --rdzv_id="$SLURM_JOB_ID" --rdzv_endpoint="$MASTER_ADDR:$MASTER_PORT"`
	}
	return fmt.Sprintf("torchrun --nnodes=%d --nproc_per_node=%d %s %s", g.Nodes, g.GPUs, meet, quoteAll(g.Task.Command))
}

func (g *Gang) srun(r *Request) string {
	args := []string{
		"--nodes=" + strconv.Itoa(g.Nodes), "--ntasks=" + strconv.Itoa(g.Nodes*r.TasksPerNode),
		"--ntasks-per-node=" + strconv.Itoa(r.TasksPerNode), "--cpus-per-task=" + strconv.Itoa(r.CPUsPerTask),
		"--kill-on-bad-exit=1",
	}
	if gres, err := gresList(r.Gres); err == nil && gres != "" {
		args = append(args, "--gres="+gres)
	}
	return strings.Join(args, " ")
}
