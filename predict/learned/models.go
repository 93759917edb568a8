package learned

import (
	"fmt"
	"strings"

	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// Models are the predictors that learn. All three are required. Safe for concurrent
// use as they are.
type Models struct {
	Memory       *memory.Predictor
	Interference *interference.Predictor
	Pace         *pace.Predictor
}

// Clone returns independent copies: what either side learns from now on, the other
// does not.
func (m Models) Clone() Models {
	return Models{m.Memory.Clone(), m.Interference.Clone(), m.Pace.Clone()}
}

// Task is what was learned of one task.
type Task struct {
	// Type is what the task is recognised by, see [profile.Spec.Type].
	Type string `json:"type"`
	// Memory is what was seen of its peaks.
	Memory memory.Seen `json:"memory"`
	// Speeds are what is known of its type beside others, by GPU and mechanism.
	Speeds []interference.Seen `json:"speeds,omitempty"`
	// Throughputs are what was measured of it alone, by GPU.
	Throughputs []pace.Seen `json:"throughputs,omitempty"`
}

// Of tells what was learned of a task; a nil profile is one of which nothing is known.
// O(co-runs that are kept).
func (m Models) Of(p *profile.Profile) Task {
	if p == nil {
		return Task{Memory: memory.Seen{Factor: 1}}
	}
	peak, _ := p.Vector.Get(profile.PeakMemory)
	known := min(profile.MaxCount, max(0, profile.BytesOf(peak)))
	return Task{
		Type: p.Spec.Type(), Memory: m.Memory.Seen(&p.Spec, known), Speeds: m.Interference.Seen(p), Throughputs: m.Pace.Seen(p),
	}
}

// String says it in lines, each of which ends in a newline.
func (t Task) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.Type)
	if s := t.Memory; s.Least > 0 || s.Runs > 0 {
		fmt.Fprintf(&b, "  memory: at least %v is reserved", s.Least)
		for _, part := range []struct {
			what string
			n    profile.Bytes
		}{{"measured peak", s.Peak}, {"died with", s.Reached}, {"raised after a death to", s.Raised}} {
			if part.n > 0 {
				fmt.Fprintf(&b, ", %s %v", part.what, part.n)
			}
		}
		if s.Runs > 0 {
			fmt.Fprintf(&b, "; predictions of its model times %.3g after %d runs", s.Factor, s.Runs)
		}
		b.WriteString("\n")
	}
	for _, s := range t.Speeds {
		fmt.Fprintf(&b, "  %s, %v: %d co-runs; beyond its use it loses %.3f, each neighbour %.3f\n", s.GPU, s.Mechanism, s.CoRuns, s.Own, s.Others)
	}
	for _, s := range t.Throughputs {
		fmt.Fprintf(&b, "  %s alone: throughput %.4g in %d runs\n", s.GPU, s.Throughput, s.Runs)
	}
	return b.String()
}
