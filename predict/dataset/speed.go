package dataset

import (
	"errors"
	"fmt"
	"io"

	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// SpeedRow is one measured pair of an interference data set.
type SpeedRow struct {
	// Line is the row's line in the file.
	Line int
	// Observation is the pair with its speeds. A speed that was filled in
	// instead of measured is missing.
	Observation interference.Observation
	// Excluded says why the pair has no usable speed; empty for a good row.
	Excluded string
	// Suspect says that a solo reference is known to be off (Gavel's
	// Recommendation, whose two solo measurements differ 1.5 to 12 times).
	Suspect bool
	// ShareScore is Lucid's label of each task, 0 to 2: it packs a pair whose
	// labels add up to at most 2.
	ShareScore [2]profile.Opt[float64]
}

// ReadSpeed reads an interference data set. The layout is recognised by its
// columns: Lucid's pairs on an RTX 3090 or Gavel's on K80, P100 and V100. Tasks
// of one type share one Profile. file names the source in errors. O(rows).
func ReadSpeed(file string, r io.Reader) ([]SpeedRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	side, err := t.speedLayout()
	if err != nil {
		return nil, err
	}
	types := make(map[string]*profile.Profile)
	out := make([]SpeedRow, len(t.rows))
	for i := range t.rows {
		line, row := t.row(i), &out[i]
		row.Line = t.lines[i]
		row.Suspect = line.flag("solo_reference_suspect")
		o := &row.Observation
		o.GPU, o.Mechanism = line.gpu(), profile.TimeSlice
		if t.has("feasible") && !line.flag("feasible") {
			row.Excluded = "did not fit or failed"
		}
		for k, suffix := range [2]string{"_a", "_b"} {
			p := side(line, suffix, types)
			o.Set = append(o.Set, p)
			o.Groups = append(o.Groups, p.Spec.Model.Name)
			o.Speeds = append(o.Speeds, line.speed(suffix, row.Excluded))
			row.ShareScore[k] = line.opt("lucid_share_score" + suffix)
		}
		if err := line.err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// speedLayout finds the reader of one side of a pair by the columns there are.
func (t *table) speedLayout() (func(*row, string, map[string]*profile.Profile) *profile.Profile, error) {
	shared := []string{"gpu", "model_a", "model_b", "batch_a", "batch_b", "job_a", "job_b", "norm_speed_a", "norm_speed_b"}
	switch {
	case t.has("solo_gpu_util_pct_a"):
		return lucidTask, t.require(append(shared, "dataset_a", "dataset_b", "amp_a", "amp_b", "solo_gpu_util_pct_b",
			"solo_mem_util_pct_a", "solo_mem_util_pct_b", "solo_mem_used_mib_a", "solo_mem_used_mib_b",
			"solo_speed_native_per_s_a", "solo_speed_native_per_s_b", "speed_is_imputed_a", "speed_is_imputed_b")...)
	case t.has("solo_a_steps_per_s"):
		return gavelTask, t.require(append(shared, "solo_b_steps_per_s", "feasible")...)
	}
	return nil, fmt.Errorf("dataset: %s:1: the columns are those of no interference set; see package dataset", t.file)
}

// gpu returns the catalogue's name of the row's GPU, or the name as it stands.
func (r *row) gpu() string {
	name := r.text("gpu")
	if name == "" {
		r.fault("gpu", "is empty")
	}
	if g, ok := profile.LookupGPU(name); ok {
		return g.Name
	}
	return name
}

// gpuModel is the product, or only its name where the catalogue lacks it.
func (r *row) gpuModel() profile.GPUModel {
	if g, ok := profile.LookupGPU(r.text("gpu")); ok {
		return g
	}
	return profile.GPUModel{Name: r.text("gpu")}
}

// speed reads a normalised speed; one that was filled in is missing.
func (r *row) speed(suffix, excluded string) profile.Opt[float64] {
	if excluded != "" || r.flag("speed_is_imputed"+suffix) {
		return profile.Opt[float64]{}
	}
	v := r.opt("norm_speed" + suffix)
	if x, ok := v.Get(); ok && x <= 0 {
		r.fault("norm_speed"+suffix, "%v is not a speed", x)
	}
	return v
}

// lucidTask reads one side of a pair of Lucid: solo use as nvidia-smi prints it,
// solo speed in samples per second for most models, time-slicing.
func lucidTask(r *row, s string, types map[string]*profile.Profile) *profile.Profile {
	spec := profile.Spec{
		Model:    profile.Model{Name: r.text("model" + s)},
		Dataset:  profile.Dataset{Name: r.text("dataset" + s)},
		Training: profile.Training{BatchSize: int(r.count("batch" + s))},
	}
	if r.flag("amp" + s) {
		spec.Training.Precision = profile.Mixed
	}
	return r.task(s, types, spec, profile.Sample{
		GPUBusy: r.fraction("solo_gpu_util_pct"+s, 100),
		MemBusy: r.fraction("solo_mem_util_pct"+s, 100),
		MemUsed: r.mib("solo_mem_used_mib" + s),
	}, float64(spec.Training.BatchSize), r.number("solo_speed_native_per_s"+s))
}

// gavelTask reads one side of a pair of Gavel, which measured throughput only.
func gavelTask(r *row, s string, types map[string]*profile.Profile) *profile.Profile {
	spec := profile.Spec{
		Model:    profile.Model{Name: r.text("model" + s)},
		Training: profile.Training{BatchSize: int(r.count("batch" + s))},
	}
	return r.task(s, types, spec, profile.Sample{}, 1, r.number("solo"+s+"_steps_per_s"))
}

// task builds the profile of a type, once per type. A step takes work/rate.
func (r *row) task(s string, types map[string]*profile.Profile, spec profile.Spec, use profile.Sample, work, rate float64) *profile.Profile {
	key := r.text("gpu") + "\x00" + r.text("job"+s)
	if p, ok := types[key]; ok {
		return p
	}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{use}}, r.gpuModel())
	if rate > 0 {
		err = errors.Join(err, p.Vector.Set(profile.MedianStepTime, work/rate))
	}
	if err != nil {
		r.fault("job"+s, "%v", err)
	}
	types[key] = &p
	return &p
}
