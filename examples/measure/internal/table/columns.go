package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"example.com/colloc/profile"
)

// column is one column of the tidy table: either text or a number, which is
// empty where it is missing.
type column struct {
	name, unit, doc string
	text            func(*Row) *string
	number          func(*Row) *profile.Opt[float64]
}

func text(name, doc string, at func(*Row) *string) column {
	return column{name: name, doc: doc, text: at}
}

func num(name, unit, doc string, at func(*Row) *profile.Opt[float64]) column {
	return column{name: name, unit: unit, doc: doc, number: at}
}

// columns are the schema; README.md repeats it, and a test compares the two.
var columns = []column{
	text("simulated", "true where nothing was measured: -fake", func(r *Row) *string { return &r.Simulated }),
	text("machine", "label of the host, from -machine", func(r *Row) *string { return &r.Machine }),
	text("gpu", "product as the driver names it", func(r *Row) *string { return &r.GPU }),
	num("gpu_memory_bytes", "B", "its memory", func(r *Row) *profile.Opt[float64] { return &r.GPUMemory }),
	text("driver", "version of the driver", func(r *Row) *string { return &r.Driver }),
	text("cuda", "newest CUDA version that the driver runs", func(r *Row) *string { return &r.CUDA }),
	text("python", "version of Python", func(r *Row) *string { return &r.Python }),
	text("torch", "version of PyTorch", func(r *Row) *string { return &r.Torch }),
	text("torch_cuda", "CUDA version that PyTorch was built with", func(r *Row) *string { return &r.TorchCUDA }),
	text("cudnn", "version of cuDNN", func(r *Row) *string { return &r.CUDNN }),
	text("cell", "name of the run: mechanism, set, repetition", func(r *Row) *string { return &r.Cell }),
	text("mechanism", "exclusive, time-slicing or mps", func(r *Row) *string { return &r.Mechanism }),
	text("set", "tasks that ran together, with thread caps", func(r *Row) *string { return &r.Set }),
	num("set_size", "count", "their number", func(r *Row) *profile.Opt[float64] { return &r.SetSize }),
	num("member", "count", "which of them this row is, from 0", func(r *Row) *profile.Opt[float64] { return &r.Member }),
	num("repeat", "count", "repetition, from 0", func(r *Row) *profile.Opt[float64] { return &r.Repeat }),
	num("order", "count", "when in the session, from 0", func(r *Row) *profile.Opt[float64] { return &r.Order }),
	text("started", "date and time, UTC", func(r *Row) *string { return &r.Started }),
	text("task", "workload", func(r *Row) *string { return &r.Task }),
	text("model", "its network", func(r *Row) *string { return &r.Model }),
	text("family", "family of the network, as package profile names it", func(r *Row) *string { return &r.Family }),
	num("batch", "count", "samples per step", func(r *Row) *profile.Opt[float64] { return &r.Batch }),
	text("precision", "fp32, tf32, mixed, bf16 or fp16", func(r *Row) *string { return &r.Precision }),
	text("optimizer", "sgd, momentum, adam, or none for inference", func(r *Row) *string { return &r.Optimizer }),
	num("params", "count", "trained parameters", func(r *Row) *profile.Opt[float64] { return &r.Params }),
	num("threads", "1", "cap on the share of multiprocessors; empty is none", func(r *Row) *profile.Opt[float64] { return &r.Threads }),
	text("status", "ok, oom, short, crash, timeout or garbage, of this task", func(r *Row) *string { return &r.Status }),
	text("set_status", "the same of the whole run; speeds need ok", func(r *Row) *string { return &r.SetStatus }),
	num("runs_before", "count", "runs of the same process before (-keep)", func(r *Row) *profile.Opt[float64] { return &r.Runs }),
	num("idle", "count", "other workloads that waited on the GPU meanwhile (-keep)", func(r *Row) *profile.Opt[float64] { return &r.Idle }),
	num("window_s", "s", "time in which all members ran, warmed up", func(r *Row) *profile.Opt[float64] { return &r.Window }),
	num("steps", "count", "steps of this task in it", func(r *Row) *profile.Opt[float64] { return &r.Steps }),
	num("rate", "1/s", "steps per second in it", func(r *Row) *profile.Opt[float64] { return &r.Rate }),
	num("step_time_s", "s", "time of a step in it", func(r *Row) *profile.Opt[float64] { return &r.StepTime }),
	num("solo_rate", "1/s", "median rate of the task alone", func(r *Row) *profile.Opt[float64] { return &r.SoloRate }),
	num("solo_runs", "count", "of how many runs alone", func(r *Row) *profile.Opt[float64] { return &r.SoloRuns }),
	num("speed", "1", "rate / solo_rate", func(r *Row) *profile.Opt[float64] { return &r.Speed }),
	num("context_bytes", "B", "of the process before its first tensor", func(r *Row) *profile.Opt[float64] { return &r.Context }),
	num("peak_allocated_bytes", "B", "largest sum of tensors, by PyTorch", func(r *Row) *profile.Opt[float64] { return &r.Allocated }),
	num("peak_reserved_bytes", "B", "largest pool of PyTorch's allocator", func(r *Row) *profile.Opt[float64] { return &r.Reserved }),
	num("process_peak_bytes", "B", "largest use of the process, by the driver", func(r *Row) *profile.Opt[float64] { return &r.Peak }),
	num("free_at_oom_bytes", "B", "memory the task could have had when it ran out", func(r *Row) *profile.Opt[float64] { return &r.Free }),
	num("device_peak_bytes", "B", "largest use of the GPU by the whole set and all else", func(r *Row) *profile.Opt[float64] { return &r.DevicePeak }),
	num("baseline_bytes", "B", "use of the GPU before the run", func(r *Row) *profile.Opt[float64] { return &r.Baseline }),
	num("cpu_cores", "1", "CPU time of the process per time", func(r *Row) *profile.Opt[float64] { return &r.CPUCores }),
	num("samples", "count", "samples within the window; the means below are of the GPU, not of the task", func(r *Row) *profile.Opt[float64] { return &r.Samples }),
	num("gpu_busy", "1", "share of time with a kernel resident", func(r *Row) *profile.Opt[float64] { return &r.GPUBusy }),
	num("mem_busy", "1", "share of time that memory was touched", func(r *Row) *profile.Opt[float64] { return &r.MemBusy }),
	num("sm_active", "1", "share of multiprocessors with a warp", func(r *Row) *profile.Opt[float64] { return &r.SMActive }),
	num("sm_occupancy", "1", "resident warps over the most that fit", func(r *Row) *profile.Opt[float64] { return &r.SMOccupancy }),
	num("tensor_active", "1", "share of cycles of the tensor pipe", func(r *Row) *profile.Opt[float64] { return &r.TensorActive }),
	num("dram_active", "1", "share of cycles of the memory interface", func(r *Row) *profile.Opt[float64] { return &r.DRAMActive }),
	num("fp32_active", "1", "share of cycles of the FP32 pipe", func(r *Row) *profile.Opt[float64] { return &r.FP32 }),
	num("pcie_bytes_per_s", "B/s", "both directions", func(r *Row) *profile.Opt[float64] { return &r.PCIe }),
	num("power_watts", "W", "board, from the energy counter where there is one", func(r *Row) *profile.Opt[float64] { return &r.Watts }),
	num("energy_joules", "J", "power_watts over the window", func(r *Row) *profile.Opt[float64] { return &r.Joules }),
	num("sm_clock_mhz", "MHz", "clock", func(r *Row) *profile.Opt[float64] { return &r.Clock }),
	num("temp_celsius", "°C", "temperature", func(r *Row) *profile.Opt[float64] { return &r.Temp }),
}

