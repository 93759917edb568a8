package records

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// Job is one run of a job. What was not said is zero.
type Job struct {
	// ID names the run: the job's number, and behind "#" the run where there were several.
	ID string `json:"id"`
	// Raw is the number by which Slurm knows an element of an array, if it is another.
	Raw       string `json:"raw,omitempty"`
	User      string `json:"user,omitempty"`
	Name      string `json:"name,omitempty"`
	Partition string `json:"partition,omitempty"`
	State     string `json:"state,omitempty"`
	// Submitted is when it began to wait: when it was submitted, or, if later, when what it
	// depended on was over.
	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"`
	// Ran is for how long it ran, without suspensions, more than 0.
	Ran time.Duration `json:"ran_ns"`
	// GPUs is how many it held in all, 1 or more; Product is of which type, in the
	// site's words, Nodes are where.
	GPUs    int      `json:"gpus"`
	Product string   `json:"product,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	// Seen is what was observed of it on one of its GPUs, without name and product.
	Seen profile.Solo `json:"seen,omitzero"`
}

// Observed reports whether enough was seen to say what the job does beside others: how
// busy it kept its GPU, and how much memory it took.
func (j *Job) Observed() bool {
	return (!j.Seen.SMActive.IsZero() || !j.Seen.GPUBusy.IsZero()) && !j.Seen.Memory.IsZero()
}

// Kind names what jobs of one user have in common: their name without its numbers.
func (j *Job) Kind() string {
	var b strings.Builder
	b.WriteString(j.User)
	b.WriteByte('/')
	digits := false
	for _, r := range j.Name {
		if r >= '0' && r <= '9' {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(r)
	}
	return b.String()
}

// Log is what was read.
type Log struct {
	// Format is what it was: "sacct", "sacct json", "table" or "station".
	Format string
	// Jobs ran on GPUs, in the order in which they were submitted.
	Jobs []Job
	// Left is what else there was.
	Left Left
	// Warnings name the first rows that were damaged, at most 20.
	Warnings []error
	open     map[run]bool // those of Left.Open
}

// Left counts what is not among the jobs of a [Log].
type Left struct {
	// NoGPU had none; Waiting never started, or started and ended in the same second;
	// Shares already had parts of GPUs (shard, mps).
	NoGPU   int `json:"no_gpu"`
	Waiting int `json:"never_ran"`
	Shares  int `json:"shares"`
	// Repeated came twice; Damaged could not be read.
	Repeated int `json:"repeated"`
	Damaged  int `json:"damaged"`
	// Open still ran, or nobody wrote down their end: they are among the jobs, and end
	// with the log.
	Open int `json:"open"`
}

// row is a job as it was read, before it is compared with the others.
type row struct {
	Job
	eligible time.Time
	shares   bool
	elapsed  time.Duration // 0 is not said
	on       []int         // the GPUs by number, where it is said
}

const maxWarnings = 20

// builder gathers rows.
type builder struct {
	log  Log
	unit string           // what a warning counts rows in: lines, or entries of a list
	seen map[string][]int // by job: its runs
	runs map[run]int      // their places among the jobs
	last time.Time        // of all times that have been
	open []int
	on   map[int][]int // by GPU: the places of the jobs that were there
}

func newBuilder(format string) *builder {
	return &builder{unit: "line", log: Log{Format: format, open: map[run]bool{}}, seen: map[string][]int{}, runs: map[run]int{}, on: map[int][]int{}}
}

// run is what two exports name alike of one run of a job: its number, and when it started.
type run struct {
	id       string
	sec, nan int64
}

func (j *Job) run() run {
	id, _, _ := strings.Cut(j.ID, "#")
	return run{id, j.Started.Unix(), int64(j.Started.Nanosecond())}
}

// damaged counts a row that cannot be read.
func (b *builder) damaged(at int, format string, args ...any) {
	b.log.Left.Damaged++
	if len(b.log.Warnings) < maxWarnings {
		b.log.Warnings = append(b.log.Warnings, fmt.Errorf("%s %d: %w", b.unit, at, fmt.Errorf(format, args...)))
	}
}

// add takes a row, and returns the job that it became, nil for none. It is valid until the
// next.
func (b *builder) add(r *row, line int) *Job {
	left := &b.log.Left
	for _, at := range []time.Time{r.Submitted, r.Started, r.Ended, r.Started.Add(r.elapsed)} {
		if at.After(b.last) {
			b.last = at
		}
	}
	switch {
	case r.GPUs <= 0 && r.shares:
		left.Shares++
		return nil
	case r.GPUs <= 0:
		left.NoGPU++
		return nil
	case r.Started.IsZero():
		left.Waiting++
		return nil
	}
	r.Ran = r.elapsed
	if r.Ran <= 0 && !r.Ended.IsZero() {
		r.Ran = r.Ended.Sub(r.Started)
	}
	if back := r.Started.Sub(r.Ended); back > 0 && back < time.Hour && r.elapsed > 0 {
		r.Ended = r.Started.Add(r.elapsed) // an hour came twice that night
	}
	switch {
	case r.Ended.IsZero():
	case r.Ended.Before(r.Started):
		b.damaged(line, "job %s ended at %v, before it started", r.ID, r.Ended.Format(time.RFC3339))
		return nil
	case r.Ran == 0:
		left.Waiting++
		return nil
	}
	if r.eligible.After(r.Submitted) {
		r.Submitted = r.eligible
	}
	if r.Submitted.IsZero() || r.Submitted.After(r.Started) {
		r.Submitted = r.Started
	}
	return b.keep(r)
}

// keep adds a job unless it is there already.
func (b *builder) keep(r *row) *Job {
	r.ID = strings.ReplaceAll(r.ID, "#", "_") // which stands before the number of a run
	if i, ok := b.runs[r.run()]; ok {         // exported twice; the later export knows the end
		old := &b.log.Jobs[i]
		b.log.Left.Repeated++
		if old.Ended.IsZero() && !r.Ended.IsZero() {
			r.ID = old.ID
			*old = r.Job
		}
		return old
	}
	i, runs := len(b.log.Jobs), b.seen[r.ID]
	b.seen[r.ID], b.runs[r.run()] = append(runs, i), i
	if len(runs) > 0 {
		r.ID += "#" + strconv.Itoa(len(runs)+1)
	}
	if r.Ended.IsZero() {
		b.open = append(b.open, i)
	}
	for _, gpu := range r.on {
		b.on[gpu] = append(b.on[gpu], i)
	}
	b.log.Jobs = append(b.log.Jobs, r.Job)
	return &b.log.Jobs[i]
}

// finish ends what still runs with the log, and what was requeued waits from then on.
func (b *builder) finish() *Log {
	jobs := b.log.Jobs
	for _, i := range b.open {
		if j := &jobs[i]; j.Ended.IsZero() {
			j.Ended = b.last
			if j.Ran <= 0 {
				j.Ran = j.Ended.Sub(j.Started)
			}
			if j.Ran <= 0 { // it started with the last that is known
				b.log.Left.Waiting++
				continue
			}
			b.log.Left.Open++
			b.log.open[j.run()] = true
		}
	}
	for _, runs := range b.seen {
		slices.SortFunc(runs, func(x, y int) int { return jobs[x].Started.Compare(jobs[y].Started) })
		for k := 1; k < len(runs); k++ {
			if before, j := &jobs[runs[k-1]], &jobs[runs[k]]; j.Submitted.Before(before.Ended) {
				j.Submitted = earlier(before.Ended, j.Started)
			}
		}
	}
	for i := range b.together() {
		b.log.Left.Shares++
		if r := jobs[i].run(); b.log.open[r] {
			delete(b.log.open, r)
			b.log.Left.Open--
		}
		jobs[i].Ran = 0
	}
	b.log.Jobs = slices.DeleteFunc(jobs, func(j Job) bool { return j.Ran <= 0 })
	sortJobs(b.log.Jobs)
	return &b.log
}

// together are the places of the jobs that shared a GPU with another for a while: they had
// no whole GPU, and took longer than they would have alone.
func (b *builder) together() map[int]bool {
	jobs, shared := b.log.Jobs, map[int]bool{}
	for _, on := range b.on {
		on = slices.DeleteFunc(on, func(i int) bool { return jobs[i].Ran <= 0 })
		slices.SortFunc(on, func(x, y int) int { return jobs[x].Started.Compare(jobs[y].Started) })
		for k, last := 1, 0; k < len(on); k++ { // last is the one that ends last so far
			i, j := on[last], on[k]
			if i != j && jobs[j].Started.Before(jobs[i].Ended) {
				shared[i], shared[j] = true, true
			}
			if jobs[j].Ended.After(jobs[i].Ended) {
				last = k
			}
		}
	}
	return shared
}

// Merge adds another log of the same site. A run that both have counts once; where it still
// ran in one, what the other knows of its end counts.
func (l *Log) Merge(other *Log) {
	have := make(map[run]int, len(l.Jobs))
	for i := range l.Jobs {
		have[l.Jobs[i].run()] = i
	}
	a, b := &l.Left, &other.Left
	*a = Left{a.NoGPU + b.NoGPU, a.Waiting + b.Waiting, a.Shares + b.Shares, a.Repeated + b.Repeated, a.Damaged + b.Damaged, a.Open + b.Open}
	open := maps.Clone(other.open)
	for i := range other.Jobs {
		j := other.Jobs[i]
		r := j.run()
		at, both := have[r]
		if !both {
			l.Jobs = append(l.Jobs, j)
			continue
		}
		a.Repeated++
		mine := &l.Jobs[at]
		if l.open[r] || open[r] {
			a.Open--
		}
		if l.open[r] && (!open[r] || j.Ended.After(mine.Ended)) {
			j.ID = mine.ID
			*mine = j
		}
		if !l.open[r] || !open[r] { // one knows
			delete(l.open, r)
			delete(open, r)
		}
	}
	if l.open == nil {
		l.open = map[run]bool{}
	}
	maps.Copy(l.open, open)
	sortJobs(l.Jobs)
}

// Span is from the first submission to the last end; false for a log without jobs.
func (l *Log) Span() (from, until time.Time, ok bool) {
	for i := range l.Jobs {
		if j := &l.Jobs[i]; j.Ended.After(until) {
			until = j.Ended
		}
	}
	if len(l.Jobs) > 0 {
		from = l.Jobs[0].Submitted
	}
	return from, until, len(l.Jobs) > 0
}

// sortJobs puts jobs in the order of submission.
func sortJobs(jobs []Job) {
	slices.SortStableFunc(jobs, func(x, y Job) int {
		return cmp.Or(x.Submitted.Compare(y.Submitted), x.Started.Compare(y.Started), cmp.Compare(x.ID, y.ID))
	})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// clip shortens what a message quotes.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return strconv.Quote(s)
}
