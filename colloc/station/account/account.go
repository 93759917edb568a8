package account

import (
	"cmp"
	"encoding/csv"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/colloc/station/api"
)

// Row is what one user had in a period.
type Row struct {
	User string `json:"user"`
	// Jobs are those whose last run lay at least partly in the period; Succeeded, Failed and
	// Cancelled are those that ended in it.
	Jobs      int `json:"jobs"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	// GPUHours is for how long jobs held GPUs, in hours within the period, of two GPUs twice
	// as much. A GPU that several jobs share counts for each of them in full, and only the
	// last run of a job counts: State has the time that is shared out.
	GPUHours float64 `json:"gpu_hours"`
	// Waited is for how long the jobs that began in the period had waited, in hours, from
	// submission to the start of the last run.
	Waited float64 `json:"waited_hours"`
	// OutOfMemory counts runs of these jobs that ran out of the GPU's memory.
	OutOfMemory int `json:"out_of_memory"`
}

// Of sums up jobs, which may be in any order, for the time from one moment until another,
// which is at most now. A zero from is the beginning. Rows are in the order of names; users
// who had nothing have none.
func Of(jobs iter.Seq[*api.Job], from, until time.Time) []Row {
	rows := make(map[string]*Row)
	for j := range jobs {
		ended := j.Ended
		if !j.State.Over() || ended.IsZero() {
			ended = until
		}
		if j.Started.IsZero() || j.State == queue.Queued || !j.Started.Before(until) || ended.Before(from) {
			continue
		}
		r := rows[j.User]
		if r == nil {
			r = &Row{User: j.User}
			rows[j.User] = r
		}
		r.add(j, from, until, ended)
	}
	list := []Row{}
	for _, r := range rows {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Row) int { return cmp.Compare(a.User, b.User) })
	return list
}

// add counts a job whose last run lay in the period.
func (r *Row) add(j *api.Job, from, until, ended time.Time) {
	r.Jobs++
	r.OutOfMemory += j.OutOfMemory
	if !j.Started.Before(from) {
		r.Waited += max(0, j.Started.Sub(j.Submitted).Hours())
	}
	begin, end := j.Started, ended
	if begin.Before(from) {
		begin = from
	}
	if end.After(until) {
		end = until
	}
	r.GPUHours += float64(j.Width) * max(0, end.Sub(begin).Hours())
	if ended.After(until) {
		return
	}
	switch j.State {
	case queue.Succeeded:
		r.Succeeded++
	case queue.Failed:
		r.Failed++
	case queue.Cancelled:
		r.Cancelled++
	default:
	}
}

// CSV writes rows with a head, hours with four decimals.
func CSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"user", "jobs", "succeeded", "failed", "cancelled", "gpu_hours", "waited_hours", "out_of_memory"}}
	hours := func(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
	for i := range rows {
		r := &rows[i]
		lines = append(lines, []string{
			r.User, strconv.Itoa(r.Jobs), strconv.Itoa(r.Succeeded), strconv.Itoa(r.Failed), strconv.Itoa(r.Cancelled),
			hours(r.GPUHours), hours(r.Waited), strconv.Itoa(r.OutOfMemory),
		})
	}
	return out.WriteAll(lines)
}
