package dataset

import (
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

// ReadMIG reads single tasks on the slices of a GPU: MISO's measurements on an A100
// or MIGProfiler's, told apart by their columns. Rows of one task share one Profile. A
// task that did not run on a slice is excluded there. file names the source in errors.
// O(rows).
func ReadMIG(file string, r io.Reader) ([]MIGRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	read, columns := (*row).misoSlice, []string{"norm_speed_median", "solo_gpu_util_pct", "solo_mem_util_pct", "solo_power_w"}
	if t.has("gr_active") {
		read, columns = (*row).migperfSlice, []string{"status", "norm_speed", "gr_active"}
	}
	return eachRow(t, func(line *row, m *MIGRow) {
		o := &m.Observation
		m.Line, o.GPU, o.Group = line.line(), line.gpuModel(), line.text("model")
		o.Slice = line.slice(&o.GPU)
		read(line, m)
	}, append(columns, "gpu", "model", "batch_size", "slice", "slice_compute_sevenths")...)
}

// misoSlice reads a line of MISO's.
func (r *row) misoSlice(m *MIGRow) {
	o := &m.Observation
	o.Profile = r.migTask(func() profile.Sample {
		return profile.Sample{
			GPUBusy:    r.fraction("solo_gpu_util_pct", 100),
			MemBusy:    r.fraction("solo_mem_util_pct", 100),
			PowerWatts: r.opt("solo_power_w"),
		}
	})
	o.Speed = r.number("norm_speed_median")
	if o.Group == "deepspeech2" {
		m.Excluded = "erratic: its steps vary with the length of the utterances"
	}
}

// migperfSlice reads a line of MIGProfiler's. DCGM's share of time with the engine
// active stands for a busy GPU; it is that on the largest slice, the whole card.
func (r *row) migperfSlice(m *MIGRow) {
	o := &m.Observation
	o.Profile = r.migTask(func() profile.Sample { return profile.Sample{GPUBusy: r.wholeCard()} })
	switch status := r.text("status"); status {
	case "ok":
		o.Speed = r.number("norm_speed")
	case "did_not_run":
		m.Excluded = "did not run: too little memory, most likely"
	default:
		r.fault("status", "%q is neither ok nor did_not_run", status)
	}
}

// wholeCard is the engine's activity in the row of the same task on the whole card, or
// missing where the file has none.
func (r *row) wholeCard() profile.Opt[float64] {
	for i := range r.t.rows {
		if o := r.t.row(i); o.text("model") == r.text("model") && o.text("batch_size") == r.text("batch_size") &&
			o.text("gpu") == r.text("gpu") && o.text("slice_compute_sevenths") == "7" {
			busy := o.fraction("gr_active", 1)
			r.errs = append(r.errs, o.errs...)
			return busy
		}
	}
	return profile.Opt[float64]{}
}

// migTask builds the profile of a task from its solo use on the whole GPU, once.
// The memory in use is the framework's grown pool and not read.
func (r *row) migTask(use func() profile.Sample) *profile.Profile {
	return r.once(r.text("gpu")+"\x00"+r.text("model")+"\x00"+r.text("batch_size"), "model", func() (profile.Profile, error) {
		spec := profile.Spec{
			Model:    profile.Model{Name: r.text("model")},
			Training: profile.Training{BatchSize: int(r.count("batch_size"))},
		}
		return profile.New(spec, profile.Trace{Samples: []profile.Sample{use()}}, r.gpuModel())
	})
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
	// Mix holds the speeds.
	Mix pace.Mix
}

// ReadMixes reads MISO's mixes of seven tasks: columns mpsP_jobJ for each
// thread percentage P and mig_rowR_jobJ for each size of slice. O(rows).
func ReadMixes(file string, r io.Reader) ([]MixRow, error) {
	probes, slices := []string{"mps100", "mps50", "mps14"}, []string{"mig_row0", "mig_row1", "mig_row2"}
	const jobs = 7
	columns := []string{"mix"}
	for _, prefix := range append(append([]string(nil), probes...), slices...) {
		for j := range jobs {
			columns = append(columns, jobColumn(prefix, j))
		}
	}
	return readRows(file, r, func(line *row, m *MixRow) {
		m.Line = line.line()
		for _, p := range probes {
			m.Mix.Probes = append(m.Mix.Probes, line.speeds(p, jobs))
		}
		for _, s := range slices {
			m.Mix.Slices = append(m.Mix.Slices, line.speeds(s, jobs))
		}
	}, columns...)
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
