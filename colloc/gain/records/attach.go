package records

import (
	"slices"
	"strings"
	"time"

	"example.com/colloc/profile"
	"example.com/colloc/profile/tracefile"
)

// Attached counts the jobs that utilisation was found for.
type Attached struct {
	// Labelled were named by the log; Alone had all GPUs of their nodes that anybody used
	// meanwhile, so that what was seen there is theirs. Unclear ran on nodes that were
	// watched, beside others: which GPUs were theirs nobody wrote down.
	Labelled int `json:"labelled"`
	Alone    int `json:"alone"`
	Unclear  int `json:"unclear"`
}

// least is how many samples it takes to say what a job does.
const least = 3

// Attach gives jobs what traces of GPUs tell of them: traces that name the job
// (dcgm-exporter's hpc_job), or its node. What was seen of a job before stays where the
// traces say nothing. O(samples + jobs log jobs), times the GPUs of a node.
func (l *Log) Attach(traces []profile.Trace) Attached {
	byJob, byNode := map[string][]*profile.Trace{}, map[string][]*profile.Trace{}
	for i := range traces {
		t := &traces[i]
		if job := t.Labels[tracefile.LabelJob]; job != "" {
			byJob[job] = append(byJob[job], t)
		}
		if host := node(t.Labels[tracefile.LabelHost]); host != "" {
			byNode[host] = append(byNode[host], t)
		}
	}
	alone := l.alone(byNode)
	var found Attached
	for i := range l.Jobs {
		j := &l.Jobs[i]
		number, _, _ := strings.Cut(j.ID, "#")
		var m mean
		m.all(slices.Concat(byJob[number], byJob[j.Raw]), j, 0)
		if m.give(j) {
			found.Labelled++
			continue
		}
		watched := false
		m = mean{}
		for _, n := range j.Nodes {
			if ts := byNode[node(n)]; ts != nil {
				watched = true
				m.all(ts, j, (j.GPUs+len(j.Nodes)-1)/len(j.Nodes))
			}
		}
		switch {
		case watched && !alone[i]:
			found.Unclear++
		case m.give(j):
			found.Alone++
		}
	}
	return found
}

// node is a host's name without its domain and port.
func node(host string) string {
	host, _, _ = strings.Cut(host, ":")
	host, _, _ = strings.Cut(host, ".")
	return strings.ToLower(host)
}

// alone says which jobs shared none of their watched nodes with another.
func (l *Log) alone(watched map[string][]*profile.Trace) []bool {
	alone := make([]bool, len(l.Jobs))
	on := map[string][]int{}
	for i := range l.Jobs {
		alone[i] = len(l.Jobs[i].Nodes) > 0
		for _, n := range l.Jobs[i].Nodes {
			if n = node(n); watched[n] != nil {
				on[n] = append(on[n], i)
			}
		}
	}
	for _, jobs := range on {
		slices.SortFunc(jobs, func(a, b int) int { return l.Jobs[a].Started.Compare(l.Jobs[b].Started) })
		last := -1 // whose end is the latest
		for _, i := range jobs {
			if last >= 0 && l.Jobs[i].Started.Before(l.Jobs[last].Ended) {
				alone[i], alone[last] = false, false
			}
			if last < 0 || l.Jobs[i].Ended.After(l.Jobs[last].Ended) {
				last = i
			}
		}
	}
	return alone
}

// mean gathers what was seen of a job.
type mean struct {
	sm, dram, busy, mem sum
	peak                profile.Opt[profile.Bytes]
	samples             int
}

type sum struct {
	of float64
	n  int
}

func (s *sum) add(x profile.Opt[float64]) {
	if v, ok := x.Get(); ok {
		s.of, s.n = s.of+v, s.n+1
	}
}

func (s *sum) mean() profile.Opt[float64] {
	if s.n == 0 {
		return profile.Opt[float64]{}
	}
	return profile.Some(max(0, min(1, s.of/float64(s.n))))
}

// all takes the samples of a job's time. With most above 0 only so many of the traces
// count, those with the most memory in use: the other GPUs idled.
func (m *mean) all(traces []*profile.Trace, j *Job, most int) {
	parts := make([]mean, len(traces))
	for i, t := range traces {
		parts[i].within(t.Samples, j.Started, j.Ended)
	}
	if most > 0 && len(parts) > most {
		slices.SortStableFunc(parts, func(a, b mean) int { return int(max(-1, min(1, b.peak.Or(0)-a.peak.Or(0)))) })
		parts = parts[:most]
	}
	for _, p := range parts {
		for _, s := range []struct{ to, from *sum }{{&m.sm, &p.sm}, {&m.dram, &p.dram}, {&m.busy, &p.busy}, {&m.mem, &p.mem}} {
			s.to.of, s.to.n = s.to.of+s.from.of, s.to.n+s.from.n
		}
		if peak, ok := p.peak.Get(); ok && peak >= m.peak.Or(0) {
			m.peak = p.peak
		}
		m.samples += p.samples
	}
}

// within takes the samples from one time to another; they are in order.
func (m *mean) within(samples []profile.Sample, from, to time.Time) {
	first, _ := slices.BinarySearchFunc(samples, from, func(s profile.Sample, at time.Time) int { return s.At.Compare(at) })
	for i := first; i < len(samples) && samples[i].At.Before(to); i++ {
		s := &samples[i]
		m.samples++
		m.sm.add(s.SMActive)
		m.dram.add(s.DRAMActive)
		m.busy.add(s.GPUBusy)
		m.mem.add(s.MemBusy)
		if used, ok := s.MemUsed.Get(); ok && used >= m.peak.Or(0) {
			m.peak = profile.Some(used)
		}
	}
}

// give tells the job, if enough was seen.
func (m *mean) give(j *Job) bool {
	if m.samples < least || m.peak.IsZero() || m.sm.n+m.busy.n == 0 {
		return false
	}
	j.Seen = profile.Solo{
		SMActive: m.sm.mean(), DRAMActive: m.dram.mean(), GPUBusy: m.busy.mean(), MemBusy: m.mem.mean(), Memory: m.peak,
	}
	return true
}
