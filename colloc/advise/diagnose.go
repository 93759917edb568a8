package advise

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

// Diagnosis is what keeps a task from doing more work per GPU, and what to do.
type Diagnosis struct {
	// Bottleneck is that of the first finding; 0 if there is none.
	Bottleneck Bottleneck `json:"bottleneck"`
	// Findings are the bottlenecks that were found, the one to solve first first.
	Findings []Finding `json:"findings"`
	// Remedies are what to do, best first: for a task that does not fit in the
	// order in which to try them, otherwise by predicted throughput.
	Remedies []Remedy `json:"remedies"`
	// Warnings say what could not be judged and why.
	Warnings []string `json:"warnings,omitempty"`
}

// Diagnose names the bottleneck of a task from its profile, with evidence, and
// ranks remedies with their predicted effect. It never fails: what cannot be
// judged, because it was not measured or makes no sense, is a warning. Each
// finding and remedy names the source of its rule.
//
// Effects on throughput are ranges that follow from the measured shares of time,
// not promises; memory is predicted by the Planner, scaled by the measured peak
// where there is one. O(layers x remedies + copies^3).
func Diagnose(p *profile.Profile, o *Options) Diagnosis {
	d := Diagnosis{Findings: []Finding{}, Remedies: []Remedy{}}
	if o == nil {
		o = &Options{}
	}
	if p == nil {
		d.warn("the profile is nil: nothing is known of the task")
		return d
	}
	if err := p.Spec.Validate(); err != nil {
		d.warn("the profile describes no task that can be: %v", err)
		return d
	}
	v, err := newView(p, o)
	if err != nil {
		d.warn("no predictions: %v", err)
		return d
	}
	d.Findings = append(d.Findings, v.findings()...)
	if len(d.Findings) > 0 {
		d.Bottleneck = d.Findings[0].Bottleneck
	}
	for _, f := range d.Findings {
		d.Remedies = append(d.Remedies, v.remedies(f.Bottleneck)...)
	}
	d.Remedies = rank(d.Remedies)
	d.Warnings = append(d.Warnings, v.warnings...)
	return d
}

func (d *Diagnosis) warn(format string, args ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
}

// rank puts remedies in their order: those for a task that does not fit stay in
// front as they are, the others follow by throughput. Of two for the same
// action the first stays.
func rank(all []Remedy) []Remedy {
	var kept []Remedy
	for _, r := range all {
		same := func(o Remedy) bool { return o.Action == r.Action && o.Count == r.Count }
		if !slices.ContainsFunc(kept, same) {
			kept = append(kept, r)
		}
	}
	slices.SortStableFunc(kept, func(a, b Remedy) int {
		return cmp.Or(cmp.Compare(b.urgency, a.urgency), cmp.Compare(b.Throughput.Value, a.Throughput.Value))
	})
	return append([]Remedy{}, kept...)
}

// remedies lists what helps against one bottleneck.
func (v *view) remedies(p Bottleneck) []Remedy {
	switch p {
	case TooLargeToFit:
		return v.ladder()
	case StarvedByInput:
		return collect(v.lightenInput(), v.collocate())
	case FewWorkers:
		return collect(v.addWorkers(), v.collocate())
	case ComputeBound:
		return collect(v.mixPrecision())
	case BandwidthBound:
		return collect(v.mixPrecision(), v.collocate())
	case Underused:
		return collect(v.collocate(), v.enlargeBatch())
	case TooLargeToShare:
		return collect(v.mixPrecision(), v.recompute(), v.shrinkBatch(v.shareable()))
	default:
		return nil
	}
}

// collect drops what does not apply.
func collect(all ...*Remedy) []Remedy {
	var list []Remedy
	for _, r := range all {
		if r != nil {
			list = append(list, *r)
		}
	}
	return list
}
