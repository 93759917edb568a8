package slurm

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// CommentPrefix marks the jobs of colloc.
const CommentPrefix = "colloc:"

// Comment returns the comment of a job that runs these tasks of a sweep, for
// [TasksOf] and [SweepOf]: "colloc:SWEEP:TASK,TASK", each escaped as in a URL's
// query. Tasks of no sweep are "colloc:TASK,TASK".
func Comment(sweep string, tasks ...string) string {
	escaped := make([]string, len(tasks))
	for i, t := range tasks {
		escaped[i] = url.QueryEscape(t)
	}
	if sweep != "" {
		sweep = url.QueryEscape(sweep) + ":"
	}
	return CommentPrefix + sweep + strings.Join(escaped, ",")
}

// TasksOf returns the tasks that a job runs, as its [Comment] says; nil if it
// says nothing of the kind. Anybody can write a comment: look at the job's User,
// too.
func TasksOf(j *site.JobInfo) []string {
	_, tasks := readComment(j.Comment)
	return tasks
}

// SweepOf returns the sweep whose tasks a job runs; empty if its comment names
// none.
func SweepOf(j *site.JobInfo) string {
	sweep, _ := readComment(j.Comment)
	return sweep
}

func readComment(comment string) (sweep string, tasks []string) {
	list, ok := strings.CutPrefix(comment, CommentPrefix)
	if !ok {
		return "", nil
	}
	if before, after, named := strings.Cut(list, ":"); named {
		var err error
		if sweep, err = url.QueryUnescape(before); err != nil || sweep == "" {
			return "", nil
		}
		list = after
	}
	for escaped := range strings.SplitSeq(list, ",") {
		task, err := url.QueryUnescape(escaped)
		if err != nil || task == "" {
			return "", nil
		}
		tasks = append(tasks, task)
	}
	return sweep, tasks
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
	// Reserved is the device memory that the plan sets aside for it.
	Reserved profile.Bytes `json:"reserved_bytes"`
}

// PlaceOptions says what a plan does not. The zero value, or nil, is the
// documented default.
type PlaceOptions struct {
	// Sweep is whose tasks they are, for the jobs' [Comment]; empty is none.
	Sweep string
	// Busy is how busy a task keeps a GPU that it has alone, in [0, 1]. Shares
	// of gres/mps are percentages of the multiprocessors, and are divided in
	// this proportion; if it is nil, or not known of one of a set, equally.
	Busy func(task string) profile.Opt[float64]
}

// Place turns a plan into one request per task that it places: the node, the
// GPU by its type where the site pins types, and a number of shares, at least 1:
// shards in proportion to the memory that the plan reserves, mps as
// [PlaceOptions].Busy says. The shares of a
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
// the set has members, for a set on a GPU that the site does not share, and for a
// task of several GPUs.
// O(members + devices).
func Place(plan *colloc.Plan, devices []site.Device, o *PlaceOptions) ([]Placed, error) {
	if o == nil {
		o = &PlaceOptions{}
	}
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
		if len(p.Gang) > 0 {
			return nil, fmt.Errorf("slurm: place: task %q takes %d GPUs at once: submit it by itself, as a job that asks for them", p.Members[0].Task, len(p.Gang))
		}
		d, ok := at[p.GPU]
		if !ok {
			return nil, fmt.Errorf("slurm: place: the plan uses GPU %q, which the cluster does not have: read its state anew and plan again", p.GPU)
		}
		shares, err := divide(p, d, o.weights(p, d))
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
			placed = append(placed, Placed{Task: m.Task, GPU: p.GPU, Pinned: d.Pinned, Reserved: m.Reserved, Request: script.Request{
				Name: url.QueryEscape(m.Task), Comment: Comment(o.Sweep, m.Task),
				NodeList: d.Node, Nodes: 1, TasksPerNode: 1, Gres: []site.Gres{gres},
			}})
		}
	}
	return placed, nil
}

// divide splits a GPU's free shares among the new members of a set; 0 is the
// whole GPU.
func divide(p *colloc.Placement, d *site.Device, weight []float64) ([]int, error) {
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
		total += weight[k]
		if largest < 0 || weight[k] > weight[largest] {
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
			shares[k] = 1 + int(float64(free-wanted)*weight[k]/total)
			left -= shares[k]
		}
	}
	shares[largest] += left // what rounding left over
	return shares, nil
}

// weights are the members' parts of a GPU, each more than nothing: of its memory,
// or of its multiprocessors.
func (o *PlaceOptions) weights(p *colloc.Placement, d *site.Device) []float64 {
	w := make([]float64, len(p.Members))
	for k, m := range p.Members {
		w[k] = float64(max(m.Reserved, profile.MiB))
	}
	if d.Share != "mps" {
		return w
	}
	for k, m := range p.Members {
		w[k] = 0
		if o.Busy != nil && !m.Resident {
			busy, known := o.Busy(m.Task).Get()
			w[k] = busy
			if !known || !(busy >= 0 && busy <= 1) {
				return slices.Repeat([]float64{1}, len(w))
			}
		}
		w[k] = max(w[k], 0.01)
	}
	return w
}
