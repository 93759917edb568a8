package advise

import (
	"fmt"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// Options says what to diagnose against. The zero value, or nil, is the
// documented default.
type Options struct {
	// Planner predicts memory and speeds, with its headroom, risk and limits;
	// nil is New(Config{}), which reads the pretrained models anew, a tenth of
	// a second: pass one if you have it.
	Planner *colloc.Planner
	// GPU is the product the task is to run on; the zero GPUModel is the one of
	// the profile.
	GPU profile.GPUModel
	// Mechanism is how tasks would share; the zero value is time-slicing.
	Mechanism profile.Mechanism
	// Thresholds decide what is low and high.
	Thresholds Thresholds
	// CPUs is the number of CPU cores the task may use; 0 is unknown and counts
	// as 8 where data-loader workers are advised.
	CPUs int
	// MaxCopies is the largest number of tasks like this one that may share a
	// GPU; 0 means 8.
	MaxCopies int
	// MaxGPUs is the largest number of GPUs for one task that does not fit on
	// one; 0 means 8.
	MaxGPUs int
	// Scaling are measurements of the task on several GPUs, see [ChooseGPUs];
	// none leaves that question open. MinGain is its threshold.
	Scaling []ScalingPoint
	MinGain float64
	// Spot is the offer of machines that are taken away at times, see
	// [PlanSpot]; nil leaves that question open.
	Spot *Spot
}

// Thresholds are the fractions from which a feature counts as low or high. 0
// means the default.
type Thresholds struct {
	// LowSM is the share of SMs below which a GPU is used ineffectively:
	// default 0.5. HighSM is the one from which it is used well: default 0.8.
	// Both are those of NVIDIA's DCGM manual, "SM activity".
	LowSM  float64
	HighSM float64
	// HighDRAM is the share of memory-interface cycles from which bandwidth
	// limits: default 0.6, three quarters of the 0.8 that the DCGM manual gives
	// as the most that can be reached.
	HighDRAM float64
	// HighCPU is the share of the CPU allotment from which it limits: default
	// 0.8.
	HighCPU float64
	// HighMemory is the share of GPU memory from which a task is large enough
	// that an idle GPU is waste: default 0.5.
	HighMemory float64
	// LargeMemory is the share of GPU memory beyond which sharing makes no
	// sense: default 0.8. With 10 % headroom less than a tenth is left.
	LargeMemory float64
}

func (t *Thresholds) fill() {
	for _, f := range []struct {
		field *float64
		value float64
	}{
		{&t.LowSM, 0.5},
		{&t.HighSM, 0.8},
		{&t.HighDRAM, 0.6},
		{&t.HighCPU, 0.8},
		{&t.HighMemory, 0.5},
		{&t.LargeMemory, 0.8},
	} {
		if !(*f.field > 0 && *f.field <= 1) { // also NaN
			*f.field = f.value
		}
	}
}

// Diagnosis is what keeps a task from doing more work per GPU, and what to do.
type Diagnosis struct {
	// Bottleneck is that of the first finding; 0 if there is none.
	Bottleneck Bottleneck `json:"bottleneck"`
	// Findings are the bottlenecks that were found, the one to solve first first.
	Findings []Finding `json:"findings"`
	// Remedies are what to do, best first: for a task that does not fit in the
	// order in which to try them, otherwise by predicted throughput.
	Remedies []Remedy `json:"remedies"`
	// Scaling are the choices that [ChooseGPUs] made, Spot what [PlanSpot]
	// found; empty if it was not asked for.
	Scaling []ScalingChoice `json:"scaling,omitempty"`
	Spot    *SpotPlan       `json:"spot,omitempty"`
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
	d.scale(o)
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

// scale answers what the options ask about more GPUs and other machines.
func (d *Diagnosis) scale(o *Options) {
	choices, err := ChooseGPUs(o.Scaling, o.MinGain)
	if err != nil {
		d.warn("%v", err)
	}
	if len(choices) > 0 {
		d.Scaling = choices
	}
	if o.Spot == nil {
		return
	}
	plan, err := PlanSpot(*o.Spot)
	if err != nil {
		d.warn("%v", err)
		return
	}
	d.Spot = &plan
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
		switch {
		case a.step != 0 || b.step != 0:
			return stepOrder(a.step, b.step)
		case a.Throughput.Value > b.Throughput.Value:
			return -1
		case a.Throughput.Value < b.Throughput.Value:
			return 1
		}
		return 0
	})
	return append([]Remedy{}, kept...)
}

// stepOrder compares steps of the ladder; 0 is none and comes last.
func stepOrder(a, b int) int {
	switch {
	case a == 0:
		return 1
	case b == 0:
		return -1
	}
	return a - b
}
