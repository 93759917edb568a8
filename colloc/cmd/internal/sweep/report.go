package sweep

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/runner"
)

// report is what the sweep came to.
type report struct {
	Tasks     int           `json:"tasks"`
	OK        int           `json:"ok"`
	Failed    int           `json:"failed"`
	Cancelled int           `json:"cancelled"`
	Waiting   int           `json:"waiting"`
	Earlier   int           `json:"earlier"` // of OK: begun before this run of the sweep
	GPUs      int           `json:"gpus"`
	Elapsed   time.Duration `json:"elapsed_ns"`
	// Alone is how long the tasks that began and succeeded in that time would have
	// taken one after another, one on each GPU at a time. Measured and Rate count
	// those for which that was measured, on themselves or as a rate on one like
	// them; Estimated those for which it rests on predicted speeds.
	Alone     time.Duration `json:"alone_ns"`
	Measured  int           `json:"measured"`
	Rate      int           `json:"measured_rate"`
	Estimated int           `json:"estimated"`
	// Together is how many tasks ran at once at most, Recoveries how often memory
	// ran out, Retries how often a task was run again after a failure.
	Together   int       `json:"together"`
	Recoveries int       `json:"recoveries"`
	Retries    int       `json:"retries"`
	Failures   []failure `json:"failures,omitempty"`
	Notes      []string  `json:"notes,omitempty"`
}

// failure is a task that did not succeed.
type failure struct {
	Task   string `json:"task"`
	Status string `json:"status"`
	Err    string `json:"error,omitempty"`
	Log    string `json:"log,omitempty"`
}

// report sums the sweep up.
func (s *sweep) report(now time.Time) *report {
	v := s.look(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	rep := &report{
		Tasks: len(s.jobs), OK: v.Count.OK, Failed: v.Count.Failed, Cancelled: v.Count.Cancelled, Waiting: v.Count.Running + v.Count.Waiting,
		GPUs: len(v.GPUs), Elapsed: v.Elapsed, Together: s.together, Recoveries: s.recoveries, Retries: s.retries,
	}
	free := make([]time.Duration, max(1, len(v.GPUs))) // when each GPU would be
	for i := range v.Records {
		r := &v.Records[i]
		if r.State == runner.Failed || r.State == runner.Cancelled {
			rep.Failures = append(rep.Failures, failure{Task: r.Task.ID, Status: statusOf(r), Err: r.Err, Log: s.output(r)})
		}
		if r.State != runner.Succeeded {
			continue
		}
		if r.Started.Before(s.started) {
			continue // part of it, or all, is not in Elapsed
		}
		d, from := s.alone(r)
		switch from {
		case measuredAlone:
			rep.Measured++
		case measuredRate:
			rep.Rate++
		case estimated:
			rep.Estimated++
		}
		free[slices.Index(free, slices.Min(free))] += d
	}
	rep.Alone, rep.Earlier = slices.Max(free), rep.OK-rep.compared()
	return rep
}

// compared is how many tasks began and succeeded since the sweep was started.
func (r *report) compared() int { return r.Measured + r.Rate + r.Estimated }

// output is the file with the output of a task's last run, as people find it.
func (s *sweep) output(r *runner.Record) string {
	if r.Log == "" {
		return ""
	}
	return filepath.Join(s.o.logs, r.Task.ID+".log")
}

// write explains the report to people.
func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%d of %d tasks succeeded", r.OK, r.Tasks)
	for _, c := range []struct {
		n    int
		what string
	}{{r.Failed, "failed"}, {r.Cancelled, "cancelled"}, {r.Waiting, "left for -resume"}} {
		if c.n > 0 {
			fmt.Fprintf(w, ", %d %s", c.n, c.what)
		}
	}
	if r.Together > 0 {
		fmt.Fprintf(w, " in %v; at most %d at once on %s", rounded(r.Elapsed), r.Together, plural(r.GPUs, "GPU"))
	}
	if r.Recoveries+r.Retries > 0 {
		fmt.Fprintf(w, "; %s from lack of memory, %s", plural(r.Recoveries, "recovery"), plural(r.Retries, "retry"))
	}
	fmt.Fprintln(w)
	if n := r.compared(); n > 0 && r.Alone > 0 {
		fmt.Fprintf(w, "one after another on %s the %s would have taken %v: %.2f times as long\n",
			plural(r.GPUs, "GPU"), plural(n, "task"), rounded(r.Alone), r.Alone.Seconds()/r.Elapsed.Seconds())
		fmt.Fprintf(w, "  (%s)\n", r.basis())
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, n)
	}
	const most = 10
	for i, f := range r.Failures {
		if i == most {
			fmt.Fprintf(w, "and %d more: see the job log\n", len(r.Failures)-most)
			break
		}
		fmt.Fprintf(w, "%s %s", f.Task, f.Status)
		if f.Err != "" {
			fmt.Fprintf(w, ": %s", f.Err)
		}
		if f.Log != "" {
			fmt.Fprintf(w, "; its output is %s", f.Log)
		}
		fmt.Fprintln(w)
	}
}

// basis says what the comparison rests on.
func (r *report) basis() string {
	var parts []string
	if r.Measured > 0 {
		parts = append(parts, fmt.Sprintf("%d measured alone", r.Measured))
	}
	if r.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%d by its steps × the step time measured alone", r.Rate))
	}
	if r.Estimated > 0 {
		parts = append(parts, fmt.Sprintf("%d estimated from the time taken and the speed among others", r.Estimated))
	}
	return strings.Join(parts, ", ")
}

// plural writes "1 GPU", "2 GPUs", "2 retries".
func plural(n int, what string) string {
	if n != 1 {
		if rest, ok := strings.CutSuffix(what, "y"); ok {
			what = rest + "ie"
		}
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
