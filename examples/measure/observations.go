package main

import (
	"errors"
	"fmt"

	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/memory"
	"example.com/colloc/profile"
)

// observations turns a tidy table into what package predict learns from. specs
// are the tasks' descriptions, which raw files have; without them models have
// no layers, only what the table tells.
//
// A run with two or more tasks gives an interference.Observation; one whose tasks had
// thread caps is left out, because predictions do not know caps yet. A run
// alone gives a memory.Observation.
func observations(rows []row, specs map[string]*profile.Spec) ([]interference.Observation, []memory.Observation, error) {
	profiles, err := soloProfiles(rows, specs)
	if err != nil {
		return nil, nil, err
	}
	var speeds []interference.Observation
	var memory []memory.Observation
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && rows[end].Cell == rows[start].Cell && rows[end].Member.Or(0) > 0 {
			end++
		}
		set := rows[start:end]
		start = end
		if len(set) == 1 {
			if o, ok := memoryOf(&set[0], profiles); ok {
				memory = append(memory, o)
			}
			continue
		}
		o, ok, err := speedsOf(set, profiles)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			speeds = append(speeds, o)
		}
	}
	return speeds, memory, nil
}

// soloProfiles describes each task by its runs alone.
func soloProfiles(rows []row, specs map[string]*profile.Spec) (map[string]*profile.Profile, error) {
	seen := make(map[string][]profile.Sample)
	spec := make(map[string]profile.Spec)
	gpu := profile.GPUModel{}
	for i := range rows {
		r := &rows[i]
		if _, ok := spec[r.Task]; !ok || r.Model != "" {
			s, err := r.spec(specs[r.Task])
			if err != nil {
				return nil, err
			}
			spec[r.Task] = s
		}
		gpu = r.gpuModel()
		if r.Mechanism == profile.Exclusive.String() && r.Status == string(statusOK) {
			seen[r.Task] = append(seen[r.Task], r.sample())
		}
	}
	profiles := make(map[string]*profile.Profile)
	for name, s := range spec {
		p, err := profile.New(s, profile.Trace{Samples: seen[name]}, gpu)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", name, err)
		}
		profiles[name] = &p
	}
	return profiles, nil
}

// gpuModel is the product with its own memory, or only its name where the
// catalogue lacks it.
func (r *row) gpuModel() profile.GPUModel {
	gpu, ok := profile.LookupGPU(r.GPU)
	if !ok {
		gpu = profile.GPUModel{Name: r.GPU}
	}
	if memory, ok := r.GPUMemory.Get(); ok {
		gpu.Memory = profile.Bytes(memory)
	}
	return gpu
}

// spec is the task's own description, or what the row tells of it.
func (r *row) spec(known *profile.Spec) (profile.Spec, error) {
	if known != nil {
		s := *known
		s.Model.Name = r.Task // two tasks may train one network
		return s, nil
	}
	var s profile.Spec
	s.Model.Name = r.Task
	s.Training.BatchSize = max(1, int(r.Batch.Or(1)))
	var errs []error
	for _, f := range []struct {
		text string
		to   interface{ UnmarshalText(text []byte) error }
	}{{r.Family, &s.Model.Family}, {r.Precision, &s.Training.Precision}, {r.Optimizer, &s.Training.Optimizer}} {
		if f.text != "" {
			errs = append(errs, f.to.UnmarshalText([]byte(f.text)))
		}
	}
	return s, errors.Join(errs...)
}

// sample is what the table tells of the GPU during the row's run.
func (r *row) sample() profile.Sample {
	s := profile.Sample{
		GPUBusy: r.GPUBusy, MemBusy: r.MemBusy, SMActive: r.SMActive, SMOccupancy: r.SMOccupancy,
		TensorActive: r.TensorActive, DRAMActive: r.DRAMActive, FP32Active: r.FP32,
		PowerWatts: r.Watts, PCIeBytesPerSec: r.PCIe, MemUsed: r.need(),
	}
	if step, ok := r.StepTime.Get(); ok {
		s.StepTime = profile.Some(seconds(step))
	}
	return s
}

// need is the memory of the process as the driver counts it: what the driver
// says, else the growth of the device's use if nobody else was there, else
// context and pool.
func (r *row) need() profile.Opt[profile.Bytes] {
	if peak, ok := r.Peak.Get(); ok {
		return profile.Some(profile.Bytes(peak))
	}
	device, ok1 := r.DevicePeak.Get()
	before, ok2 := r.Baseline.Get()
	if ok1 && ok2 && device > before && r.SetSize.Or(0) == 1 && r.Idle.Or(1) == 0 {
		return profile.Some(profile.Bytes(device - before))
	}
	context, ok1 := r.Context.Get()
	pool, ok2 := r.Reserved.Get()
	if ok1 && ok2 {
		return profile.Some(profile.Bytes(context + pool))
	}
	return profile.Opt[profile.Bytes]{}
}

// memoryOf is the observation of a task alone, if its memory is known.
func memoryOf(r *row, profiles map[string]*profile.Profile) (memory.Observation, bool) {
	o := memory.Observation{Spec: profiles[r.Task].Spec, Host: predict.Host{Name: r.Machine}, Group: r.Model}
	if context, ok := r.Context.Get(); ok {
		o.Host.Context = profile.Some(profile.Bytes(context))
	}
	if r.Mechanism != profile.Exclusive.String() {
		return o, false // under MPS the server holds a part
	}
	switch status(r.Status) {
	case statusOK, statusShort:
		peak, ok := r.need().Get()
		o.Peak = peak
		return o, ok
	case statusOOM:
		free, ok := r.Free.Get()
		o.Peak, o.Censored = profile.Bytes(free+r.Context.Or(0)), true
		return o, ok && r.Idle.Or(1) == 0
	default:
		return o, false
	}
}

// speedsOf is the observation of a set that ran well, without thread caps.
func speedsOf(set []row, profiles map[string]*profile.Profile) (interference.Observation, bool, error) {
	mechanism, err := profile.ParseMechanism(set[0].Mechanism)
	if err != nil {
		return interference.Observation{}, false, fmt.Errorf("cell %q: %w", set[0].Cell, err)
	}
	o := interference.Observation{GPU: set[0].gpuModel().Name, Mechanism: mechanism}
	for i := range set {
		r := &set[i]
		if r.SetStatus != string(statusOK) || !r.Threads.IsZero() {
			return o, false, nil
		}
		o.Set = append(o.Set, profiles[r.Task])
		o.Speeds = append(o.Speeds, r.Speed)
		o.Groups = append(o.Groups, r.Model)
	}
	if float64(len(set)) != set[0].SetSize.Or(0) {
		return o, false, fmt.Errorf("cell %q: %d rows for %v tasks", set[0].Cell, len(set), set[0].SetSize)
	}
	return o, true, nil
}
