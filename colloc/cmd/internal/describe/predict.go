package describe

import (
	"bytes"
	"fmt"
	"strings"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/advise"
	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// prediction is what colloc makes of a task on a GPU.
type prediction struct {
	GPU      string            `json:"gpu"`
	Peak     *predict.Estimate `json:"peak_bytes,omitempty"`
	Reserved profile.Bytes     `json:"reserved_bytes,omitempty"`
	Busy     *predict.Estimate `json:"gpu_busy,omitempty"`
	// Measured says that Busy was seen and not predicted.
	Measured bool `json:"gpu_busy_measured,omitempty"`
	// Beside is the speed beside a copy of itself; nil where that does not fit, or
	// cannot be told.
	Beside    *predict.Estimate `json:"speed_beside_a_copy,omitempty"`
	Why       string            `json:"why,omitempty"` // no speed
	Diagnosis advise.Diagnosis  `json:"diagnosis"`
}

// predictor predicts with one Planner, which is made when it is first asked.
type predictor struct{ planner *colloc.Planner }

// predict predicts for a task on a GPU. wait is the share of its steps in which it
// waited for data.
func (r *predictor) predict(p *profile.Profile, gpu *profile.GPUModel, wait profile.Opt[float64]) (*prediction, error) {
	if r.planner == nil {
		planner, err := colloc.New(colloc.Config{})
		if err != nil {
			return nil, err
		}
		r.planner = planner
	}
	task := colloc.Task{ID: "task", Profile: p}
	out := &prediction{GPU: gpu.Name, Diagnosis: advise.Diagnose(p, &advise.Options{Planner: r.planner, GPU: *gpu, DataWait: wait})}
	peak, reserved, err := r.planner.Memory(task)
	if err != nil {
		return nil, err
	}
	out.Peak, out.Reserved = &peak, reserved
	if busy, ok := p.Vector.Get(profile.MeanGPUBusy); ok {
		out.Busy, out.Measured = &predict.Estimate{Value: busy, Lo: busy, Hi: busy, Confidence: 1}, true
	} else if busy, _, err := r.planner.Config().Utilization.Busy(&p.Spec, gpu); err == nil {
		out.Busy = &busy
	}
	other := task
	other.ID, other.Reserved = "copy", reserved
	verdict, err := r.planner.Fit(task, colloc.GPU{ID: "gpu", Model: *gpu, Residents: []colloc.Task{other}})
	switch {
	case err != nil:
		out.Why = err.Error()
	case verdict.Speed.Confidence > 0:
		out.Beside = &verdict.Speed
	default:
		out.Why = verdict.String()
	}
	return out, nil
}

// print writes the prediction for people.
func (p *prediction) print(w *bytes.Buffer) {
	fmt.Fprintf(w, "  on %s:", p.GPU)
	if p.Reserved > 1<<56 || p.Peak == nil {
		fmt.Fprint(w, " memory is not known, so that it is given a whole GPU")
	} else {
		fmt.Fprintf(w, " peak %v (%v to %v, %v), reserve %v", profile.BytesOf(p.Peak.Value), profile.BytesOf(p.Peak.Lo), profile.BytesOf(p.Peak.Hi), p.Peak.Source.Kind, p.Reserved)
	}
	if p.Busy != nil {
		fmt.Fprintf(w, "; GPU busy %.0f %%", 100*p.Busy.Value)
		if p.Measured {
			fmt.Fprint(w, " (measured)")
		} else {
			fmt.Fprintf(w, " (%.0f to %.0f, %v)", 100*p.Busy.Lo, 100*p.Busy.Hi, p.Busy.Source.Kind)
		}
	}
	if p.Beside != nil {
		fmt.Fprintf(w, "; beside a copy of itself at %.2f of its speed (%.2f to %.2f, %v)", p.Beside.Value, p.Beside.Lo, p.Beside.Hi, p.Beside.Source.Kind)
	} else {
		fmt.Fprintf(w, "; not beside a copy of itself: %s", p.Why)
	}
	fmt.Fprintln(w)
	for _, f := range p.Diagnosis.Findings {
		var evidence []string
		for _, e := range f.Evidence {
			evidence = append(evidence, e.String())
		}
		fmt.Fprintf(w, "  bottleneck: %v (%s)\n", f.Bottleneck, strings.Join(evidence, ", "))
	}
	const most = 3
	for _, r := range p.Diagnosis.Remedies[:min(most, len(p.Diagnosis.Remedies))] {
		fmt.Fprintf(w, "  try %v\n", r)
	}
}
