package slurm

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// GPUOptions says how a Planner is to see the GPUs of a cluster. The zero value,
// or nil, is the documented default.
type GPUOptions struct {
	// Models names the product of a type, as [profile.LookupGPU] knows it:
	// {"a100": "A100-40GB"}. A type that is not listed is looked up by itself,
	// without the digits of a pinned one ("a100i3" is "a100"), and by the
	// node's features.
	Models map[string]string
	// Mechanisms are the allowed ways to share; nil is time-slicing for GPUs
	// with shards, MPS for those with mps, and none for others.
	Mechanisms []profile.Mechanism
	// Partition takes only the nodes of one partition; empty takes all.
	Partition string
	// Residents tells which task a running job is; nil knows none. A GPU with a
	// job that is not known is left out: nothing can be predicted for strangers.
	Residents func(*JobInfo) (colloc.Task, bool)
}

// GPUs returns those that a plan may use, ready for Planner.Plan: of nodes that
// take jobs, of a known product, with something left that no job has or waits
// for; the ID is that of [Device.ID]. The second result tells for each of the
// others why not.
func (s *State) GPUs(o *GPUOptions) ([]colloc.GPU, []Skipped) {
	if o == nil {
		o = &GPUOptions{}
	}
	nodes := make(map[string]*Node, len(s.Nodes))
	for i := range s.Nodes {
		nodes[s.Nodes[i].Name] = &s.Nodes[i]
	}
	var gpus []colloc.GPU
	var skipped []Skipped
	for _, d := range s.Devices() {
		node := nodes[d.Node]
		if o.Partition != "" && !slices.Contains(node.Partitions, o.Partition) {
			continue
		}
		gpu, why := s.gpu(&d, node, o)
		if why != "" {
			skipped = append(skipped, Skipped{GPU: d.ID(), Why: why})
			continue
		}
		gpus = append(gpus, gpu)
	}
	return gpus, skipped
}

// Skipped is a GPU that no plan can use, and why.
type Skipped struct {
	GPU string `json:"gpu"`
	Why string `json:"why"`
}

// gpu describes one device, or says why it cannot be used.
func (s *State) gpu(d *Device, n *Node, o *GPUOptions) (colloc.GPU, string) {
	model, ok := o.model(d.Type, n)
	switch {
	case !d.Up:
		return colloc.GPU{}, "the node takes no jobs: " + strings.Join(n.State, "+")
	case !ok:
		return colloc.GPU{}, fmt.Sprintf("no product is known as %q: name it in GPUOptions.Models", d.Type)
	case d.Unclear:
		return colloc.GPU{}, "Slurm does not tell which GPUs the node's jobs have"
	}
	gpu := colloc.GPU{ID: d.ID(), Model: model, Mechanisms: o.mechanisms(d)}
	for _, id := range d.Jobs {
		job := find(s.Jobs, id)
		var task colloc.Task
		known := false
		if o.Residents != nil && job != nil {
			task, known = o.Residents(job)
		}
		if !known {
			return colloc.GPU{}, fmt.Sprintf("job %d runs there, and which task that is is not known", id)
		}
		gpu.Residents = append(gpu.Residents, task)
	}
	switch {
	case d.Whole:
		return colloc.GPU{}, fmt.Sprintf("job %d has all of it", d.Jobs[0])
	case d.Share != "" && d.Free() == 0:
		return colloc.GPU{}, fmt.Sprintf("jobs %d have all of its shares", d.Jobs)
	case len(d.Waiting) > 0:
		return colloc.GPU{}, fmt.Sprintf("job %d waits for it", d.Waiting[0])
	}
	return gpu, ""
}

// model finds the product of a type.
func (o *GPUOptions) model(kind string, n *Node) (profile.GPUModel, bool) {
	base, pinned := strings.CutSuffix(strings.TrimRight(kind, "0123456789"), "i")
	if !pinned {
		base = kind
	}
	for _, k := range []string{kind, base} {
		if name, ok := o.Models[k]; ok {
			return profile.LookupGPU(name)
		}
	}
	for _, k := range append([]string{kind, base}, n.Features...) {
		if k == "" {
			continue
		}
		if m, ok := profile.LookupGPU(k); ok {
			return m, true
		}
	}
	return profile.GPUModel{}, false
}

func (o *GPUOptions) mechanisms(d *Device) []profile.Mechanism {
	switch {
	case o.Mechanisms != nil && d.Share != "":
		return o.Mechanisms
	case d.Share == "mps":
		return []profile.Mechanism{profile.MPS}
	case d.Share == "shard":
		return []profile.Mechanism{profile.TimeSlice}
	default:
		return []profile.Mechanism{profile.Exclusive}
	}
}

// commentPrefix marks the jobs of colloc; what follows is the tasks, escaped.
const commentPrefix = "colloc:"

