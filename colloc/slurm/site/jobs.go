package site

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/colloc/profile"
)

// jsonJob is a job of squeue --json and of slurmrestd, 22.05 to 25.05.
type jsonJob struct {
	ID        number     `json:"job_id"`
	Array     number     `json:"array_job_id"`
	Index     number     `json:"array_task_id"`
	Indices   text       `json:"array_task_string"`
	Name      text       `json:"name"`
	User      text       `json:"user_name"`
	Account   text       `json:"account"`
	Partition text       `json:"partition"`
	Comment   text       `json:"comment"`
	State     words      `json:"job_state"`
	Reason    text       `json:"state_reason"`
	Nodes     text       `json:"nodes"`
	Required  words      `json:"required_nodes"`
	Held      texts      `json:"gres_detail"`
	PerNode   text       `json:"tres_per_node"`
	PerJob    text       `json:"tres_per_job"`
	PerSocket text       `json:"tres_per_socket"`
	PerTask   text       `json:"tres_per_task"`
	Allocated text       `json:"tres_alloc_str"`
	Requested text       `json:"tres_req_str"`
	CPUs      number     `json:"cpus"`
	NodeCount number     `json:"node_count"`
	Tasks     number     `json:"tasks"`
	Limit     number     `json:"time_limit"`
	Submitted number     `json:"submit_time"`
	Started   number     `json:"start_time"`
	Ended     number     `json:"end_time"`
	Restarts  number     `json:"restart_cnt"`
	Exit      exitStatus `json:"exit_code"`
	Output    text       `json:"standard_output"`
	Dir       text       `json:"current_working_directory"`
}

// ParseJobs reads what squeue --json prints and what slurmrestd answers to
// GET jobs, of Slurm 22.05 to 25.05: the old form with plain numbers and the new
// one of the data_parser plugins. Fields that are missing or of an unknown kind
// are left zero. It returns an [ErrOutput] for what is no such answer, and what
// Slurm says if the answer reports an error.
func ParseJobs(data []byte) ([]JobInfo, error) {
	return parseJobs("jobs", data, (*jsonJob).info)
}

