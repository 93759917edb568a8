package site

import (
	"strings"
	"time"

	"example.com/colloc/profile"
)

// jsonRecord is a job of sacct --json.
type jsonRecord struct {
	ID    number `json:"job_id"`
	Array struct {
		ID    number `json:"job_id"`
		Index number `json:"task_id"`
	} `json:"array"`
	Name    text `json:"name"`
	User    text `json:"user"`
	Account text `json:"account"`
	Comment struct {
		Job text `json:"job"`
	} `json:"comment"`
	Partition text `json:"partition"`
	State     struct {
		Current words `json:"current"`
		Reason  text  `json:"reason"`
	} `json:"state"`
	Nodes text `json:"nodes"`
	Time  struct {
		Submitted number `json:"submission"`
		Eligible  number `json:"eligible"`
		Elapsed   number `json:"elapsed"`
		Started   number `json:"start"`
		Ended     number `json:"end"`
		Limit     number `json:"limit"`
	} `json:"time"`
	Tres struct {
		Allocated []counted `json:"allocated"`
	} `json:"tres"`
	Steps []struct {
		Tres struct {
			// The names are Slurm's: what came in is "requested" here.
			Used struct {
				Most  []counted `json:"max"`
				Mean  []counted `json:"average"`
				Total []counted `json:"total"`
			} `json:"requested"`
		} `json:"tres"`
	} `json:"steps"`
	Exit     exitStatus `json:"exit_code"`
	Restarts number     `json:"restart_cnt"`
	Dir      text       `json:"working_directory"`
	Output   text       `json:"stdout_expanded"`
}

// counted is an amount of a trackable resource.
type counted struct {
	Type  text   `json:"type"`
	Name  text   `json:"name"`
	Count number `json:"count"`
}

// ParseAccounting reads what sacct --json prints, of Slurm 22.05 to 25.05. It
// knows how many GPUs or shares a job had, but not which. Asked is for all nodes
// together here. sacct of 22.05 prints exit code 0 for every job that was not
// killed by a signal: State tells whether it failed. Errors are those of
// [ParseJobs].
func ParseAccounting(data []byte) ([]JobInfo, error) {
	return parseJobs("accounting", data, (*jsonRecord).info)
}

func (r *jsonRecord) info() (JobInfo, error) {
	info := JobInfo{
		ID: JobID(r.ID.int64()), Array: JobID(r.Array.ID.int64()),
		Name: string(r.Name), User: string(r.User), Account: string(r.Account),
		Partition: string(r.Partition), Comment: string(r.Comment.Job),
		State: jobState(r.State.Current), Reason: reason(string(r.State.Reason)),
		Limit:     r.Time.Limit.minutes(),
		Submitted: r.Time.Submitted.time(), Started: r.Time.Started.time(), Ended: r.Time.Ended.time(),
		Restarts: r.Restarts.count(), Exit: r.Exit.code, Signal: r.Exit.signal,
		Output: string(r.Output), Dir: string(r.Dir),
	}
	if info.ID <= 0 {
		return info, errMissing("job_id")
	}
	if r.Array.Index.set && info.Array > 0 {
		info.Index = profile.Some(r.Array.Index.count())
	}
	for _, t := range r.Tres.Allocated {
		switch t.Type {
		case "cpu":
			info.CPUs = t.Count.count()
		case "mem":
			info.Memory = t.Count.mebibytes()
		case "gres":
			name, kind, _ := strings.Cut(string(t.Name), ":")
			info.Asked = append(info.Asked, Gres{Name: name, Type: kind, Count: t.Count.count()})
		}
	}
	info.Eligible, info.Elapsed = r.Time.Eligible.time(), time.Duration(r.Time.Elapsed.count())*time.Second
	gpus, _, _ := CountGPUs(info.Asked)
	var seen Used // where jobacct_gather watches GPUs
	for i := range r.Steps {
		u := &r.Steps[i].Tres.Used
		seen.Saw(used(u.Most), used(u.Mean), used(u.Total), gpus)
	}
	info.GPUBusy, info.GPUMemory = seen.Busy, seen.Memory
	var err error
	info.Nodes, err = ExpandNodes(nothing(string(r.Nodes)))
	return info, err
}

// used is the GPUs' part in a list.
func used(list []counted) (u Used) {
	for _, c := range list {
		if c.Type != "gres" || !c.Count.set || c.Count.value < 0 {
			continue
		}
		switch c.Name {
		case "gpuutil":
			u.Busy = profile.Some(c.Count.value / 100)
		case "gpumem":
			if c.Count.value < mostUsed {
				u.Memory = profile.Some(profile.BytesOf(c.Count.value))
			}
		}
	}
	return u
}

// Ran returns how long a job that is over ran, without the time in the queue; 0
// if it never started or is not over.
func (j *JobInfo) Ran() time.Duration {
	if !j.State.Over() || j.Started.IsZero() || !j.Ended.After(j.Started) {
		return 0
	}
	return j.Ended.Sub(j.Started)
}
