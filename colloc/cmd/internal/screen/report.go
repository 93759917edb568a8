package screen

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Report is what the sweep came to.
type Report struct {
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
	Failures   []Failure `json:"failures,omitempty"`
	Notes      []string  `json:"notes,omitempty"`
}

// Failure is a task that did not succeed.
type Failure struct {
	Task   string `json:"task"`
	Status string `json:"status"`
	Err    string `json:"error,omitempty"`
	Log    string `json:"log,omitempty"`
}

// Compared is how many tasks began and succeeded since the sweep was started.
func (r *Report) Compared() int { return r.Measured + r.Rate + r.Estimated }

// write explains the report to people.
func (r *Report) write(w io.Writer) {
	fmt.Fprintf(w, "%d of %d tasks succeeded", r.OK, r.Tasks)
	if r.Earlier > 0 {
		fmt.Fprintf(w, " (%d begun before this run of the sweep)", r.Earlier)
	}
	for _, c := range []struct {
		n    int
		what string
	}{{r.Failed, "failed"}, {r.Cancelled, "cancelled"}, {r.Waiting, "left for -resume"}} {
		if c.n > 0 {
			fmt.Fprintf(w, ", %d %s", c.n, c.what)
		}
	}
	if r.Together > 0 {
		fmt.Fprintf(w, " in %v; at most %d at once on %s", Rounded(r.Elapsed), r.Together, Plural(r.GPUs, "GPU"))
	}
	if r.Recoveries+r.Retries > 0 {
		fmt.Fprintf(w, "; %s from lack of memory, %s", Plural(r.Recoveries, "recovery"), Plural(r.Retries, "retry"))
	}
	fmt.Fprintln(w)
	if n := r.Compared(); n > 0 && r.Alone > 0 {
		fmt.Fprintf(w, "one after another on %s the %s would have taken %v: %.2f times as long\n",
			Plural(r.GPUs, "GPU"), Plural(n, "task"), Rounded(r.Alone), r.Alone.Seconds()/r.Elapsed.Seconds())
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
func (r *Report) basis() string {
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