// parseJobs reads a list of jobs, each of which info understands.
func parseJobs[J any](what string, data []byte, info func(*J) (JobInfo, error)) ([]JobInfo, error) {
	var answer struct {
		envelope
		Jobs *[]J `json:"jobs"`
	}
	if err := open(what, data, &answer, &answer.envelope); err != nil {
		return nil, err
	}
	if answer.Jobs == nil {
		return nil, Unreadable(what, errMissing("jobs"))
	}
	jobs := make([]JobInfo, 0, len(*answer.Jobs))
	for i := range *answer.Jobs {
		j, err := info(&(*answer.Jobs)[i])
		if err != nil {
			return nil, Unreadable(what, fmt.Errorf("jobs[%d]: %w", i, err))
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// open decodes an answer and turns the errors that it reports into one.
func open(what string, data []byte, into any, e *envelope) error {
	if err := decode(data, into); err != nil {
		return Unreadable(what, err)
	}
	said := e.said()
	if said == "" {
		return nil
	}
	kind := KindOf(said)
	if errors.Is(kind, ErrRefused) && !slices.ContainsFunc(e.Errors, named) {
		kind = ErrNoCluster // a list is refused to nobody without a reason: sinfo of 22.05 says no more of a controller that is away
	}
	return &Error{Kind: kind, Command: what, Said: said, Code: 0}
}

func errMissing(field string) error {
	return fmt.Errorf("the answer has no field %q", field)
}

func (j *jsonJob) info() (JobInfo, error) {
	info := JobInfo{
		ID: JobID(j.ID.int64()), Array: JobID(j.Array.int64()), Indices: string(j.Indices),
		Name: string(j.Name), User: string(j.User), Account: string(j.Account),
		Partition: string(j.Partition), Comment: string(j.Comment),
		State: jobState(j.State), Reason: reason(string(j.Reason)),
		CPUs: j.CPUs.count(), Memory: tresMemory(string(j.Allocated)), Limit: j.Limit.minutes(),
		Submitted: j.Submitted.time(), Started: j.Started.time(), Ended: j.Ended.time(),
		Restarts: j.Restarts.count(), Exit: j.Exit.code, Signal: j.Exit.signal,
		Output: string(j.Output), Dir: string(j.Dir),
	}
	if info.ID <= 0 {
		return info, errMissing("job_id")
	}
	if info.Memory == 0 {
		info.Memory = tresMemory(string(j.Requested))
	}
	if j.Index.set && info.Array > 0 && info.Indices == "" {
		info.Index = profile.Some(j.Index.count())
	}
	var err error
	if info.Nodes, err = ExpandNodes(nothing(string(j.Nodes))); err != nil {
		return info, err
	}
	if info.Required, err = ExpandNodes(strings.Join(j.Required, ",")); err != nil {
		return info, err
	}
	if asked, err := ParseGres(string(j.PerNode)); err == nil {
		info.Asked = gresOf(asked)
	}
	info.InAll = j.inAll()
	if info.State.Holds() {
		info.Held = j.held(len(info.Nodes))
	}
	return info, nil
}

// inAll is what the job asks for on all nodes together, by the first of sbatch's ways to
// say it that it uses.
func (j *jsonJob) inAll() []Gres {
	for _, by := range []struct {
		list  text
		times number
	}{{j.PerJob, number{1, true}}, {j.PerNode, j.NodeCount}, {j.PerTask, j.Tasks}} {
		asked, err := ParseGres(string(by.list))
		if err != nil || len(asked) == 0 {
			continue
		}
		list := gresOf(asked)
		for i := range list {
			list[i].Count = int(min(int64(list[i].Count)*int64(max(1, by.times.count())), math.MaxInt32))
		}
		return list
	}
	return nil
}

// held is what the job has on each of its nodes; nil if it has nothing. Where
// Slurm does not say on which GPUs, in words that can be read, it says so, too:
// they must not be taken for free.
func (j *jsonJob) held(nodes int) [][]Held {
	var all [][]Held
	for i := range min(nodes, len(j.Held)) {
		held, err := ParseGres(string(j.Held[i]))
		if err != nil {
			held = []Held{{Gres: Gres{Name: "gpu", Count: 1}}}
		}
		all = append(all, held)
	}
	if slices.ContainsFunc(all, func(held []Held) bool { return len(held) > 0 }) {
		return all
	}
	if somewhere := j.somewhere(); len(somewhere) > 0 {
		return slices.Repeat([][]Held{somewhere}, nodes)
	}
	return nil
}

// somewhere are the GPUs and shares that the job asked for or was given, without
// their places.
func (j *jsonJob) somewhere() []Held {
	for _, list := range []text{j.PerNode, j.PerJob, j.PerSocket, j.PerTask, j.Allocated} {
		var held []Held
		for _, item := range splitList(string(list)) {
			h, err := ParseGres(item)
			if err == nil && len(h) == 1 && slices.Contains([]string{"gpu", "shard", "mps"}, h[0].Name) {
				held = append(held, Held{Gres: h[0].Gres})
			}
		}
		if len(held) > 0 {
			return held
		}
	}
	return nil
}

// reason drops the words that stand for no reason.
func reason(s string) string {
	if s == "None" || s == "none" {
		return ""
	}
	return nothing(s)
}

// nothing drops the words that stand for no list.
func nothing(s string) string {
	switch s {
	case "(null)", "None assigned", "N/A", "n/a", "Unknown":
		return ""
	default:
		return s
	}
}

func gresOf(held []Held) []Gres {
	var list []Gres
	for _, h := range held {
		list = append(list, h.Gres)
	}
	return list
}

// tresMemory finds mem=100M in a list of trackable resources.
func tresMemory(list string) profile.Bytes {
	for item := range strings.SplitSeq(list, ",") {
		if mem, ok := strings.CutPrefix(item, "mem="); ok {
			return slurmBytes(mem)
		}
	}
	return 0
}

// slurmBytes reads 100M, 62.50G and 2T; a number without a unit counts MiB. What is no amount is 0.
func slurmBytes(s string) profile.Bytes {
	b, _ := amount(s, profile.MiB)
	return b
}
