package dispatch

import "time"

// Expectation is when a job starts and ends, as far as is known now.
type Expectation struct {
	Start Range `json:"start"`
	End   Range `json:"end"`
}

// Range is a time, and the least and the most that it is if all that is left takes half as long, as
// long, or twice as long as is known or guessed. It is no interval of confidence: what still comes and
// what fails is not in it.
type Range struct {
	Value time.Duration `json:"value_ns"`
	Lo    time.Duration `json:"lo_ns"`
	Hi    time.Duration `json:"hi_ns"`
}

// with widens a range.
func (r Range) with(at time.Duration) Range {
	return Range{r.Value, min(r.Lo, at), max(r.Hi, at)}
}

// Expect is when each job that runs starts and ends, or that waits and can: by the rule that decided
// last, as if nothing else came. It changes no later answer, and costs three plays of the rest of
// the day.
func (d *Dispatcher) Expect() map[string]Expectation {
	out := make(map[string]Expectation, len(d.jobs))
	for id, x := range d.online.Expect(1) {
		if j := d.jobs[id]; j != nil {
			start, end := max(d.now, x.Start), max(d.now, x.End)
			if j.run != nil && j.run.phase == running {
				start = j.run.since
			}
			out[id] = Expectation{Range{start, start, start}, Range{end, end, end}}
		}
	}
	for _, factor := range [...]float64{0.5, 2} {
		for id, x := range d.online.Expect(factor) {
			was, ok := out[id]
			if !ok {
				continue
			}
			if j := d.jobs[id]; j.run == nil || j.run.phase != running {
				was.Start = was.Start.with(max(d.now, x.Start))
			}
			was.End = was.End.with(max(d.now, x.End))
			out[id] = was
		}
	}
	return out
}
