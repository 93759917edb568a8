package dataset

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"example.com/colloc/profile"
)

// SoloRow is one training that ran alone from start to end.
type SoloRow struct {
	// Name identifies the training, for example "resnet50_imagenet_bs64".
	Name string
	// Profile is what it is and what was seen of it.
	Profile *profile.Profile
	// GPUs is how many it ran on; what was seen is of the first. Time is the whole run.
	GPUs int
	Time time.Duration
	// Estimates are what published estimators said of its memory, by their names.
	Estimates map[string]profile.Bytes
}

// ReadSolo reads whole trainings alone on an A100 40 GB (AEGIS). file names the source
// in errors, of which a name that comes twice is one. O(rows).
func ReadSolo(file string, r io.Reader) ([]SoloRow, error) {
	gpu, _ := profile.LookupGPU("A100-40GB")
	return readRows(file, r, func(line *row, out *SoloRow) {
		out.Name, out.GPUs, out.Time = line.text("workload"), int(line.count("gpus")), line.duration("end_to_end_s", time.Second)
		if out.Name == "" || line.t.profiles[out.Name] != nil {
			line.fault("workload", "%q is empty or comes twice", out.Name)
		}
		out.Profile = line.once(out.Name, "workload", func() (profile.Profile, error) {
			return profile.New(workloadOf(out.Name, int(line.countOr("batch_size", 1))), profile.Trace{Samples: []profile.Sample{{
				GPUBusy: line.fraction("gpu_busy", 1), SMActive: line.fraction("sm_active", 1), SMOccupancy: line.fraction("sm_occupancy", 1),
				DRAMActive: line.fraction("dram_active", 1), MemUsed: line.mib("peak_memory_mib"),
			}}}, gpu)
		})
		for _, name := range []string{"horus", "faketensor", "gpumemnet"} {
			line.estimate(&out.Estimates, name, name+"_mib")
		}
	}, "workload", "gpus", "batch_size", "end_to_end_s", "peak_memory_mib", "sm_active", "sm_occupancy", "dram_active", "gpu_busy")
}

// workloadOf takes a name apart: "resnet50_imagenet_bs64", "llama3_width_8layer_wiki_bs1",
// "mobilenet_cifar100_bs64_20e": a model, a data set, the batch and the epochs, of which
// the last two say nothing new.
func workloadOf(name string, batch int) profile.Spec {
	spec := profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: batch}}
	head, _, _ := strings.Cut(name, "_bs")
	if at := strings.LastIndexByte(head, '_'); at > 0 {
		spec.Model.Name, spec.Dataset.Name = head[:at], head[at+1:]
	}
	return spec
}

// TrialRow is one set of trainings that were started one after the other on one GPU.
type TrialRow struct {
	// Name is that of the trial.
	Name string
	// Jobs are the trainings in the order of their starts, by their names in [SoloRow].
	Jobs []string
	// Solo holds what each takes alone.
	Solo []time.Duration
	// Gain is the sum of Solo over the time from the first start to the last end. The
	// slowdowns are each training's time over that alone.
	Gain, MeanSlowdown, WorstSlowdown float64
}

// ReadTrials reads sets of trainings that shared one GPU (AEGIS). file names the source
// in errors. O(rows).
func ReadTrials(file string, r io.Reader) ([]TrialRow, error) {
	return readRows(file, r, func(line *row, out *TrialRow) {
		out.Name, out.Jobs = line.text("trial"), strings.Fields(line.text("jobs_in_order_of_start"))
		out.Gain, out.MeanSlowdown, out.WorstSlowdown = line.ratio("throughput_gain"), line.ratio("mean_slowdown"), line.ratio("max_slowdown")
		for cell := range strings.FieldsSeq(line.text("solo_s")) {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil || !(v > 0 && v < 1e8) {
				line.fault("solo_s", "%q is not a time in seconds above 0", cell)
			}
			out.Solo = append(out.Solo, time.Duration(v*float64(time.Second)))
		}
		if len(out.Jobs) == 0 || len(out.Jobs) != len(out.Solo) {
			line.fault("solo_s", "%d times of %d trainings, want one each", len(out.Solo), len(out.Jobs))
		}
	}, "trial", "jobs_in_order_of_start", "solo_s", "throughput_gain", "mean_slowdown", "max_slowdown")
}

// Set returns the profiles of a trial's trainings. It returns an error that names the
// trial where one of them is not among those that ran alone.
func (r *TrialRow) Set(solo []SoloRow) ([]*profile.Profile, error) {
	var set []*profile.Profile
	for _, name := range r.Jobs {
		for i := range solo {
			if solo[i].Name == name {
				set = append(set, solo[i].Profile)
				break
			}
		}
	}
	if len(set) < len(r.Jobs) {
		return nil, fmt.Errorf("dataset: trial %q: %d of its trainings %v are among those measured alone, want all", r.Name, len(set), r.Jobs)
	}
	return set, nil
}

// ratio returns a number above 0 and at most 1000.
func (r *row) ratio(column string) float64 {
	v := r.number(column)
	if !(v > 0 && v <= 1000) {
		r.fault(column, "%v is not a ratio above 0 and at most 1000", v)
	}
	return v
}