// Comment returns the comment of a job that runs these tasks, for [TasksOf].
func Comment(tasks ...string) string {
	escaped := make([]string, len(tasks))
	for i, t := range tasks {
		escaped[i] = url.QueryEscape(t)
	}
	return commentPrefix + strings.Join(escaped, ",")
}

// TasksOf returns the tasks that a job runs, as its [Comment] says; nil if it
// says nothing of the kind.
func TasksOf(j *JobInfo) []string {
	list, ok := strings.CutPrefix(j.Comment, commentPrefix)
	if !ok {
		return nil
	}
	var tasks []string
	for escaped := range strings.SplitSeq(list, ",") {
		task, err := url.QueryUnescape(escaped)
		if err != nil || task == "" {
			return nil
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// Placed is one task of a plan and what its job has to ask for.
type Placed struct {
	// Task and GPU are their IDs in the plan.
	Task string `json:"task"`
	GPU  string `json:"gpu"`
	// Request asks for the task's share of that GPU. The caller adds the rest:
	// time, CPUs, host memory, partition.
	Request Request `json:"request"`
	// Pinned says that the request names the very GPU. Otherwise Slurm chooses
	// one of the node's GPUs of that type, and fills one before the next.
	Pinned bool `json:"pinned,omitempty"`
}

// Place turns a plan into one request per task that it places: the node, the
// GPU by its type where the site pins types, and a number of shares in
// proportion to the memory that the plan reserves, at least 1. The shares of a
// set are all that the GPU has left, so that nobody else joins it; a task that is
// to be alone gets the whole GPU. Residents get none: they run already.
//
// Slurm itself keeps to the shares, with one exception: when slurmctld 22.05
// restarts it forgets those of the jobs that run, and gives them away again. Jobs
// that are submitted for a GPU whose jobs still run should wait for those by
// [SubmitOptions].After.
//
// Every job carries a comment that [TasksOf] reads. It returns an error for a
// plan with a GPU that is not among the devices, or that has fewer shares than
// the set has members, and for a set on a GPU that the site does not share.
// O(members + devices).
func Place(plan *colloc.Plan, devices []Device) ([]Placed, error) {
	at := make(map[string]*Device, len(devices))
	for i := range devices {
		at[devices[i].ID()] = &devices[i]
	}
	if plan == nil {
		return nil, nil
	}
	var placed []Placed
	for i := range plan.Placements {
		p := &plan.Placements[i]
		d, ok := at[p.GPU]
		if !ok {
			return nil, fmt.Errorf("slurm: place: the plan uses GPU %q, which the cluster does not have: read its state anew and plan again", p.GPU)
		}
		shares, err := divide(p, d)
		if err != nil {
			return nil, err
		}
		for k, m := range p.Members {
			if m.Resident {
				continue
			}
			gres := Gres{Name: d.Share, Type: d.Type, Count: shares[k]}
			if shares[k] == 0 {
				gres = Gres{Name: "gpu", Type: d.Type, Count: 1}
			}
			placed = append(placed, Placed{Task: m.Task, GPU: p.GPU, Pinned: d.Pinned, Request: Request{
				Name: url.QueryEscape(m.Task), Comment: Comment(m.Task),
				NodeList: d.Node, Nodes: 1, TasksPerNode: 1, Gres: []Gres{gres},
			}})
		}
	}
	return placed, nil
}

// divide splits a GPU's free shares among the new members of a set; 0 is the
// whole GPU.
func divide(p *colloc.Placement, d *Device) ([]int, error) {
	shares := make([]int, len(p.Members))
	if len(p.Members) == 1 && (p.Mechanism == profile.Exclusive || d.Share == "") {
		return shares, nil
	}
	if d.Share == "" {
		return nil, fmt.Errorf("slurm: place: GPU %s is to be shared by %d tasks, but the site offers neither shard nor mps there", p.GPU, len(p.Members))
	}
	var total float64
	wanted, largest := 0, -1
	for k, m := range p.Members {
		if m.Resident {
			continue
		}
		wanted++
		total += weight(m)
		if largest < 0 || weight(m) > weight(p.Members[largest]) {
			largest = k
		}
	}
	free := d.Shares - d.Used
	if wanted > free {
		return nil, fmt.Errorf("slurm: place: GPU %s has %d free shares of %d for %d tasks", p.GPU, max(free, 0), d.Shares, wanted)
	}
	if wanted == 0 {
		return shares, nil
	}
	left := free
	for k, m := range p.Members {
		if !m.Resident {
			shares[k] = 1 + int(float64(free-wanted)*weight(m)/total)
			left -= shares[k]
		}
	}
	shares[largest] += left // what rounding left over
	return shares, nil
}

// weight is a member's part of the GPU: its reservation, and never nothing.
func weight(m colloc.Member) float64 { return float64(max(m.Reserved, profile.MiB)) }
