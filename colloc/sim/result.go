package sim

import (
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/sim/internal/agenda"
)

// Result is what a run came to. Times are means and quantiles over the tasks
// that finished.
type Result struct {
	// Policy is the policy's name.
	Policy string `json:"policy"`
	// Tasks were submitted, Finished did all their work, Failed were given up,
	// Unfinished are the rest.
	Tasks      int `json:"tasks"`
	Finished   int `json:"finished"`
	Failed     int `json:"failed,omitempty"`
	Unfinished int `json:"unfinished,omitempty"`
	// Makespan is when the last task finished, counted from the first arrival.
	Makespan time.Duration `json:"makespan_ns"`
	// MeanJCT, P50JCT and P99JCT are completion times, from arrival to finish;
	// quantiles are the smallest value that so many are at most.
	MeanJCT time.Duration `json:"mean_jct_ns"`
	P50JCT  time.Duration `json:"p50_jct_ns"`
	P99JCT  time.Duration `json:"p99_jct_ns"`
	// MeanWait is the mean time without GPUs.
	MeanWait time.Duration `json:"mean_wait_ns"`
	// Fairness is the finish-time ratio of Themis (Mahajan et al., NSDI 2020):
	// completion time over that on an own 1/n of the cluster, n being the mean
	// number of tasks in the system meanwhile. Above 1 sharing the cluster cost
	// the task time.
	Fairness Fairness `json:"finish_time_ratio"`
	// Energy is that of all GPUs up to the end, in joules.
	Energy float64 `json:"energy_j"`
	// Occupied, Allocated and Busy are means over time and GPUs, see [Point].
	Occupied  float64 `json:"occupied"`
	Allocated float64 `json:"allocated"`
	Busy      float64 `json:"busy"`
	// OutOfMemory counts deaths, Recoveries starts after a death or the loss of a
	// GPU, Preemptions stops by the policy.
	OutOfMemory int `json:"oom"`
	Recoveries  int `json:"recoveries"`
	Preemptions int `json:"preemptions"`
	// Wasted is the work that deaths and losses took with them.
	Wasted time.Duration `json:"wasted_ns"`
	// Decisions counts how often the policy was asked, Events the arrivals,
	// starts and ends of tasks.
	Decisions int `json:"decisions"`
	Events    int `json:"events"`
	// Ends are the tasks that ended, in the order in which they did.
	Ends []End `json:"-"`
	// Series is the state of the cluster over time, on an even grid.
	Series []Point `json:"-"`
	// Last is the state at the end.
	Last Point `json:"-"`
}

