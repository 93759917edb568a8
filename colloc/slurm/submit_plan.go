package slurm

import (
	"fmt"
	"net/url"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

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
func TasksOf(j *site.JobInfo) []string {
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
	Request script.Request `json:"request"`
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
func Place(plan *colloc.Plan, devices []site.Device) ([]Placed, error) {
	at := make(map[string]*site.Device, len(devices))
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
			gres := site.Gres{Name: d.Share, Type: d.Type, Count: shares[k]}
			if shares[k] == 0 {
				gres = site.Gres{Name: "gpu", Type: d.Type, Count: 1}
			}
			placed = append(placed, Placed{Task: m.Task, GPU: p.GPU, Pinned: d.Pinned, Request: script.Request{
				Name: url.QueryEscape(m.Task), Comment: Comment(m.Task),
				NodeList: d.Node, Nodes: 1, TasksPerNode: 1, Gres: []site.Gres{gres},
			}})
		}
	}
	return placed, nil
}

// divide splits a GPU's free shares among the new members of a set; 0 is the
// whole GPU.
func divide(p *colloc.Placement, d *site.Device) ([]int, error) {
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
