package slurm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/slurm/files"
	"example.com/colloc/colloc/slurm"
	"example.com/colloc/colloc/slurm/script"
	"example.com/colloc/colloc/slurm/site"
	"example.com/colloc/internal/enum"
)

// fate is what became of a task that was submitted.
type fate int

const (
	fresh      fate = iota // no job has it: it is planned
	active                 // a job waits or runs
	done                   // it ended with 0
	failed                 // it did not: it is planned again
	cancelled              // somebody cancelled its job
	unknown                // Slurm has forgotten the job, and its output is not there
	turnedAway             // Slurm gave its job no GPU: it did not begin
	displaced              // Slurm ended its job for another, or its node failed
	starved                // it wanted more device memory than it got
)

// words are the fates as the record keeps them.
var words = enum.Of("slurm: end of a task", "new", "active", "done", "failed", "cancelled", "unknown", "no device", "displaced", "out of memory")

func (f fate) String() string {
	return [...]string{"new", "waiting or running", "done", "failed: planned again", "cancelled: planned again with -again", "forgotten by Slurm, without accounts or output: planned again with -again", "got no GPU from Slurm: planned again", "had to make room, or lost its node: planned again", "ran out of memory: planned again with more"}[f]
}

// MarshalText writes a word.
func (f fate) MarshalText() ([]byte, error) { return words.Marshal(int(f)) }

// UnmarshalText reads what MarshalText wrote.
func (f *fate) UnmarshalText(text []byte) error { return enum.Parse(words, text, f) }

// final reports whether it can no longer change.
func (f fate) final() bool {
	return f == done || f == failed || f == cancelled || f == turnedAway || f == displaced || f == starved
}

// planned reports whether a task with this fate is planned.
func (f fate) planned(again bool) bool {
	return f == fresh || f == failed || f == turnedAway || f == displaced || f == starved || again && (f == cancelled || f == unknown)
}

// exitLine is what a script says of each of its tasks, in their order.
var exitLine = regexp.MustCompile(`(?m)^colloc: exit (-?[0-9]+): (.*)$`)

// codes are the exit codes of a job's tasks as its own output tells; written says
// whether there is one, and barred that the job had no GPU.
func (s *sweep) codes(id site.JobID) (codes []int, written, barred bool) {
	text, err := files.Tail(files.Under(s.dir, s.output(strconv.FormatInt(int64(id), 10))))
	if err != nil || text == nil {
		return nil, false, false
	}
	at := make(map[string]int) // of each task
	for _, m := range exitLine.FindAllStringSubmatch(string(text), -1) {
		code, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, true, false
		}
		k, before := at[m[2]]
		if !before {
			k, at[m[2]] = len(codes), len(codes)
			codes = append(codes, 0)
		}
		codes[k] = code // of the last run, if Slurm put the job back
	}
	return codes, true, script.NoDevice(text)
}