// WriteCSV writes the tidy table.
func WriteCSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	cells := make([]string, len(columns))
	for k := range columns {
		cells[k] = columns[k].name
	}
	_ = out.Write(cells) // Error returns it
	for i := range rows {
		for k, c := range columns {
			cells[k] = c.write(&rows[i])
		}
		_ = out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

func (c *column) write(r *Row) string {
	if c.text != nil {
		return *c.text(r)
	}
	x, ok := c.number(r).Get()
	switch {
	case !ok:
		return ""
	case x == math.Trunc(x) && math.Abs(x) < 1<<53:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// readCSV reads a tidy table. Columns may be in any order and more than the
// schema has; name stands for the file in errors.
func readCSV(name string, r io.Reader) ([]Row, error) {
	in := csv.NewReader(r)
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: header: %w", name, err)
	}
	at := make(map[string]int)
	for i, title := range head {
		at[title] = i
	}
	for _, c := range columns {
		if _, ok := at[c.name]; !ok {
			return nil, fmt.Errorf("%s:1: no column %q: this is not a table of measure -csv", name, c.name)
		}
	}
	var rows []Row
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var r Row
		for _, c := range columns {
			if err := c.read(&r, cells[at[c.name]]); err != nil {
				line, _ := in.FieldPos(at[c.name])
				return nil, fmt.Errorf("%s:%d: column %s: %w", name, line, c.name, err)
			}
		}
		rows = append(rows, r)
	}
}

func (c *column) read(r *Row, cell string) error {
	if c.text != nil {
		*c.text(r) = cell
		return nil
	}
	if cell == "" {
		return nil
	}
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		return fmt.Errorf("%q is no number of 0 or more", cell)
	}
	*c.number(r) = profile.Some(x)
	return nil
}
