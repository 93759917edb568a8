package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/site"
)

// fate is what became of a task that was submitted.
type fate int

const (
	fresh     fate = iota // no job has it: it is planned
	active                // a job waits or runs
	done                  // it ended with 0
	failed                // it did not: it is planned again
	cancelled             // somebody cancelled its job
	unknown               // Slurm has forgotten the job, and its output is not there
)

func (f fate) String() string {
	return [...]string{"new", "waiting or running", "done", "failed: planned again", "cancelled: planned again with -again", "forgotten by Slurm, without accounts or output: planned again with -again"}[f]
}

// planned reports whether a task with this fate is planned.
func (f fate) planned(again bool) bool {
	return f == fresh || f == failed || again && (f == cancelled || f == unknown)
}

// exitLine is what a script says of each of its tasks, in their order.
var exitLine = regexp.MustCompile(`(?m)^colloc: exit ([0-9]+): `)

// codes are the exit codes of a job's tasks as its own output tells; ok says
// whether there is one.
func (s *sweep) codes(id site.JobID) (codes []int, ok bool) {
	text, err := os.ReadFile(under(s.dir, s.output(strconv.FormatInt(int64(id), 10))))
	if err != nil {
		return nil, false
	}
	for _, m := range exitLine.FindAllStringSubmatch(string(text), -1) {
		code, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, true
		}
		codes = append(codes, code)
	}
	return codes, true
}

// past is what became of each task, and by which job.
type past struct {
	fates  map[string]fate
	jobs   map[string]site.JobID
	others []string // what other sweeps and users run under the same names
}

// history finds what became of every task: from the jobs that Slurm knows, then
// from its accounts, then from what the jobs themselves wrote.
func (p *program) history(ctx context.Context, s *sweep, jobs []site.JobInfo, submitted *record) (*past, error) {
	all := make(map[site.JobID]site.JobInfo, len(jobs))
	for _, j := range jobs {
		all[j.ID] = j
	}
	tasks := submitted.tasks()
	var lost []site.JobID
	for id := range tasks {
		if _, listed := all[id]; !listed {
			lost = append(lost, id)
		}
	}
	slices.Sort(lost)
	o := p.watch
	found, err := p.client.Wait(ctx, &o, lost...)
	if err != nil && !errors.Is(err, site.ErrNoCluster) {
		return nil, err
	}
	for _, j := range found {
		all[j.ID] = j
	}
	h := &past{fates: make(map[string]fate), jobs: make(map[string]site.JobID)}
	for id, j := range all {
		names := tasks[id]
		switch {
		case names != nil:
		case s.mine(&j):
			names = slurm.TasksOf(&j)
		default:
			for _, t := range slurm.TasksOf(&j) {
				if s.byID[t] != nil && !j.State.Over() {
					h.others = append(h.others, fmt.Sprintf("job %d of %s runs a task that is called %q, too: it is of another sweep", id, j.User, t))
				}
			}
		}
		for k, t := range names {
			if id > h.jobs[t] { // the last one counts
				h.jobs[t], h.fates[t] = id, s.fate(&j, k)
			}
		}
	}
	slices.Sort(h.others)
	return h, nil
}

// fate is what became of task k of a job. A task that ended with 0 is done,
// whatever its partners did.
func (s *sweep) fate(j *site.JobInfo, k int) fate {
	if !j.State.Over() {
		return active
	}
	if j.State == site.Completed {
		return done
	}
	codes, written := s.codes(j.ID)
	switch {
	case k < len(codes) && codes[k] == 0:
		return done
	case j.State == site.Cancelled:
		return cancelled
	case j.State == site.Forgotten && !written:
		return unknown
	default:
		return failed
	}
}

// pending are the tasks to plan.
func (s *sweep) pending(h *past, again bool) []colloc.Task {
	var tasks []colloc.Task
	for _, e := range s.tasks {
		if h.fates[e.ID].planned(again) {
			tasks = append(tasks, e.task)
		}
	}
	return tasks
}

// tell prints what became of the tasks of a sweep that are not new.
func (h *past) tell(p *program, s *sweep) {
	for f := active; f <= unknown; f++ {
		var names []string
		for _, e := range s.tasks {
			if h.fates[e.ID] == f {
				names = append(names, fmt.Sprintf("%q (job %d)", e.ID, h.jobs[e.ID]))
			}
		}
		if n := len(names); n > 0 {
			if n > 5 {
				names = append(names[:5], "...")
			}
			fmt.Fprintf(p.stdout, "%d tasks %v: %s\n", n, f, strings.Join(names, ", "))
		}
	}
	for _, line := range h.others {
		fmt.Fprintln(p.stdout, line)
	}
}
