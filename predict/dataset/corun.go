package dataset

import (
	"io"
	"strings"

	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// ReadCoRuns reads a table of one's own: one row for each measured co-run, ready for
// [interference.Fit]. Its columns are
//
//	gpu                  the product, as any tool names it
//	mechanism            time-slicing or mps; empty or no such column is time-slicing
//	task_a, task_b ...   names of the tasks, up to task_h; an empty one is no task
//
// and for each task, with the letter of its name, what is known of it alone and what
// was measured beside the others, any of them empty or absent:
//
//	speed_a              throughput beside the others over throughput alone
//	rate_a, solo_rate_a  both throughputs, instead of speed_a, in one unit
//	batch_a              samples a step
//	sm_a, dram_a         shares of the SMs and of the memory interface in use, 0 to 1
//	busy_a, mem_busy_a   what nvidia-smi calls utilization.gpu and .memory, 0 to 1
//	memory_mib_a         peak memory
//	group_a              the family that validation leaves out at once; all or none
//
// A row has two tasks and a speed at least. Tasks of one row text share one Profile.
// Errors name file, line and column, every fault of the first row that has one. O(rows).
func ReadCoRuns(file string, r io.Reader) ([]interference.Observation, error) {
	return readRows(file, r, (*row).coRun, "gpu", "task_a", "task_b")
}

// coRunSides are the letters of the tasks of a row.
const coRunSides = "abcdefgh"

// coRun reads one row.
func (r *row) coRun(o *interference.Observation) {
	o.GPU, o.Mechanism = r.gpu(), profile.TimeSlice
	if text := r.text("mechanism"); text != "" {
		if err := o.Mechanism.UnmarshalText([]byte(text)); err != nil || o.Mechanism != profile.TimeSlice && o.Mechanism != profile.MPS {
			r.fault("mechanism", "%q is not time-slicing or mps", text)
		}
	}
	measured, grouped := 0, 0
	for _, letter := range coRunSides {
		s := "_" + string(letter)
		if r.text("task"+s) == "" {
			continue
		}
		speed := r.coRunSpeed(s)
		if !speed.IsZero() {
			measured++
		}
		if r.text("group"+s) != "" {
			grouped++
		}
		o.Set, o.Speeds, o.Groups = append(o.Set, r.solo(s)), append(o.Speeds, speed), append(o.Groups, r.text("group"+s))
	}
	switch {
	case len(o.Set) < 2:
		r.fault("task_b", "is the name of one task of %d, want two tasks at least", len(o.Set))
	case measured == 0:
		r.fault("speed_a", "no task of the row has a speed")
	case grouped > 0 && grouped < len(o.Set):
		r.fault("group_a", "%d of %d tasks have a group, want all or none", grouped, len(o.Set))
	}
	if grouped == 0 {
		o.Groups = nil
	}
}

// coRunSpeed reads a speed, or makes it of two rates.
func (r *row) coRunSpeed(s string) profile.Opt[float64] {
	column, speed := "speed"+s, r.opt("speed"+s)
	if rate, ok := r.opt("rate" + s).Get(); ok {
		column = "rate" + s
		solo, known := r.opt("solo_rate" + s).Get()
		if !known || solo <= 0 {
			r.fault("solo_rate"+s, "want more than 0, as there is a rate")
			return speed
		}
		if !speed.IsZero() {
			r.fault(column, "stands beside a speed, want one of them")
		}
		speed = profile.Some(rate / solo)
	}
	if v, ok := speed.Get(); ok {
		if err := predict.CheckSpeed(v); err != nil {
			r.fault(column, "%v", err)
		}
	}
	return speed
}

// solo is the profile of one task of a row.
func (r *row) solo(s string) *profile.Profile {
	var key strings.Builder
	for _, c := range [...]string{"gpu", "task" + s, "batch" + s, "sm" + s, "dram" + s, "busy" + s, "mem_busy" + s, "memory_mib" + s} {
		key.WriteString(r.text(c) + "\x00")
	}
	return r.once(key.String(), "task"+s, func() (profile.Profile, error) {
		gpu := r.gpuModel()
		p, err := profile.Solo{
			Name: r.text("task" + s), GPUModel: &gpu, Batch: int(r.countOr("batch"+s, 1)),
			SMActive: r.fraction("sm"+s, 1), DRAMActive: r.fraction("dram"+s, 1), GPUBusy: r.fraction("busy"+s, 1), MemBusy: r.fraction("mem_busy"+s, 1),
			Memory: r.mib("memory_mib" + s),
		}.Profile()
		if len(r.errs) > 0 { // the cells are at fault
			err = nil
		}
		return p, err
	})
}
