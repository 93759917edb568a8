package gain

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"example.com/colloc/colloc/gain/records"
	"example.com/colloc/colloc/sim"
)

// cut keeps what lies between From and Until, and returns the two and how many jobs were outside.
func (o *Options) cut(all []records.Job) (jobs []records.Job, from, until time.Time, outside int) {
	for i := range all {
		j := all[i]
		if j.GPUs < 1 || !j.Ended.After(j.Started) || !o.From.IsZero() && !j.Ended.After(o.From) || !o.Until.IsZero() && !j.Started.Before(o.Until) {
			outside++
			continue
		}
		whole, ran := j.Ended.Sub(j.Started), j.Ran
		if j.Started.Before(o.From) {
			j.Started = o.From
		}
		if j.Submitted.Before(o.From) {
			j.Submitted = o.From
		}
		if !o.Until.IsZero() && j.Ended.After(o.Until) {
			j.Ended = o.Until
		}
		if ran <= 0 || ran > whole {
			ran = whole
		}
		if j.Submitted.IsZero() || j.Submitted.After(j.Started) {
			j.Submitted = j.Started
		}
		j.Ran = max(1, time.Duration(float64(ran)*(float64(j.Ended.Sub(j.Started))/float64(whole))))
		jobs = append(jobs, j)
	}
	slices.SortStableFunc(jobs, func(a, b records.Job) int {
		return cmp.Or(a.Submitted.Compare(b.Submitted), a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
	})
	if len(jobs) == 0 {
		return nil, o.From, o.Until, outside
	}
	from, until = jobs[0].Submitted, jobs[0].Ended
	for i := range jobs {
		if jobs[i].Ended.After(until) {
			until = jobs[i].Ended
		}
	}
	return jobs, from, until, outside
}

// A window is the part of a pool's jobs that one replication plays.
type window struct {
	first, end int // of those that count
	from       time.Time
	tasks      []sim.Task // those before it that ran or waited first; IDs are indices
}

// limit is how many jobs of the pool one replication plays.
func (p *pool) limit(o *Options, all, replications int) int {
	n := len(p.jobs)
	if o.Sample > 0 {
		return max(1, min(n, o.Sample*n/max(1, all)))
	}
	// A minute on one core, by what a decision costs.
	const budget, fixed, perGPU = 60e6, 100, 1.5
	gpus := p.cluster.GPUs()
	cost := fixed + perGPU*float64(gpus)
	few := max(2000, 8*gpus)
	return min(n, max(few, int(budget*float64(n)/float64(max(1, all))/float64(replications)/cost)))
}

// draw returns the window of a replication, of limit jobs.
func (p *pool) draw(limit int, seed uint64) *window {
	first := rand.New(rand.NewPCG(seed, 0x77696e646f77)).IntN(len(p.jobs) - limit + 1)
	w := &window{first: first, end: first + limit, from: p.jobs[first].Submitted}
	for i := range w.first { // what was there when the window begins
		if j := &p.jobs[i]; j.Ended.After(w.from) {
			t := p.task(i)
			if j.Started.Before(w.from) {
				t.Work = max(1, time.Duration(float64(j.Ran)*(float64(j.Ended.Sub(w.from))/float64(j.Ended.Sub(j.Started)))))
			}
			w.tasks = append(w.tasks, t)
		}
	}
	slices.SortStableFunc(w.tasks, func(a, b sim.Task) int { return p.jobs[index(a.ID)].Started.Compare(p.jobs[index(b.ID)].Started) })
	for i := w.first; i < w.end; i++ {
		t := p.task(i)
		t.Arrival = p.jobs[i].Submitted.Sub(w.from)
		w.tasks = append(w.tasks, t)
	}
	return w
}

// task makes a task of a job, as it truly was.
func (p *pool) task(i int) sim.Task {
	j := &p.jobs[i]
	return sim.Task{
		ID: strconv.Itoa(i), Work: j.Ran, GPUs: j.GPUs, OneNode: len(j.Nodes) == 1, Memory: j.need,
		Type: j.kind, Class: j.User, Profile: j.seen, Busy: j.Seen.SMActive.Or(j.Seen.GPUBusy.Or(0)),
	}
}

// index is that of the job of a task.
func index(id string) int {
	i, err := strconv.Atoi(id)
	if err != nil {
		return -1 // there is none: task gave it
	}
	return i
}
