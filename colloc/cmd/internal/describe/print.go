package describe

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"example.com/colloc/profile"
)

// newDescription describes a specification that was read of a file.
func newDescription(path, format string, spec *profile.Spec) *description {
	m := &spec.Model
	d := &description{
		File: path, Format: format, Name: m.Name, Family: m.Guess().String(), Params: m.Params(), Layers: len(m.Layers),
		Batch: spec.Training.BatchSize, Warnings: []string{}, spec: *spec,
	}
	if activations, ok := m.Activations(); ok {
		d.Activations = &activations
	}
	if macs, ok := m.MACs(); ok {
		d.MACs = &macs
	}
	return d
}

// print writes the description for people.
func (d *description) print(w *bytes.Buffer) error {
	if err := d.printModel(w); err != nil {
		return err
	}
	if d.Predict != nil {
		d.Predict.print(w)
	}
	for _, text := range d.Warnings {
		fmt.Fprintln(w, "  note:", text)
	}
	w.WriteByte('\n')
	return nil
}

// printModel writes the layers by kind, and what a step of training takes.
func (d *description) printModel(w *bytes.Buffer) error {
	t := new(bytes.Buffer)
	fmt.Fprintf(w, "%s: %s, %s, %s\n", d.File, d.Name, d.Format, d.Family)
	fmt.Fprintln(t, "  kind\tlayers\tneurons\tparameters\tactivations/sample\t")
	type sums struct {
		layers, neurons, params, activations int64
		unknown                              profile.Counts
	}
	var kinds [profile.LayerKinds]sums
	for i := range d.spec.Model.Layers {
		l := &d.spec.Model.Layers[i]
		k := &kinds[l.Kind]
		k.layers, k.neurons, k.params, k.activations = k.layers+1, k.neurons+l.Neurons, k.params+l.Params, k.activations+l.Activations
		k.unknown |= l.Unknown
	}
	for kind, k := range kinds {
		if k.layers > 0 {
			fmt.Fprintf(t, "  %s\t%d\t%s\t%s\t%s\t\n", profile.LayerKind(kind), k.layers,
				groupIf(k.neurons, k.unknown&profile.NeuronCounts == 0), groupIf(k.params, k.unknown&profile.ParamCounts == 0),
				groupIf(k.activations, k.unknown&profile.ActivationCounts == 0))
		}
	}
	neurons, knowsNeurons := d.spec.Model.Neurons()
	activations, knowsActivations := d.spec.Model.Activations()
	fmt.Fprintf(t, "  total\t%d\t%s\t%s\t%s\t\n", d.Layers, groupIf(neurons, knowsNeurons),
		groupIf(d.Params, d.spec.Model.Unknown()&profile.ParamCounts == 0), groupIf(activations, knowsActivations))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, err := table.Write(t.Bytes())
	if err := errors.Join(err, table.Flush()); err != nil {
		return err
	}
	if d.TotalParams != nil && *d.TotalParams != d.Params {
		fmt.Fprintf(w, "  the file states %s parameters\n", group(*d.TotalParams))
	}
	terms := d.spec.Terms()
	total, known := terms.Total()
	together := "together"
	if !known {
		together = "together at least"
	}
	activationBytes := "unknown"
	if a, ok := terms.Activations.Get(); ok {
		activationBytes = a.String()
	}
	fmt.Fprintf(w, "  training at batch %d in %v with %v: weights %v, gradients %v, optimiser %v, activations %s, %s %v\n",
		d.Batch, d.spec.Training.Precision, d.spec.Training.Optimizer, terms.Weights, terms.Gradients, terms.States, activationBytes, together, total)
	d.printWork(w, terms)
	return nil
}

// printWork writes the operations of a step and what the GPU makes of them.
func (d *description) printWork(w *bytes.Buffer, terms profile.Terms) {
	flops, ok := terms.FLOPs.Get()
	if !ok {
		fmt.Fprintln(w, "  work of a step: not known, as some layers do not state their multiply-adds")
		return
	}
	fmt.Fprintf(w, "  work of a step: %.4g GFLOP", flops/1e9)
	if d.gpu != nil {
		p, err := profile.New(d.spec, profile.Trace{}, *d.gpu)
		if err == nil {
			fmt.Fprintf(w, "; on %s at least %.3g ms of arithmetic and %.3g ms of memory traffic",
				d.gpu.Name, 1000*p.Vector.Or(profile.ComputeTime, 0), 1000*p.Vector.Or(profile.BandwidthTime, 0))
		}
		if total, known := terms.Total(); known {
			fmt.Fprintf(w, "; %.0f %% of its memory", 100*float64(total)/float64(d.gpu.Memory))
		}
	}
	fmt.Fprintln(w)
}

// group writes a number with commas between thousands.
func group(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// groupIf is group for a sum of known counts; the least it can be, or "unknown",
// where one of them is not told.
func groupIf(n int64, known bool) string {
	switch {
	case known:
		return group(n)
	case n > 0:
		return "at least " + group(n)
	default:
		return "unknown"
	}
}

// description is what is printed of one file.
type description struct {
	File        string   `json:"file"`
	Format      string   `json:"format"`
	Name        string   `json:"name"`
	Family      string   `json:"family"`
	Params      int64    `json:"params"`
	TotalParams *int64   `json:"total_params_stated,omitempty"`
	Layers      int      `json:"layers"`
	Activations *int64   `json:"activations_per_sample,omitempty"`
	MACs        *int64   `json:"macs_per_sample,omitempty"`
	Batch       int      `json:"batch"`
	Warnings    []string `json:"warnings"`

	Predict *prediction `json:"prediction,omitempty"`

	spec profile.Spec
	gpu  *profile.GPUModel
}
