package slurm

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// record is what was submitted and predicted.
type record struct {
	// Sweep is the name of the file whose tasks these are; empty where an earlier version wrote it.
	Sweep string `json:"sweep,omitempty"`
	Sets  []set  `json:"sets"`
}

// set is the tasks that share one GPU.
type set struct {
	GPU       string            `json:"gpu"`
	Product   string            `json:"product"`
	Mechanism profile.Mechanism `json:"mechanism"`
	Members   []member          `json:"members"`
	// Pinned says that the jobs named the GPU; else Slurm may have chosen another.
	Pinned bool `json:"pinned,omitempty"`
	// Sent is when it was given to Slurm.
	Sent time.Time `json:"sent,omitzero"`
	// Learned says that watch has learned from it: nothing counts twice.
	Learned bool `json:"learned,omitempty"`
}

// member is one task of a set; Job is 0 for a resident that another submission
// brought there.
type member struct {
	Task  string           `json:"task"`
	Job   site.JobID       `json:"job,omitempty"`
	Speed predict.Estimate `json:"speed"`
	// Reserved is what was set aside for it, Peak the most that it was seen to use.
	Reserved profile.Bytes `json:"reserved_bytes,omitempty"`
	Peak     profile.Bytes `json:"peak_bytes,omitempty"`
	// End is how it ended, once that is known for good: Slurm forgets.
	End fate `json:"end,omitempty"`
	// Taken says that the job is about to be taken out of Slurm's queue, to be planned
	// anew, Gone that it was, and never ran.
	Taken bool `json:"taken,omitempty"`
	Gone  bool `json:"gone,omitempty"`
	// Doubt says that it was given to Slurm, and that nobody heard under which number,
	// or whether it arrived.
	Doubt bool `json:"doubt,omitempty"`
}

// sent notes under which numbers the last set was submitted; err is what stopped it.
// What was submitted of a set that was stopped is taken back.
func (r *record) sent(ids map[string]site.JobID, err error) {
	s := &r.Sets[len(r.Sets)-1]
	for i := range s.Members {
		m := &s.Members[i]
		if id := ids[m.Task]; id != 0 {
			m.Job, m.Doubt, m.Taken = id, false, err != nil
		}
		m.Doubt = m.Doubt && errors.Is(err, site.ErrNoCluster)
	}
	if !slices.ContainsFunc(s.Members, func(m member) bool { return m.Doubt || m.Job != 0 }) {
		r.Sets = r.Sets[:len(r.Sets)-1]
	}
}

// withdrew reports whether a job was taken out of the queue.
func (r *record) withdrew(id site.JobID) bool {
	return slices.ContainsFunc(r.Sets, func(s set) bool {
		return slices.ContainsFunc(s.Members, func(m member) bool { return m.Gone && m.Job == id })
	})
}

// doubtful is the member of which nobody knows whether it was submitted; nil if there
// is none of that task.
func (r *record) doubtful(task string) *member {
	for i := range r.Sets {
		for k := range r.Sets[i].Members {
			if m := &r.Sets[i].Members[k]; m.Doubt && m.Task == task {
				return m
			}
		}
	}
	return nil
}

// learned is how many sets have been learned from.
func (r *record) learned() int {
	n := 0
	for _, s := range r.Sets {
		if s.Learned {
			n++
		}
	}
	return n
}

// tasks are those that each job runs, in the order of its script.
func (r *record) tasks() map[site.JobID][]string {
	all := make(map[site.JobID][]string)
	for m := range r.members() {
		all[m.Job] = append(all[m.Job], m.Task)
	}
	return all
}

// members are those with a job of their own, in the order in which they were submitted.
func (r *record) members() iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for i := range r.Sets {
			for k := range r.Sets[i].Members {
				if m := &r.Sets[i].Members[k]; m.Job != 0 && !m.Gone && !yield(m) {
					return
				}
			}
		}
	}
}

// lessons are what the record tells of the memory that tasks need.
type lessons struct {
	peaks map[string]profile.Bytes // the most that one of a kind was seen to use
	had   map[string]profile.Bytes // what was set aside for a task the last time
	died  map[string][]death       // of a task, for want of more
}

// death is that a task ran out of memory on a product, and what it had or used there.
type death struct {
	product string
	had     profile.Bytes
}

// lessons reads what is known of the tasks of a sweep.
func (r *record) lessons(s *sweep) *lessons {
	told := &lessons{make(map[string]profile.Bytes), make(map[string]profile.Bytes), make(map[string][]death)}
	for i := range r.Sets {
		for _, m := range r.Sets[i].Members {
			e := s.byID[m.Task]
			if e == nil || m.Job == 0 || m.Gone {
				continue
			}
			told.had[m.Task] = m.Reserved
			if e.Kind != "" && m.Peak > 0 {
				told.peaks[e.Kind] = max(told.peaks[e.Kind], m.Peak)
			}
			if m.End == starved {
				told.died[m.Task] = append(told.died[m.Task], death{r.Sets[i].Product, max(m.Reserved, m.Peak)})
			}
		}
	}
	return told
}

func readRecord(r io.Reader) (*record, error) {
	var rec record
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&rec)
	return &rec, err
}
