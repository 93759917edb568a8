package sizing

import (
	"math"
	"strings"
	"time"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/profile"
)

// Need is a task for which resources are sought. Only Scaling is required.
type Need struct {
	// Scaling is how fast the task ran on one or more GPUs, see
	// [advise.ChooseGPUs], which also explains MinGain. A type may be named as
	// the site does or in any way that [profile.LookupGPU] knows; without a name
	// it stands for any.
	Scaling []advise.ScalingPoint
	MinGain float64
	// Work is how much there is to do, in the unit of throughput times seconds:
	// samples, if that is in samples per second. 0 is unknown: then the job asks
	// for no time limit.
	Work float64
	// GPUMemory is what the task allocates on each GPU; 0 is unknown.
	GPUMemory profile.Bytes
	// CPUs and Memory are what the host must give for each GPU; 0 is the GPU's
	// share of the node.
	CPUs   int
	Memory profile.Bytes
	// Partition is the only one to consider; empty is any.
	Partition string
}

// Because is the reason for one thing that is asked for.
type Because struct {
	// Option is the one of sbatch that it explains, "gres" for example; empty if
	// it is about the whole.
	Option string `json:"option,omitempty"`
	// Text is the reason, for people.
	Text string `json:"text"`
}

// Advice is what to ask Slurm for, and why.
type Advice struct {
	// Request is complete but for names: account, job and files.
	Request script.Request `json:"request"`
	// GPU is the type, as the site names it, GPUs how many on all nodes.
	GPU  string `json:"gpu,omitempty"`
	GPUs int    `json:"gpus"`
	// Expected is how long the work takes; 0 is unknown.
	Expected time.Duration `json:"expected_ns,omitempty"`
	// Reasons explain the options, in the order of the header, then the whole.
	Reasons []Because `json:"reasons"`
}

// String returns the header for sbatch, with each option's reason above it and
// the other reasons first.
func (a *Advice) String() string {
	options, err := a.Request.Args()
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, r := range a.Reasons {
		if r.Option == "" {
			b.WriteString("# " + r.Text + "\n")
		}
	}
	for _, o := range options {
		name, _, _ := strings.Cut(strings.TrimPrefix(o, "--"), "=")
		for _, r := range a.Reasons {
			if r.Option == name {
				b.WriteString("# " + r.Text + "\n")
			}
		}
		b.WriteString("#SBATCH " + o + "\n")
	}
	return b.String()
}

// lasts returns work over throughput, at most the longest Duration.
func lasts(work, throughput float64) time.Duration {
	s := work / throughput
	if !(s < math.MaxInt64/1e9) {
		return math.MaxInt64
	}
	return time.Duration(s * 1e9)
}
