package table

import (
	"time"

	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/stats"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Row is one task in one run: a line of the tidy table. columns.go names and
// explains the fields.
type Row struct {
	Simulated, Machine, GPU            string
	GPUMemory                          profile.Opt[float64]
	Driver, CUDA                       string
	Python, Torch, TorchCUDA, CUDNN    string
	Cell, Mechanism, Set               string
	SetSize, Member, Repeat, Order     profile.Opt[float64]
	Started, Task, Model, Family       string
	Batch                              profile.Opt[float64]
	Precision, Optimizer               string
	Params                             profile.Opt[float64]
	Threads                            profile.Opt[float64]
	Status, SetStatus                  string
	Runs, Idle                         profile.Opt[float64]
	Window, Steps, Rate, StepTime      profile.Opt[float64]
	SoloRate, SoloRuns, Speed          profile.Opt[float64]
	Context, Allocated, Reserved, Peak profile.Opt[float64]
	Free, DevicePeak, Baseline         profile.Opt[float64]
	CPUCores                           profile.Opt[float64]
	Samples                            profile.Opt[float64]
	GPUBusy, MemBusy                   profile.Opt[float64]
	SMActive, SMOccupancy              profile.Opt[float64]
	TensorActive, DRAMActive, FP32     profile.Opt[float64]
	PCIe, Watts, Joules, Clock, Temp   profile.Opt[float64]
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
