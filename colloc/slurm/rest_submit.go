package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// heldJob is what slurmrestd of 22.05 reports beside the number of a job that
// was submitted with a hold: it is no failure.
const heldJob = 2042

// restSubmit submits through slurmrestd, which does not read #SBATCH lines: the
// request goes into fields of their own.
func (c *Client) restSubmit(ctx context.Context, j *Job, script string, o *SubmitOptions) (JobID, error) {
	fields, err := c.config.REST.fields(&j.Request, o)
	if err != nil {
		return 0, err
	}
	text, err := c.ask(ctx, http.MethodPost, "job/submit", map[string]any{"script": script, "job": fields})
	if err != nil {
		return 0, err
	}
	var answer struct {
		envelope
		ID     number `json:"job_id"`
		Result struct {
			ID number `json:"job_id"`
		} `json:"result"`
	}
	if err := decode(text, &answer); err != nil {
		return 0, c.duringREST(http.MethodPost, "job/submit", unreadable("", err))
	}
	id := max(answer.ID.int64(), answer.Result.ID.int64())
	said := answer.said()
	for _, e := range answer.Errors {
		if max(e.Number.int64(), e.Old.int64()) == heldJob && id > 0 {
			said = ""
		}
	}
	switch {
	case said != "":
		return 0, c.duringREST(http.MethodPost, "job/submit", &Error{Kind: kindOf(said), Said: said, Code: http.StatusOK})
	case id <= 0:
		return 0, c.duringREST(http.MethodPost, "job/submit", unreadable("", errMissing("job_id")))
	default:
		return JobID(id), nil
	}
}

// old reports whether the interface is that of 22.05 or older, where the names
// of fields are those of sbatch's options.
func (r *REST) old() bool {
	last := r.Version[strings.LastIndexByte(r.Version, '.')+1:]
	n, err := strconv.Atoi(last)
	return r.Version == "" || err == nil && n <= 38
}

// jobFields are the fields of POST job/submit.
type jobFields map[string]any

// set sets a field unless the value is the zero value.
func set[T comparable](f jobFields, key string, value T) {
	if value != *new(T) {
		f[key] = value
	}
}

// fields writes a request for POST job/submit. The keys of 22.05 were tried
// against the daemon; those of later versions follow the published schema.
func (r *REST) fields(q *Request, o *SubmitOptions) (jobFields, error) {
	if _, err := q.Args(); err != nil {
		return nil, err
	}
	if q.Warn > 0 {
		return nil, fmt.Errorf("slurm: REST: Warn: slurmrestd cannot ask for signals: %w", errors.ErrUnsupported)
	}
	if o == nil {
		o = &SubmitOptions{}
	}
	f := make(jobFields)
	set(f, "name", q.Name)
	set(f, "account", q.Account)
	set(f, "partition", q.Partition)
	set(f, "qos", q.QOS)
	set(f, "reservation", q.Reservation)
	set(f, "constraints", q.Constraint)
	set(f, "comment", q.Comment)
	set(f, "array", q.Array)
	set(f, "standard_output", q.Output)
	set(f, "requeue", q.Requeue)
	set(f, "tasks_per_node", q.TasksPerNode)
	set(f, "cpus_per_task", q.CPUsPerTask)
	set(f, "hold", o.Hold)
	set(f, "dependency", o.dependency())
	f["current_working_directory"] = cmp.Or(o.Dir, "/")
	minutes, mebibytes := (seconds(q.Time)+59)/60, mebibytes(q.Memory)
	gres, err := gresList(q.Gres)
	if err != nil {
		return nil, err
	}
	if r.old() {
		set(f, "time_limit", minutes)
		set(f, "memory_per_node", mebibytes)
		set(f, "nodelist", q.NodeList)
		set(f, "gres", gres)
		if q.Nodes > 0 {
			f["nodes"] = []int{q.Nodes, q.Nodes}
		}
		if q.Exclusive {
			f["exclusive"] = "true"
		}
		f["environment"] = map[string]string{"PATH": searchPath}
		return f, nil
	}
	return f, f.later(q, minutes, mebibytes, gres)
}

// searchPath is PATH of a job that slurmrestd submits: it knows no environment
// of a user.
const searchPath = "/usr/local/bin:/usr/bin:/bin"

// later sets the fields whose names or kinds changed after 22.05.
func (f jobFields) later(q *Request, minutes, mebibytes int64, gres string) error {
	nodes, err := ExpandNodes(q.NodeList)
	if err != nil {
		return err
	}
	if len(nodes) > 0 {
		f["required_nodes"] = nodes
	}
	if minutes > 0 {
		f["time_limit"] = wrapped(minutes)
	}
	if mebibytes > 0 {
		f["memory_per_node"] = wrapped(mebibytes)
	}
	if gres != "" {
		f["tres_per_node"] = "gres/" + strings.ReplaceAll(gres, ",", ",gres/")
	}
	if q.Nodes > 0 {
		f["nodes"] = strconv.Itoa(q.Nodes)
	}
	if q.Exclusive {
		f["shared"] = []string{"none"}
	}
	f["environment"] = []string{"PATH=" + searchPath}
	return nil
}

// wrapped writes a number as later versions want it.
func wrapped(n int64) map[string]any {
	return map[string]any{"set": true, "infinite": false, "number": n}
}