// wrote finds a job that is not recorded and ran a task after some moment, and how it
// ended, by what jobs wrote; 0 if none did.
func (s *sweep) wrote(task string, since time.Time, recorded map[site.JobID][]string) (site.JobID, fate) {
	dir := files.Under(s.dir, s.logDir())
	entries, _ := os.ReadDir(dir) // none if it is not there
	for _, e := range entries {
		var id site.JobID
		if _, err := fmt.Sscanf(e.Name(), "colloc-%d.out", &id); err != nil || recorded[id] != nil || !strings.HasSuffix(e.Name(), ".out") {
			continue
		}
		info, err := e.Info()
		if err != nil || info.ModTime().Before(since.Add(-time.Minute)) { // clocks differ
			continue
		}
		text, err := files.Tail(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		for _, m := range exitLine.FindAllStringSubmatch(string(text), -1) {
			if script.Unquote(m[2]) != task {
				continue
			}
			if m[1] == "0" {
				return id, done
			}
			return id, failed
		}
	}
	return 0, fresh
}

// past is what became of each task, and by which job.
type past struct {
	fates  map[string]fate
	jobs   map[string]site.JobID
	tries  map[string]int // how often it failed
	turned map[string]int // how often Slurm gave its job no GPU
	lost   map[string]int // how often its job had to make room
	again  []site.JobID   // jobs that got no GPU, to be put back in their place
	all    map[site.JobID]*site.JobInfo
	others []string // what other sweeps and users run under the same names
}

// history finds what became of every task: from the record, where that knows the
// end, from the jobs that Slurm knows, then from its accounts, then from what the
// jobs themselves wrote. Ends are kept in the record.
func (p *program) history(ctx context.Context, d *desk, jobs []site.JobInfo) *past {
	s, submitted := d.sweep, d.record
	h := &past{fates: make(map[string]fate), jobs: make(map[string]site.JobID), tries: make(map[string]int), turned: make(map[string]int), lost: make(map[string]int), all: make(map[site.JobID]*site.JobInfo, len(jobs))}
	recorded := submitted.tasks()
	h.know(s, submitted, recorded, jobs)
	p.findLost(ctx, h, submitted)
	h.doubt(d, recorded)
	at := make(map[site.JobID]int)
	var untold []*member // that run, and of whose memory neither a person nor their scripts told
	for m := range submitted.members() {
		j, k := h.all[m.Job], at[m.Job]
		at[m.Job]++
		f := m.End
		if f == fresh && j != nil {
			f = s.end(m, j, k)
		}
		if m.Taken && (f == unknown || f == cancelled && j != nil && len(j.Nodes) == 0) {
			m.Gone = true // it never ran
			continue
		}
		if f == turnedAway && m.End == fresh && d.keeps && !d.placeless[m.Job] && len(j.Required) == 0 && j.Restarts < oftenTurned {
			f = active
			if !slices.Contains(h.again, m.Job) {
				h.again = append(h.again, m.Job)
			}
		}
		if f.final() {
			m.End = f
		}
		if e := s.byID[m.Task]; f == active && e != nil && e.untold() && j != nil && j.State.Holds() {
			seen := s.held(m.Task, m.Job, true, p.now())
			m.Peak = max(m.Peak, seen)
			if seen == 0 {
				untold = append(untold, m)
			}
		}
		h.note(m.Task, m.Job, f)
	}
	p.measure(ctx, d, slices.DeleteFunc(untold, func(m *member) bool {
		return len(recorded[m.Job]) > 1 || p.now().Sub(h.all[m.Job].Started) < settled
	}))
	slices.Sort(h.others)
	return h
}

// know takes in the jobs that Slurm knows, less those whose numbers it gave anew.
func (h *past) know(s *sweep, submitted *record, recorded map[site.JobID][]string, jobs []site.JobInfo) {
	for i := range jobs {
		j := &jobs[i]
		names := recorded[j.ID]
		stranger := j.User != "" && s.user != "" && j.User != s.user
		if names != nil && j.Comment != "" && (stranger || !slices.Equal(slurm.TasksOf(j), names)) {
			h.all[j.ID] = &site.JobInfo{ID: j.ID, State: site.Forgotten} // a controller that lost its state gives numbers anew
			continue
		}
		h.all[j.ID] = j
		if names == nil && !submitted.withdrew(j.ID) {
			h.adopt(s, submitted, j)
		}
	}
}

// measure asks Slurm once a minute what members hold that run in jobs of their own: the most until now. Where it
// answers and says nothing of jobs that ran for a while the site does not watch GPUs, and is not asked again.
func (p *program) measure(ctx context.Context, d *desk, members []*member) {
	if len(members) == 0 || d.blind || p.now().Sub(d.measured) < settled {
		return
	}
	d.measured = p.now()
	ids := make([]site.JobID, len(members))
	for i, m := range members {
		ids[i] = m.Job
	}
	peaks, err := p.client.Usage(ctx, ids...)
	d.blind = err == nil && len(peaks) == 0
	for _, m := range members {
		m.Peak = max(m.Peak, peaks[m.Job])
	}
}

// adopt takes into the record a job of the sweep that it does not know: one of which
// nobody heard whether it was submitted, or of a record that is gone.
func (h *past) adopt(s *sweep, submitted *record, j *site.JobInfo) {
	tasks := slurm.TasksOf(j)
	if !s.mine(j) {
		for _, t := range tasks {
			if s.byID[t] != nil && !j.State.Over() {
				h.others = append(h.others, fmt.Sprintf("job %d of %s runs a task that is called %q, too: it is of another sweep", j.ID, j.User, t))
			}
		}
		return
	}
	n := set{Learned: true} // what was predicted is not known
	for _, t := range tasks {
		m := submitted.doubtful(t)
		if m != nil {
			m.Job, m.Doubt = j.ID, false
			continue
		}
		n.Members = append(n.Members, member{Task: t, Job: j.ID})
	}
	if len(n.Members) > 0 {
		submitted.Sets = append(submitted.Sets, n)
	}
}

// doubt decides about tasks that were given to Slurm, and of which it lists no job after
// some looks: what they wrote tells whether they ran; else they never arrived.
func (h *past) doubt(d *desk, recorded map[site.JobID][]string) {
	for i := range d.record.Sets {
		set := &d.record.Sets[i]
		for k := range set.Members {
			m := &set.Members[k]
			switch {
			case !m.Doubt:
			case d.looks <= d.patience:
				h.fates[m.Task] = active
			default:
				m.Doubt = false
				m.Job, m.End = d.sweep.wrote(m.Task, set.Sent, recorded)
			}
		}
	}
}

// findLost asks for the jobs of the record that Slurm does not list.
func (p *program) findLost(ctx context.Context, h *past, submitted *record) {
	var lost []site.JobID
	for m := range submitted.members() {
		if h.all[m.Job] == nil && m.End == fresh && !slices.Contains(lost, m.Job) {
			lost = append(lost, m.Job)
		}
	}
	found := p.client.Ended(ctx, lost...)
	for i := range found {
		h.all[found[i].ID] = &found[i]
	}
}

// note takes in what became of a task in a job: once done it is done, what is active
// counts before what is over, and else the last job does.
func (h *past) note(task string, job site.JobID, f fate) {
	switch f {
	case failed:
		h.tries[task]++
	case turnedAway:
		h.turned[task]++
	case displaced:
		h.lost[task]++
	default:
	}
	was := h.fates[task]
	if was == done || was == active && f != done || f != done && f != active && job < h.jobs[task] {
		return
	}
	h.jobs[task], h.fates[task] = job, f
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
	codes, written, barred := s.codes(j.ID)
	switch {
	case k < len(codes) && codes[k] == 0:
		return done
	case barred && len(codes) == 0:
		return turnedAway
	case j.State == site.Preempted || j.State == site.NodeFailed:
		return displaced
	case j.State == site.Cancelled:
		return cancelled
	case j.State == site.Forgotten && !written:
		return unknown
	default:
		return failed
	}
}

// end is the fate of a member, task k of its job: of one that failed its log says whether it ran out of memory.
func (s *sweep) end(m *member, j *site.JobInfo, k int) fate {
	f, e := s.fate(j, k), s.byID[m.Task]
	if f != failed || e == nil {
		return f
	}
	if seen, err := see(files.Under(s.dir, s.run(e).Log)); err == nil && seen.outOfMemory {
		return starved
	}
	return failed
}

// A task that Slurm gave no GPU so often asks for a whole one, which no version gives
// away twice, and is given up in the end.
const (
	oftenTurned = 2
	mostTurned  = 20
	mostLost    = 100 // so often a task makes room for others
)

// pending are the tasks to plan.
func (d *desk) pending(h *past) []colloc.Task {
	var tasks []colloc.Task
	for _, e := range d.sweep.tasks {
		if !h.fates[e.ID].planned(*d.again) {
			continue
		}
		t := e.task
		t.Alone = t.Alone || h.turned[e.ID] >= oftenTurned
		tasks = append(tasks, t)
	}
	return tasks
}

// tell prints what became of the tasks of a sweep that are not new.
func (h *past) tell(p *program, s *sweep) {
	for f := active; f <= starved; f++ {
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
