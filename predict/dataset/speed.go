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
}

// ReadSpeed reads an interference data set. The layout is recognised by its
// columns: Lucid's pairs on an RTX 3090 or Gavel's on K80, P100 and V100, all of them in
// turns, or tally-bench's under MPS on a GPU that it does not name ([UnnamedGPU]), where
// a speed that was measured twice is the mean. Tasks
// of one type share one Profile. file names the source in errors. O(rows).
func ReadSpeed(file string, r io.Reader) ([]SpeedRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	layout, err := t.speedLayout()
	if err != nil {
		return nil, err
	}
	return eachRow(t, func(line *row, out *SpeedRow) {
		out.Line, out.Suspect = line.line(), line.flag("solo_reference_suspect")
		o := &out.Observation
		o.GPU, o.Mechanism = UnnamedGPU, layout.mechanism
		if t.has("gpu") {
			o.GPU = line.gpu()
		}
		if t.has("feasible") && !line.flag("feasible") {
			out.Excluded = "did not fit or failed"
		}
		for _, suffix := range [2]string{"_a", "_b"} {
			o.Set = append(o.Set, layout.task(line, suffix))
			o.Groups = append(o.Groups, line.text("model"+suffix))
			o.Speeds = append(o.Speeds, line.speed(layout.speed, suffix, out.Excluded))
		}
	})
}

// UnnamedGPU stands for a GPU of which the source does not say what it is.
const UnnamedGPU = "unnamed"

// speedLayout is how a file tells of pairs.
type speedLayout struct {
	mechanism profile.Mechanism
	speed     string // the column of the speeds, without the side
	task      func(r *row, side string) *profile.Profile
}

// speedLayout finds out how a file tells of pairs by the columns there are.
func (t *table) speedLayout() (speedLayout, error) {
	shared := []string{"model_a", "model_b", "batch_a", "batch_b"}
	named := append(shared, "gpu", "job_a", "job_b", "norm_speed_a", "norm_speed_b")
	switch {
	case t.has("solo_gpu_util_pct_a"):
		return speedLayout{profile.TimeSlice, "norm_speed", lucidTask}, t.require(append(named, "dataset_a", "dataset_b", "amp_a", "amp_b", "solo_gpu_util_pct_b",
			"solo_mem_util_pct_a", "solo_mem_util_pct_b", "solo_mem_used_mib_a", "solo_mem_used_mib_b",
			"solo_speed_native_per_s_a", "solo_speed_native_per_s_b", "speed_is_imputed_a", "speed_is_imputed_b")...)
	case t.has("solo_a_steps_per_s"):
		return speedLayout{profile.TimeSlice, "norm_speed", gavelTask}, t.require(append(named, "solo_b_steps_per_s", "feasible")...)
	case t.has("mps_speed_a"):
		return speedLayout{profile.MPS, "mps_speed", tallyTask}, t.require(append(shared, "mps_speed_b", "kind_a", "kind_b", "amp_a", "amp_b", "solo_steps_per_s_a", "solo_steps_per_s_b")...)
	}
	return speedLayout{}, fmt.Errorf("dataset: %s:1: the columns are those of no interference set; see package dataset", t.file)
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
	if !r.t.has("gpu") {
		return profile.GPUModel{Name: UnnamedGPU}
	}
	if g, ok := profile.LookupGPU(r.text("gpu")); ok {
		return g
	}
	return profile.GPUModel{Name: r.text("gpu")}
}

// speed reads a speed over that alone, the mean of two runs where there are two; one that
// was filled in is missing.
func (r *row) speed(column, suffix, excluded string) profile.Opt[float64] {
	if excluded != "" || r.flag("speed_is_imputed"+suffix) {
		return profile.Opt[float64]{}
	}
	var sum, n float64
	for _, name := range []string{column + suffix, column + suffix + "_again"} {
		v, ok := r.opt(name).Get()
		if ok && v <= 0 {
			r.fault(name, "%v is not a speed", v)
		}
		if ok {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return profile.Opt[float64]{}
	}
	return profile.Some(sum / n)
}

// lucidTask reads one side of a pair of Lucid: solo use as nvidia-smi prints it,
// solo speed in samples per second for most models, time-slicing.
func lucidTask(r *row, s string) *profile.Profile {
	spec := profile.Spec{
		Model:    profile.Model{Name: r.text("model" + s)},
		Dataset:  profile.Dataset{Name: r.text("dataset" + s)},
		Training: profile.Training{BatchSize: int(r.count("batch" + s))},
	}
	if r.flag("amp" + s) {
		spec.Training.Precision = profile.Mixed
	}
	return r.task(s, spec, profile.Sample{
		GPUBusy: r.fraction("solo_gpu_util_pct"+s, 100),
		MemBusy: r.fraction("solo_mem_util_pct"+s, 100),
		MemUsed: r.mib("solo_mem_used_mib" + s),
	}, float64(spec.Training.BatchSize), r.number("solo_speed_native_per_s"+s))
}

// gavelTask reads one side of a pair of Gavel, which measured throughput only.
func gavelTask(r *row, s string) *profile.Profile {
	spec := profile.Spec{
		Model:    profile.Model{Name: r.text("model" + s)},
		Training: profile.Training{BatchSize: int(r.count("batch" + s))},
	}
	return r.task(s, spec, profile.Sample{}, 1, r.number("solo"+s+"_steps_per_s"))
}

// tallyTask reads one side of a pair of tally-bench: what a task is, and its steps in a
// second. Who only answers is no task of the type of the training.
func tallyTask(r *row, s string) *profile.Profile {
	spec := profile.Spec{
		Model:    profile.Model{Name: r.text("model" + s)},
		Training: profile.Training{BatchSize: int(r.count("batch" + s))},
	}
	if r.text("kind"+s) == "inference" {
		spec.Model.Name += serving
	}
	if r.flag("amp" + s) {
		spec.Training.Precision = profile.Mixed
	}
	return r.task(s, spec, profile.Sample{}, 1, r.number("solo_steps_per_s"+s))
}

// task builds the profile of a type, once per type. A step takes work/rate.
func (r *row) task(s string, spec profile.Spec, use profile.Sample, work, rate float64) *profile.Profile {
	return r.once(r.text("gpu")+"\x00"+r.text("job"+s)+"\x00"+spec.Type(), "job"+s, func() (profile.Profile, error) {
		p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{use}}, r.gpuModel())
		if rate > 0 {
			err = errors.Join(err, p.Vector.Set(profile.MedianStepTime, work/rate))
		}
		return p, err
	})
}
