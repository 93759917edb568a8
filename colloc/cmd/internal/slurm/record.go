package slurm

import (
	"encoding/json"
	"io"
	"slices"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// record is what was submitted and predicted.
type record struct {
	Sets []set `json:"sets"`
}

// set is the tasks that share one GPU.
type set struct {
	GPU       string            `json:"gpu"`
	Product   string            `json:"product"`
	Mechanism profile.Mechanism `json:"mechanism"`
	Members   []member          `json:"members"`
	// Pinned says that the jobs named the GPU; else Slurm may have chosen another.
	Pinned bool `json:"pinned,omitempty"`
	// Learned says that watch has learned from it: nothing counts twice.
	Learned bool `json:"learned,omitempty"`
}

// member is one task of a set; Job is 0 for a resident that another submission
// brought there.
type member struct {
	Task  string           `json:"task"`
	Job   site.JobID       `json:"job,omitempty"`
	Speed predict.Estimate `json:"speed"`
}

// add appends the sets that were submitted.
func (r *record) add(out *outline, ids map[string]site.JobID) {
	placements := out.plan.Placements
	for _, queued := range out.queued {
		placements = slices.Concat(placements, queued.Placements)
	}
	for _, pl := range placements {
		n := set{GPU: pl.GPU, Product: out.gpus[pl.GPU].Name, Mechanism: pl.Mechanism, Pinned: out.pinned[pl.GPU]}
		submitted := false
		for _, m := range pl.Members {
			id := ids[m.Task]
			submitted = submitted || id != 0
			n.Members = append(n.Members, member{Task: m.Task, Job: id, Speed: m.Speed})
		}
		if submitted {
			r.Sets = append(r.Sets, n)
		}
	}
}

// tasks are those that each job runs, in the order of its script.
func (r *record) tasks() map[site.JobID][]string {
	all := make(map[site.JobID][]string)
	for _, s := range r.Sets {
		for _, m := range s.Members {
			if m.Job != 0 {
				all[m.Job] = append(all[m.Job], m.Task)
			}
		}
	}
	return all
}

func readRecord(r io.Reader) (*record, error) {
	var rec record
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&rec)
	return &rec, err
}
