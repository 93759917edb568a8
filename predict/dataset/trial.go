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
	// Line is the row's line in the file.
	Line int
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
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	if err := t.require("workload", "gpus", "batch_size", "end_to_end_s", "peak_memory_mib", "sm_active", "sm_occupancy", "dram_active", "gpu_busy"); err != nil {
		return nil, err
	}
	gpu, _ := profile.LookupGPU("A100-40GB")
	names := make(map[string]bool)
	out := make([]SoloRow, len(t.rows))
	for i := range t.rows {
		line, row := t.row(i), &out[i]
		row.Line, row.Name = t.lines[i], line.text("workload")
		if row.Name == "" || names[row.Name] {
			line.fault("workload", "%q is empty or comes twice", row.Name)
		}
		names[row.Name] = true
		row.GPUs, row.Time = int(line.count("gpus")), line.duration("end_to_end_s", time.Second)
		p, err := profile.New(workloadOf(row.Name, int(line.countOr("batch_size", 1))), profile.Trace{Samples: []profile.Sample{{
			GPUBusy: line.fraction("gpu_busy", 1), SMActive: line.fraction("sm_active", 1), SMOccupancy: line.fraction("sm_occupancy", 1),
			DRAMActive: line.fraction("dram_active", 1), MemUsed: line.mib("peak_memory_mib"),
		}}}, gpu)
		if err != nil {
			line.fault("workload", "%v", err)
		}
		row.Profile = &p
		for _, name := range []string{"horus", "faketensor", "gpumemnet"} {
			if !t.has(name + "_mib") {
				continue
			}
			if said, ok := line.mib(name + "_mib").Get(); ok {
				if row.Estimates == nil {
					row.Estimates = make(map[string]profile.Bytes)
				}
				row.Estimates[name] = said
			}
		}
		if err := line.err(); err != nil {
			return nil, err
		}
	}
	return out, nil
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
	// Line is the row's line in the file.
	Line int
	// Name is that of the trial; Jobs are the trainings in the order of their starts, by
	// their names in [SoloRow].
	Name string
	Jobs []string
	// Solo holds what each takes alone.
	Solo []time.Duration
	// Wall is the time from the first start to the last end. Gain is the sum of Solo over
	// it; MeanSlowdown and WorstSlowdown are of each training's time over that alone.
	Wall                              time.Duration
	Gain, MeanSlowdown, WorstSlowdown float64
}

// ReadTrials reads sets of trainings that shared one GPU (AEGIS). file names the source
// in errors. O(rows).
func ReadTrials(file string, r io.Reader) ([]TrialRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	if err := t.require("trial", "jobs_in_order_of_start", "solo_s", "wall_s", "throughput_gain", "mean_slowdown", "max_slowdown"); err != nil {
		return nil, err
	}
	out := make([]TrialRow, len(t.rows))
	for i := range t.rows {
		line := t.row(i)
		row := TrialRow{
			Line: t.lines[i], Name: line.text("trial"), Jobs: strings.Fields(line.text("jobs_in_order_of_start")),
			Wall: line.duration("wall_s", time.Second), Gain: line.ratio("throughput_gain"),
			MeanSlowdown: line.ratio("mean_slowdown"), WorstSlowdown: line.ratio("max_slowdown"),
		}
		for cell := range strings.FieldsSeq(line.text("solo_s")) {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil || !(v > 0 && v < 1e8) {
				line.fault("solo_s", "%q is not a time in seconds above 0", cell)
			}
			row.Solo = append(row.Solo, time.Duration(v*float64(time.Second)))
		}
		if len(row.Jobs) == 0 || len(row.Jobs) != len(row.Solo) {
			line.fault("solo_s", "%d times of %d trainings, want one each", len(row.Solo), len(row.Jobs))
		}
		if err := line.err(); err != nil {
			return nil, err
		}
		out[i] = row
	}
	return out, nil
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
