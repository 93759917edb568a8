package sizing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

const (
	// timeSlack is how much longer than expected the limit is: a job that runs
	// into it has lost its work, one that ends early costs nothing.
	timeSlack = 1.5
	// timeStep is what limits are rounded up to.
	timeStep = 15 * time.Minute
	// timeMost is the most that is asked for where the site has no limit: a year.
	timeMost = 365 * 24 * time.Hour
	// warning is how long before the limit a job that cannot finish is told.
	warning = 5 * time.Minute
	// poorScaling is the efficiency below which communication limits, even if
	// another GPU would still pay.
	poorScaling = 0.8
)

// advice writes down what was found.
func (a *advisor) advice() *Advice {
	w := &a.best
	r := &Advice{GPU: w.node.GPU, GPUs: w.nodes * w.gpus}
	r.Request = script.Request{Partition: w.partition.Name, Nodes: w.nodes, TasksPerNode: 1, Gres: []site.Gres{{Name: "gpu", Type: w.node.GPU, Count: w.gpus}}}
	partition := "the first that has these GPUs"
	switch {
	case a.need.Partition != "":
		partition = "as asked"
	case w.partition.Default:
		partition = "the default"
	}
	r.because("partition", "partition %s: %s", w.partition.Name, partition)
	a.constrain(r)
	nodes := "one node: no network between the GPUs"
	if w.nodes > 1 {
		nodes = fmt.Sprintf("%d nodes: one has %d GPUs, %d CPUs and %v", w.nodes, w.node.GPUs, w.node.CPUs, w.node.Memory)
	}
	r.because("nodes", "%s", nodes)
	a.cpus(r)
	a.memory(r)
	a.gpus(r)
	a.time(r)
	a.limits(r)
	return r
}

func (a *Advice) because(option, format string, args ...any) {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ") // one line, whatever types are called
	a.Reasons = append(a.Reasons, Because{Option: option, Text: text})
}

// constrain keeps the job off nodes in the partition that --gres cannot tell
// apart from the chosen ones but whose GPUs are others.
func (a *advisor) constrain(r *Advice) {
	w := &a.best
	var wrong []*site.NodeType
	for i := range a.cluster.Nodes {
		n := &a.cluster.Nodes[i]
		sameGres := n.GPUs > 0 && (w.node.GPU == "" || n.GPU == w.node.GPU)
		if sameGres && slices.Contains(n.Partitions, w.partition.Name) && (product(n) != product(w.node) || gpuMemory(n) != gpuMemory(w.node)) {
			wrong = append(wrong, n)
		}
	}
	if len(wrong) == 0 {
		return
	}
	for _, f := range w.node.Features {
		if !slices.ContainsFunc(wrong, func(n *site.NodeType) bool { return slices.Contains(n.Features, f) }) {
			r.Request.Constraint = f
			r.because("constraint", "constraint %s: the partition has other GPUs under the same name, %v instead of %v", f, gpuMemory(wrong[0]), gpuMemory(w.node))
			return
		}
	}
	r.because("", "no feature tells these nodes from others in the partition whose GPUs have %v instead of %v: the job may get those", gpuMemory(wrong[0]), gpuMemory(w.node))
}

// cpus asks for each GPU's share of the node.
func (a *advisor) cpus(r *Advice) {
	w := &a.best
	each, why := max(1, w.node.CPUs/w.node.GPUs), fmt.Sprintf("the GPU's share of %d on the node", w.node.CPUs)
	if a.need.CPUs > 0 {
		each, why = a.need.CPUs, "as asked"
	}
	r.Request.CPUsPerTask = min(each*w.gpus, w.node.CPUs)
	r.because("cpus-per-task", "%d CPUs for each GPU: %s", each, why)
}

func (a *advisor) memory(r *Advice) {
	w := &a.best
	each, why := w.node.Memory/profile.Bytes(w.node.GPUs)/profile.GiB*profile.GiB, fmt.Sprintf("the GPU's share of %v on the node", w.node.Memory)
	if a.need.Memory > 0 {
		each, why = a.need.Memory, "as asked"
	}
	if each == 0 {
		return
	}
	r.Request.Memory = each * profile.Bytes(w.gpus)
	r.because("mem", "%v for each GPU: %s", each, why)
}

// gpus explains number and kind.
func (a *advisor) gpus(r *Advice) {
	w := &a.best
	r.because("gres", "%s", a.choice)
	if total := gpuMemory(w.node); total > 0 && a.need.GPUMemory > 0 {
		r.because("gres", "device memory: %v are needed of %v", a.need.GPUMemory, total)
	} else {
		r.because("", "whether the task fits into device memory is not known")
	}
}

// time asks for a limit that the work will not reach.
func (a *advisor) time(r *Advice) {
	if a.need.Work == 0 {
		r.because("", "no time limit: how much work there is is not known; with one the job could start earlier, in a gap")
		return
	}
	r.Expected = lasts(a.need.Work, a.choice.Throughput)
	longest := timeMost
	if most := a.best.partition.MaxTime; most > 0 {
		longest = min(longest, most)
	}
	limit := time.Duration(min(float64(r.Expected)*timeSlack, float64(longest)))
	r.Request.Time = min((limit+timeStep-1)/timeStep*timeStep, longest)
	if r.Expected < longest {
		r.because("time", "expected %v, half as much again in reserve", r.Expected.Round(time.Second))
		return
	}
	r.Request.Requeue = true
	if longest > 2*warning {
		r.Request.Warn = warning
	}
	r.because("time", "expected %v, but %v is the limit: the task must write checkpoints and go on from them", r.Expected.Round(time.Second), longest)
}

// limits says what bounds the speed, as far as its scaling tells.
func (a *advisor) limits(r *Advice) {
	why := fmt.Sprintf("each of %d GPUs does %.0f %% of what one of the fewest does", a.choice.GPUs, 100*a.choice.Efficiency)
	switch {
	case len(a.points) > 1 && a.choice.Next > 0:
		why = fmt.Sprintf("beyond %d GPUs each more would add %.0f %%", a.choice.GPUs, 100*a.choice.NextGain)
	case len(a.points) < 2 || a.choice.Efficiency >= poorScaling:
		r.because("", "what limits the speed was not measured")
		return
	}
	r.because("", "communication-bound: %s; without a profile, slow input cannot be told from it", why)
}