// Fairness summarises finish-time ratios.
type Fairness struct {
	Mean float64 `json:"mean"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// End is the life of a task that finished or was given up.
type End struct {
	// Task is an index in the order of arrival, ID its name.
	Task int    `json:"-"`
	ID   string `json:"task"`
	// User and Priority are the task's.
	User     string `json:"user,omitempty"`
	Priority int    `json:"priority,omitempty"`
	// Arrival, Start (the first; -1 is never) and End are when.
	Arrival time.Duration `json:"arrival_ns"`
	Start   time.Duration `json:"start_ns"`
	End     time.Duration `json:"end_ns"`
	// Wait is the time without GPUs, Ratio the finish-time ratio.
	Wait  time.Duration `json:"wait_ns"`
	Ratio float64       `json:"finish_time_ratio"`
	// Deaths counts how often it ran out of memory; Finished is false if it was
	// given up.
	Deaths   int  `json:"deaths,omitempty"`
	Finished bool `json:"finished"`
}

// JCT is the completion time.
func (e *End) JCT() time.Duration { return e.End - e.Arrival }

// record notes the end of a task.
func (s *simulation) record(i int) {
	v, r := &s.state.tasks[i], &s.tasks[i]
	e := End{
		Task: i, ID: v.ID, User: v.User, Priority: v.Priority, Arrival: v.Arrival, Start: r.first, End: s.now, Wait: r.waited,
		Deaths: v.Deaths, Finished: v.status == finished,
	}
	if v.status == failed {
		e.Wait += s.now - v.Since
	}
	jct := float64(e.JCT()) // more than 0: what starts ends later
	others := r.integral / jct
	own := max(1, others*float64(max(1, v.GPUs))/float64(len(s.gpus)))
	e.Ratio = jct / (float64(r.task.Work) * own)
	s.ends = append(s.ends, e)
}

func (s *simulation) result() *Result {
	m := &s.meter
	r := &Result{
		Policy: s.policy.Name(), Tasks: len(s.tasks), Energy: m.energy,
		OutOfMemory: m.counts[OutOfMemory], Recoveries: m.counts[Recovery], Preemptions: m.counts[Preemption],
		Wasted: time.Duration(m.wasted), Decisions: m.decisions, Ends: s.ends, Series: m.series, Last: s.point(),
		Events: m.counts[Arrival] + m.counts[Start] + m.counts[Recovery] + m.counts[Preemption] +
			m.counts[OutOfMemory] + m.counts[Finish] + m.counts[Failure],
	}
	r.Last.At = s.now
	if total := float64(len(s.gpus)) * s.now.Seconds(); total > 0 {
		r.Busy, r.Allocated, r.Occupied = m.busy/total, m.taken/total, m.occupied/total
	}
	first := time.Duration(0)
	if len(s.tasks) > 0 {
		first = s.tasks[0].task.Arrival
	}
	var jct []time.Duration
	var ratios []float64
	sum, wait := 0.0, 0.0
	for i := range s.ends {
		e := &s.ends[i]
		if !e.Finished {
			r.Failed++
			continue
		}
		r.Makespan = e.End - first
		jct, ratios = append(jct, e.JCT()), append(ratios, e.Ratio)
		sum, wait = sum+float64(e.JCT()), wait+float64(e.Wait)
		r.Fairness.Mean += e.Ratio
	}
	r.Finished = len(jct)
	r.Unfinished = r.Tasks - r.Finished - r.Failed
	if n := float64(r.Finished); n > 0 {
		slices.Sort(jct)
		slices.Sort(ratios)
		r.MeanJCT, r.MeanWait = time.Duration(sum/n), time.Duration(wait/n)
		r.P50JCT, r.P99JCT = quantile(jct, 0.5), quantile(jct, 0.99)
		r.Fairness = Fairness{Mean: r.Fairness.Mean / n, P99: quantile(ratios, 0.99), Max: ratios[len(ratios)-1]}
	}
	return r
}

// quantile is the nearest rank of sorted values.
func quantile[T any](sorted []T, q float64) T {
	return sorted[max(0, int(math.Ceil(float64(q*float64(len(sorted)))))-1)]
}

// sample records the points of the time series that lie before a moment. There
// are never more than asked for: when they are full every other one goes, and
// the grid becomes twice as wide.
func (s *simulation) sample(before time.Duration) {
	m := &s.meter
	if m.next >= before {
		return
	}
	p := s.point()
	for m.next < before {
		if len(m.series) == cap(m.series) {
			half := m.series[:0]
			for i := 0; i < len(m.series); i += 2 {
				half = append(half, m.series[i])
			}
			m.series = half
			m.every *= 2
			m.next = agenda.Later(m.series[len(m.series)-1].At, m.every)
			continue
		}
		p.At = m.next
		m.series = append(m.series, p)
		m.next = agenda.Later(m.next, m.every)
	}
}

// point measures the cluster as it is now.
func (s *simulation) point() Point {
	p := Point{Waiting: s.state.waiting.Len() + s.gate.Len(), Running: s.state.running.Len()}
	all, memory := float64(len(s.gpus)), 0.0
	for g := range s.gpus {
		gpu := &s.gpus[g]
		if len(gpu.view.Set) > 0 {
			p.Occupied++
		}
		p.Allocated += gpu.taken
		p.Busy += gpu.busy
		p.Watts += gpu.watts
		memory += float64(gpu.view.Used) / float64(gpu.view.Total)
	}
	p.Occupied, p.Allocated, p.Busy, p.Memory = p.Occupied/all, p.Allocated/all, p.Busy/all, memory/all
	return p
}
