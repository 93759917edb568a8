package table

import (
	"time"

	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/stats"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Row is one task in one run: a line of the tidy table. The tags say the name of each
// column, its unit and what it means.
type Row struct {
	Simulated    string               `csv:"simulated" doc:"true where nothing was measured: -fake"`
	Machine      string               `csv:"machine" doc:"label of the host, from -machine"`
	GPU          string               `csv:"gpu" doc:"product as the driver names it"`
	GPUMemory    profile.Opt[float64] `csv:"gpu_memory_bytes" unit:"B" doc:"its memory"`
	Driver       string               `csv:"driver" doc:"version of the driver"`
	CUDA         string               `csv:"cuda" doc:"newest CUDA version that the driver runs"`
	Python       string               `csv:"python" doc:"version of Python"`
	Torch        string               `csv:"torch" doc:"version of PyTorch"`
	TorchCUDA    string               `csv:"torch_cuda" doc:"CUDA version that PyTorch was built with"`
	CUDNN        string               `csv:"cudnn" doc:"version of cuDNN"`
	Cell         string               `csv:"cell" doc:"name of the run: mechanism, set, repetition"`
	Mechanism    string               `csv:"mechanism" doc:"exclusive, time-slicing or mps"`
	Set          string               `csv:"set" doc:"tasks that ran together, with thread caps"`
	SetSize      profile.Opt[float64] `csv:"set_size" unit:"count" doc:"their number"`
	Member       profile.Opt[float64] `csv:"member" unit:"count" doc:"which of them this row is, from 0"`
	Repeat       profile.Opt[float64] `csv:"repeat" unit:"count" doc:"repetition, from 0"`
	Order        profile.Opt[float64] `csv:"order" unit:"count" doc:"when in the session, from 0"`
	Started      string               `csv:"started" doc:"date and time, UTC"`
	Task         string               `csv:"task" doc:"workload"`
	Model        string               `csv:"model" doc:"its network"`
	Family       string               `csv:"family" doc:"family of the network, as package profile names it"`
	Batch        profile.Opt[float64] `csv:"batch" unit:"count" doc:"samples per step"`
	Precision    string               `csv:"precision" doc:"fp32, tf32, mixed, bf16 or fp16"`
	Optimizer    string               `csv:"optimizer" doc:"sgd, momentum, adam, or none for inference"`
	Params       profile.Opt[float64] `csv:"params" unit:"count" doc:"trained parameters"`
	Threads      profile.Opt[float64] `csv:"threads" unit:"1" doc:"cap on the share of multiprocessors; empty is none"`
	Status       string               `csv:"status" doc:"ok, oom, short, crash, timeout or garbage, of this task"`
	SetStatus    string               `csv:"set_status" doc:"the same of the whole run; speeds need ok"`
	Runs         profile.Opt[float64] `csv:"runs_before" unit:"count" doc:"runs of the same process before (-keep)"`
	Idle         profile.Opt[float64] `csv:"idle" unit:"count" doc:"other workloads that waited on the GPU meanwhile (-keep)"`
	Window       profile.Opt[float64] `csv:"window_s" unit:"s" doc:"time in which all members ran, warmed up"`
	Steps        profile.Opt[float64] `csv:"steps" unit:"count" doc:"steps of this task in it"`
	Rate         profile.Opt[float64] `csv:"rate" unit:"1/s" doc:"steps per second in it"`
	StepTime     profile.Opt[float64] `csv:"step_time_s" unit:"s" doc:"time of a step in it"`
	SoloRate     profile.Opt[float64] `csv:"solo_rate" unit:"1/s" doc:"median rate of the task alone"`
	SoloRuns     profile.Opt[float64] `csv:"solo_runs" unit:"count" doc:"of how many runs alone"`
	Speed        profile.Opt[float64] `csv:"speed" unit:"1" doc:"rate / solo_rate"`
	Context      profile.Opt[float64] `csv:"context_bytes" unit:"B" doc:"of the process before its first tensor"`
	Allocated    profile.Opt[float64] `csv:"peak_allocated_bytes" unit:"B" doc:"largest sum of tensors, by PyTorch"`
	Reserved     profile.Opt[float64] `csv:"peak_reserved_bytes" unit:"B" doc:"largest pool of PyTorch's allocator"`
	Peak         profile.Opt[float64] `csv:"process_peak_bytes" unit:"B" doc:"largest use of the process, by the driver"`
	Free         profile.Opt[float64] `csv:"free_at_oom_bytes" unit:"B" doc:"memory the task could have had when it ran out"`
	DevicePeak   profile.Opt[float64] `csv:"device_peak_bytes" unit:"B" doc:"largest use of the GPU by the whole set and all else"`
	Baseline     profile.Opt[float64] `csv:"baseline_bytes" unit:"B" doc:"use of the GPU before the run"`
	CPUCores     profile.Opt[float64] `csv:"cpu_cores" unit:"1" doc:"CPU time of the process per time"`
	Samples      profile.Opt[float64] `csv:"samples" unit:"count" doc:"samples within the window; the means below are of the GPU, not of the task"`
	GPUBusy      profile.Opt[float64] `csv:"gpu_busy" unit:"1" doc:"share of time with a kernel resident"`
	MemBusy      profile.Opt[float64] `csv:"mem_busy" unit:"1" doc:"share of time that memory was touched"`
	SMActive     profile.Opt[float64] `csv:"sm_active" unit:"1" doc:"share of multiprocessors with a warp"`
	SMOccupancy  profile.Opt[float64] `csv:"sm_occupancy" unit:"1" doc:"resident warps over the most that fit"`
	TensorActive profile.Opt[float64] `csv:"tensor_active" unit:"1" doc:"share of cycles of the tensor pipe"`
	DRAMActive   profile.Opt[float64] `csv:"dram_active" unit:"1" doc:"share of cycles of the memory interface"`
	FP32         profile.Opt[float64] `csv:"fp32_active" unit:"1" doc:"share of cycles of the FP32 pipe"`
	PCIe         profile.Opt[float64] `csv:"pcie_bytes_per_s" unit:"B/s" doc:"both directions"`
	Watts        profile.Opt[float64] `csv:"power_watts" unit:"W" doc:"board, from the energy counter where there is one"`
	Joules       profile.Opt[float64] `csv:"energy_joules" unit:"J" doc:"power_watts over the window"`
	Clock        profile.Opt[float64] `csv:"sm_clock_mhz" unit:"MHz" doc:"clock"`
	Temp         profile.Opt[float64] `csv:"temp_celsius" unit:"°C" doc:"temperature"`
}

// Tidy turns a raw file into rows, in the order of measuring.
func Tidy(c *raw.Contents) []Row {
	if c.Header == nil {
		return nil
	}
	results := c.Latest()
	solo := soloRates(results)
	var rows []Row
	for i := range results {
		r := &results[i]
		for k := range r.Members {
			row := rowOf(c.Header)
			row.describe(r, k, c.Specs[r.Members[k].Task])
			row.measure(r, k, solo)
			row.observe(r)
			rows = append(rows, row)
		}
	}
	return rows
}

// soloRates returns the rates of each task's good runs alone.
func soloRates(results []raw.Result) map[string][]float64 {
	rates := make(map[string][]float64)
	for i := range results {
		if r := &results[i]; r.Cell.Alone() && r.Status == workload.OK && r.Window != nil {
			m := &r.Members[0]
			rates[m.Task] = append(rates[m.Task], m.Steps(*r.Window)/r.Window.Seconds())
		}
	}
	return rates
}

// rowOf returns a row with what is the same for all of a file.
func rowOf(h *raw.Header) Row {
	r := Row{
		Simulated: "false", Machine: h.Machine.Label, GPU: h.GPU.Name, GPUMemory: number(h.GPU.Memory),
		Driver: h.System.Driver, CUDA: h.System.CUDA,
		Python: h.Framework.Python, Torch: h.Framework.Torch, TorchCUDA: h.Framework.TorchCUDA, CUDNN: h.Framework.CUDNN,
	}
	if h.Simulated {
		r.Simulated = "true"
	}
	return r
}

// describe says which task of which cell it is.
func (r *Row) describe(res *raw.Result, k int, spec *profile.Spec) {
	m, c := &res.Members[k], &res.Cell
	r.Cell, r.Mechanism, r.Set, r.SetSize = c.ID(), c.Mechanism.String(), c.Set(), count(len(c.Tasks))
	r.Member, r.Repeat, r.Order, r.Task = count(k), count(c.Repeat), count(res.Order), m.Task
	r.Status, r.SetStatus, r.Runs, r.Idle = string(m.Status), string(res.Status), count(m.Runs), count(res.Idle)
	r.Started = res.Started.UTC().Format(time.RFC3339)
	if k < len(c.Threads) {
		r.Threads = profile.Some(c.Threads[k])
	}
	if spec != nil {
		r.Model, r.Family = spec.Model.Name, spec.Model.Family.String()
		r.Batch, r.Params = count(spec.Training.BatchSize), count(spec.Model.Params())
		r.Precision, r.Optimizer = spec.Training.Precision.String(), spec.Training.Optimizer.String()
	}
}

// measure fills in speed and memory.
func (r *Row) measure(res *raw.Result, k int, solo map[string][]float64) {
	m := &res.Members[k]
	r.Context, r.Allocated, r.Reserved = number(m.Context), number(m.PeakAllocated), number(m.PeakReserved)
	r.Peak, r.Free, r.Baseline = number(m.ProcessPeak), number(m.Free), number(res.Baseline)
	if held, ok := m.Held.Get(); ok && !r.Free.IsZero() {
		r.Free = profile.Some(r.Free.Or(0) + float64(held))
	}
	if res.Status != workload.OK || res.Window == nil {
		return
	}
	steps, span := m.Steps(*res.Window), res.Window.Seconds()
	r.Window, r.Steps, r.Rate = profile.Some(span), profile.Some(steps), profile.Some(steps/span)
	r.StepTime = profile.Some(span / steps)
	if cpu, ok := m.CPUSeconds.Get(); ok {
		r.CPUCores = profile.Some(cpu / (m.Times[len(m.Times)-1] - m.Times[0]))
	}
	if reference, ok := stats.Median(solo[m.Task]); ok {
		r.SoloRate, r.SoloRuns = profile.Some(reference), count(len(solo[m.Task]))
		r.Speed = profile.Some(steps / span / reference)
	}
}

// observe averages the samples whose time lies within the common window.
func (r *Row) observe(res *raw.Result) {
	var inside []nvmlx.Sample
	for i := range res.Samples {
		s := &res.Samples[i]
		if used, ok := s.MemUsed.Get(); ok {
			r.DevicePeak = profile.Some(max(r.DevicePeak.Or(0), float64(used)))
		}
		if res.Window == nil {
			continue
		}
		end := float64(s.At.UnixMicro()) / 1e6
		if end <= res.Window.To && end-s.Window.Seconds() >= res.Window.From {
			inside = append(inside, *s)
		}
	}
	r.Samples = count(len(inside))
	for _, m := range []struct {
		to *profile.Opt[float64]
		of func(*nvmlx.Sample) profile.Opt[float64]
	}{
		{&r.GPUBusy, func(s *nvmlx.Sample) profile.Opt[float64] { return s.GPUBusy }},
		{&r.MemBusy, func(s *nvmlx.Sample) profile.Opt[float64] { return s.MemBusy }},
		{&r.SMActive, func(s *nvmlx.Sample) profile.Opt[float64] { return s.SMActive }},
		{&r.SMOccupancy, func(s *nvmlx.Sample) profile.Opt[float64] { return s.SMOccupancy }},
		{&r.TensorActive, func(s *nvmlx.Sample) profile.Opt[float64] { return s.TensorActive }},
		{&r.DRAMActive, func(s *nvmlx.Sample) profile.Opt[float64] { return s.DRAMActive }},
		{&r.FP32, func(s *nvmlx.Sample) profile.Opt[float64] { return s.FP32Active }},
		{&r.PCIe, func(s *nvmlx.Sample) profile.Opt[float64] { return s.PCIeBytesPerSec }},
		{&r.Watts, func(s *nvmlx.Sample) profile.Opt[float64] { return s.PowerWatts }},
		{&r.Clock, func(s *nvmlx.Sample) profile.Opt[float64] { return s.SMClockMHz }},
		{&r.Temp, func(s *nvmlx.Sample) profile.Opt[float64] { return s.TempCelsius }},
	} {
		var values []float64
		for i := range inside {
			if x, ok := m.of(&inside[i]).Get(); ok {
				values = append(values, x)
			}
		}
		if x, ok := stats.Mean(values); ok {
			*m.to = profile.Some(x)
		}
	}
	r.energy(inside, res.Window)
}

// energy takes the mean power from the energy counter, which misses nothing,
// where there is one.
func (r *Row) energy(inside []nvmlx.Sample, span *raw.Window) {
	var first, last *nvmlx.Sample
	for i := range inside {
		if inside[i].EnergyJoules.IsZero() {
			continue
		}
		if first == nil {
			first = &inside[i]
		}
		last = &inside[i]
	}
	if first != last {
		used := last.EnergyJoules.Or(0) - first.EnergyJoules.Or(0)
		r.Watts = profile.Some(used / last.At.Sub(first.At).Seconds())
	}
	if watts, ok := r.Watts.Get(); ok && span != nil {
		r.Joules = profile.Some(watts * span.Seconds())
	}
}

// Need is the memory of the process as the driver counts it: what the driver
// says, else the growth of the device's use if nobody else was there, else
// context and pool.
func (r *Row) Need() profile.Opt[float64] {
	if !r.Peak.IsZero() {
		return r.Peak
	}
	device, ok1 := r.DevicePeak.Get()
	before, ok2 := r.Baseline.Get()
	if ok1 && ok2 && device > before && r.SetSize.Or(0) == 1 && r.Idle.Or(1) == 0 {
		return profile.Some(device - before)
	}
	context, ok1 := r.Context.Get()
	pool, ok2 := r.Reserved.Get()
	if ok1 && ok2 {
		return profile.Some(context + pool)
	}
	return profile.Opt[float64]{}
}

// count makes a number of a count.
func count[N int | int64](n N) profile.Opt[float64] { return profile.Some(float64(n)) }

// number makes a number of bytes.
func number(b profile.Opt[profile.Bytes]) profile.Opt[float64] {
	if n, ok := b.Get(); ok {
		return profile.Some(float64(n))
	}
	return profile.Opt[float64]{}
}
