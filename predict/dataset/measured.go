package dataset

import (
	"errors"
	"io"
	"time"

	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

// ReadMeasured reads the tidy table that examples/measure writes (-csv): one row
// per task and run. Each pair that ran well and without thread caps gives a
// SpeedRow, with the line of its first task; what the tasks are like alone comes
// from the exclusive runs of the same file. Tasks of one name, GPU and mechanism
// share one Profile. Larger sets are left out. file names the source in errors.
// O(rows).
func ReadMeasured(file string, r io.Reader) ([]SpeedRow, error) {
	t, err := readTable(file, r)
	if err != nil {
		return nil, err
	}
	if err := t.require("gpu", "cell", "mechanism", "set_size", "member", "task", "model", "batch", "threads", "status",
		"set_status", "speed", "step_time_s", "gpu_busy", "mem_busy"); err != nil {
		return nil, err
	}
	alone, err := t.alone()
	if err != nil {
		return nil, err
	}
	var out []SpeedRow
	for i := 0; i+1 < len(t.rows); i++ {
		first, second := t.row(i), t.row(i+1)
		if first.text("cell") != second.text("cell") || first.text("set_size") != "2" || first.text("member") != "0" {
			continue
		}
		row, ok := pairOf(first, second, alone)
		if err := errors.Join(first.err(), second.err()); err != nil {
			return nil, err
		}
		if ok {
			row.Line = t.lines[i]
			out = append(out, row)
		}
	}
	return out, nil
}

// alone collects what was seen of each task on each GPU while it ran alone.
func (t *table) alone() (map[string][]profile.Sample, error) {
	seen := make(map[string][]profile.Sample)
	for i := range t.rows {
		r := t.row(i)
		if r.text("mechanism") != profile.Exclusive.String() || r.text("status") != "ok" {
			continue
		}
		s := profile.Sample{
			GPUBusy: r.fraction("gpu_busy", 1), MemBusy: r.fraction("mem_busy", 1),
			SMActive: r.fraction("sm_active", 1), DRAMActive: r.fraction("dram_active", 1),
		}
		if step, ok := r.opt("step_time_s").Get(); ok && step > 0 && step < 1e6 {
			s.StepTime = profile.Some(time.Duration(step * float64(time.Second)))
		}
		if err := r.err(); err != nil {
			return nil, err
		}
		key := r.text("gpu") + "\x00" + r.text("task")
		seen[key] = append(seen[key], s)
	}
	return seen, nil
}

// pairOf is one run of two tasks; false where it is no measurement.
func pairOf(first, second *row, alone map[string][]profile.Sample) (SpeedRow, bool) {
	out := SpeedRow{Observation: interference.Observation{GPU: first.gpu()}}
	o := &out.Observation
	mechanism, err := profile.ParseMechanism(first.text("mechanism"))
	if err != nil {
		first.fault("mechanism", "%v", err)
	}
	o.Mechanism = mechanism
	for _, r := range []*row{first, second} {
		if r.text("set_status") != "ok" || r.text("threads") != "" {
			return out, false
		}
		v := r.opt("speed")
		if x, ok := v.Get(); ok && x <= 0 {
			r.fault("speed", "%v is not a speed", x)
		}
		o.Set = append(o.Set, r.measuredTask(mechanism, alone))
		o.Speeds = append(o.Speeds, v)
		o.Groups = append(o.Groups, r.text("model"))
	}
	return out, true
}

// measuredTask builds the profile of a task, once per GPU and mechanism.
func (r *row) measuredTask(mechanism profile.Mechanism, alone map[string][]profile.Sample) *profile.Profile {
	task := r.text("gpu") + "\x00" + r.text("task")
	return r.once(task+"\x00"+mechanism.String(), "task", func() (profile.Profile, error) {
		spec := profile.Spec{
			Model:    profile.Model{Name: r.text("model")},
			Training: profile.Training{BatchSize: int(max(1, r.countOr("batch", 1)))},
		}
		if cell := r.text("precision"); cell != "" {
			if err := spec.Training.Precision.UnmarshalText([]byte(cell)); err != nil {
				r.fault("precision", "%v", err)
			}
		}
		return profile.New(spec, profile.Trace{Samples: alone[task]}, r.gpuModel())
	})
}
