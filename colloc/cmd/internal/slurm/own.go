package slurm

import (
	"fmt"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

const ownPrefix = "own/" // of what stands for the GPUs of such jobs in the record

// apartFrom writes the jobs of the tasks that have GPUs of their own, for Slurm's queue,
// and returns the others.
func (s *sweep) apartFrom(out *outline, pending []colloc.Task) []colloc.Task {
	var rest []colloc.Task
	var steps []script.Task
	for _, t := range pending {
		e := s.byID[t.ID]
		run := s.run(e)
		switch {
		case !s.ownGPUs(e):
			rest = append(rest, t)
		case s.Steps:
			run.GPUs = max(1, e.GPUs)
			steps = append(steps, run)
		default:
			s.gang(out, run, max(1, e.GPUs))
		}
	}
	s.allocate(out, steps)
	return rest
}

// holds reports why no node can hold so much at once; empty if one can.
func (s *sweep) holds(gpus, cpus int, memory profile.Bytes) string {
	if k := s.kind; gpus > k.PerNode || cpus > k.CPUs || memory > k.Memory {
		return fmt.Sprintf("asks for %d GPUs, %d CPUs and %v on one node: no node that suits has more than %d, %d and %v", gpus, cpus, memory, k.PerNode, k.CPUs, k.Memory)
	}
	return ""
}

// gang writes the job of a task of several GPUs on each of its nodes.
func (s *sweep) gang(out *outline, t script.Task, gpus int) {
	why := s.holds(gpus, max(1, t.CPUs), t.Memory)
	if why == "" && s.Nodes > s.kind.Nodes {
		why = fmt.Sprintf("asks for %d nodes: %d suit", s.Nodes, s.kind.Nodes)
	}
	if why != "" {
		out.refused = append(out.refused, refusal{t.Name, why})
		return
	}
	g := script.Gang{Task: t, Nodes: max(1, s.Nodes), GPUs: gpus, Launcher: s.Launcher()}
	o := s.options(s.asks(t.Name), t)
	job, err := script.Distributed(g, o)
	s.add(out, job, err, t)
}

// allocate writes allocations of one node in which the tasks are private steps: as many
// tasks in each as a node has room for.
func (s *sweep) allocate(out *outline, tasks []script.Task) {
	total := func(list []script.Task) (gpus, cpus int, memory profile.Bytes) {
		for _, t := range list {
			gpus, cpus, memory = gpus+t.GPUs, cpus+max(1, t.CPUs), memory+t.Memory
		}
		return gpus, cpus, memory
	}
	var bins [][]script.Task
	for _, t := range tasks {
		if why := s.holds(total([]script.Task{t})); why != "" {
			out.refused = append(out.refused, refusal{t.Name, why})
			continue
		}
		i := slices.IndexFunc(bins, func(b []script.Task) bool { return s.holds(total(append(slices.Clone(b), t))) == "" })
		if i < 0 {
			i, bins = len(bins), append(bins, nil)
		}
		bins[i] = append(bins[i], t)
	}
	for _, b := range bins {
		var names []string
		for _, t := range b {
			names = append(names, t.Name)
		}
		job, err := script.Steps(b, s.options(s.asks(names...), b...))
		s.add(out, job, err, b...)
	}
}

// asks is what such a job asks for beside what follows from its tasks: the kind of GPU.
func (s *sweep) asks(tasks ...string) script.Request {
	return script.Request{Name: "own", Comment: slurm.Comment(s.name, tasks...), Gres: []site.Gres{{Name: "gpu", Type: s.kind.Type}}}
}

// add takes a job into the plan, or says why it cannot be written.
func (s *sweep) add(out *outline, j script.Job, err error, tasks ...script.Task) {
	p := colloc.Placement{GPU: fmt.Sprint(ownPrefix, len(out.own)), Mechanism: profile.Exclusive}
	var names []string
	for _, t := range tasks {
		names = append(names, t.Name)
		p.Members = append(p.Members, colloc.Member{Task: t.Name, Speed: predict.Estimate{Value: 1, Lo: 1, Hi: 1}})
		if err != nil {
			out.refused = append(out.refused, refusal{t.Name, err.Error()})
		}
	}
	if err == nil {
		out.own = append(out.own, p)
		out.jobs = append(out.jobs, job{Job: j, tasks: names, gpu: p.GPU})
	}
}
