package dataset

import (
	"errors"
	"fmt"
	"io"

	"example.com/colloc/predict/pace"
	"example.com/colloc/profile"
)

// MIGRow is one measured task on one slice.
type MIGRow struct {
	// Line is the row's line in the file.
	Line int
	// Observation is the task, the slice and its speed there.
	Observation pace.MIGObservation
	// Excluded says why the row must not be used; empty for a good row.
	Excluded string
}

// ReadMIG reads MISO's measurements of single tasks on the slices of an A100.
// Rows of one task share one Profile. file names the source in errors. O(rows).
func ReadMIG(file string, r io.Reader) ([]MIGRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	if err := t.require("gpu", "model", "batch_size", "slice", "slice_compute_sevenths", "norm_speed_median",
		"solo_gpu_util_pct", "solo_mem_util_pct", "solo_power_w"); err != nil {
		return nil, err
	}
	tasks := make(map[string]*profile.Profile)
	out := make([]MIGRow, len(t.rows))
	for i := range t.rows {
		line, o := t.row(i), &out[i].Observation
		out[i].Line = t.lines[i]
		o.Profile = line.migTask(tasks)
		o.GPU = line.gpuModel()
		o.Slice = line.slice(&o.GPU)
		o.Speed = line.number("norm_speed_median")
		o.Group = line.text("model")
		if o.Group == "deepspeech2" {
			out[i].Excluded = "erratic: its steps vary with the length of the utterances"
		}
		if err := line.err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// migTask builds the profile of a task from its solo use on the whole GPU, once.
// The memory in use is the framework's grown pool and not read.
func (r *row) migTask(tasks map[string]*profile.Profile) *profile.Profile {
	key := r.text("model") + "\x00" + r.text("batch_size")
	if p, ok := tasks[key]; ok {
		return p
	}
	spec := profile.Spec{
		Model:    profile.Model{Name: r.text("model")},
		Training: profile.Training{BatchSize: int(r.count("batch_size"))},
	}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{{
		GPUBusy:    r.fraction("solo_gpu_util_pct", 100),
		MemBusy:    r.fraction("solo_mem_util_pct", 100),
		PowerWatts: r.opt("solo_power_w"),
	}}}, r.gpuModel())
	if err != nil {
		r.fault("model", "%v", err)
	}
	tasks[key] = &p
	return &p
}

// slice finds the GPU's instance profile of the row's name, "3g.20gb", which has as
// many compute slices as the row says.
func (r *row) slice(gpu *profile.GPUModel) profile.MIGProfile {
	compute, name := int(r.count("slice_compute_sevenths")), r.text("slice")
	for _, s := range gpu.MIG {
		if s.Compute == compute && s.Name == name {
			return s
		}
	}
	r.fault("slice", "%q with %d compute slices is none of %q", name, compute, gpu.Name)
	return profile.MIGProfile{}
}

// MixRow is one mix of tasks, measured under MPS and on MIG slices.
type MixRow struct {
	// Line is the row's line in the file.
	Line int
	// Name identifies the mix.
	Name string
	// Mix holds the speeds.
	Mix pace.Mix
}

// ReadMixes reads MISO's mixes of seven tasks: columns mpsP_jobJ for each
// thread percentage P and mig_rowR_jobJ for each size of slice. O(rows).
func ReadMixes(file string, r io.Reader) ([]MixRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	probes, slices := []string{"mps100", "mps50", "mps14"}, []string{"mig_row0", "mig_row1", "mig_row2"}
	const jobs = 7
	errs := []error{t.require("mix")}
	for _, prefix := range append(append([]string(nil), probes...), slices...) {
		for j := range jobs {
			errs = append(errs, t.require(jobColumn(prefix, j)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := make([]MixRow, len(t.rows))
	for i := range t.rows {
		line := t.row(i)
		out[i] = MixRow{Line: t.lines[i], Name: line.text("mix")}
		for _, p := range probes {
			out[i].Mix.Probes = append(out[i].Mix.Probes, line.speeds(p, jobs))
		}
		for _, s := range slices {
			out[i].Mix.Slices = append(out[i].Mix.Slices, line.speeds(s, jobs))
		}
		if err := line.err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func jobColumn(prefix string, j int) string { return fmt.Sprintf("%s_job%d", prefix, j) }

func (r *row) speeds(prefix string, jobs int) []float64 {
	out := make([]float64, jobs)
	for j := range out {
		column := jobColumn(prefix, j)
		if out[j] = r.number(column); !(out[j] > 0 && out[j] <= 1) {
			r.fault(column, "%v is not a relative speed in (0, 1]", out[j])
		}
	}
	return out
}
