package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/profile"
)

// submit submits through slurmrestd, which does not read #SBATCH lines: the
// request goes into fields of their own.
func (r *REST) submit(ctx context.Context, timeout time.Duration, j *script.Job, script string, o *SubmitOptions) (site.JobID, error) {
	fields, err := r.fields(&j.Request, o)
	if err != nil {
		return 0, err
	}
	text, err := r.ask(ctx, timeout, http.MethodPost, "job/submit", map[string]any{"script": script, "job": fields})
	if err != nil {
		return 0, err
	}
	id, err := site.ParseSubmitted(text)
	return id, during("slurmrestd "+http.MethodPost+" job/submit", err)
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
func (r *REST) fields(q *script.Request, o *SubmitOptions) (jobFields, error) {
	if _, err := q.Args(); err != nil {
		return nil, err
	}
	if q.Warn > 0 || q.Signal != "" {
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
	set(f, "licenses", q.Licenses)
	set(f, "comment", q.Comment)
	set(f, "standard_output", q.Output)
	set(f, "requeue", q.Requeue)
	set(f, "tasks_per_node", q.TasksPerNode)
	set(f, "cpus_per_task", q.CPUsPerTask)
	set(f, "hold", o.Hold)
	set(f, "dependency", o.dependency())
	f["current_working_directory"] = cmp.Or(o.Dir, "/")
	minutes, mebibytes := up(q.Time, time.Minute), up(q.Memory, profile.MiB)
	list := make([]string, len(q.Gres))
	for i, g := range q.Gres {
		list[i] = g.String()
	}
	gres := strings.Join(list, ",")
	if r.old() {
		set(f, "time_limit", minutes)
		set(f, "memory_per_node", mebibytes)
		set(f, "nodelist", q.NodeList)
		set(f, "gres", gres)
		if q.Nodes > 0 {
			f["nodes"] = []int{q.Nodes, q.Nodes}
		}
		f["environment"] = map[string]string{"PATH": searchPath}
		return f, nil
	}
	return f, f.later(q, minutes, mebibytes, gres)
}

// up counts units, the last of which may be broken; 0 for nothing.
func up[T ~int64](total, unit T) int64 {
	if total <= 0 {
		return 0
	}
	return int64((total-1)/unit) + 1
}

// searchPath is PATH of a job that slurmrestd submits: it knows no environment
// of a user.
const searchPath = "/usr/local/bin:/usr/bin:/bin"

// later sets the fields whose names or kinds changed after 22.05.
func (f jobFields) later(q *script.Request, minutes, mebibytes int64, gres string) error {
	nodes, err := site.ExpandNodes(q.NodeList)
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
	f["environment"] = []string{"PATH=" + searchPath}
	return nil
}

// wrapped writes a number as later versions want it.
func wrapped(n int64) map[string]any {
	return map[string]any{"set": true, "infinite": false, "number": n}
}
