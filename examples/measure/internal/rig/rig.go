package rig

import (
	"context"
	"errors"
	"os/exec"
	"slices"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Rig is what cells run on: a GPU with the means to watch it and to start
// workloads on it, or a simulation of that.
type Rig struct {
	// Source reads the device; nil where nothing can.
	Source nvmlx.Source
	// Via names it in the results: "nvml", "nvidia-smi", "simulated", "none".
	Via    string
	Device nvmlx.DeviceInfo // the GPU, or its instance
	System nvmlx.SystemInfo // the driver
	Clock  nvmlx.Clock      // simulated time passes by itself
	// Launch returns a command that runs a workload; it starts what the
	// workload needs, such as the MPS daemon.
	Launch func(context.Context, plan.Slot) (*exec.Cmd, error)
	// Servers counts the MPS servers that belong to this program.
	Servers func() int
	// Sim plays device and workloads; nil on a real GPU.
	Sim     Simulation
	closers []func() error
}

// ErrForeign means that others use the GPU.
var ErrForeign = errors.New("other processes use the GPU: nothing measured beside them counts")

// ErrMPS means that the MPS daemon cannot be started; the rest can be measured.
var ErrMPS = errors.New("no MPS here")

// Simulation plays a device and what runs on it.
type Simulation interface {
	// Play returns the part of member i of a cell, which the process pid is to
	// play on a command.
	Play(c *plan.Cell, i, pid int, cmd string) *workload.Act
	// End empties the device: the cell's processes left.
	End()
}

// Close stops what the rig started, the latest first.
func (r *Rig) Close() error {
	var first error
	for _, c := range slices.Backward(r.closers) {
		if err := c(); err != nil && first == nil {
			first = err
		}
	}
	r.closers = nil
	return first
}

// Used returns the device memory in use, if that can be told.
func (r *Rig) Used(ctx context.Context) profile.Opt[profile.Bytes] {
	if r.Source == nil {
		return profile.Opt[profile.Bytes]{}
	}
	sample, err := r.Source.Read(ctx, r.Device.ID, nvmlx.FieldMemUsed)
	if err != nil {
		return profile.Opt[profile.Bytes]{}
	}
	return sample.MemUsed
}

// Processes lists who uses the device; [nvmlx.ErrNotSupported] if nothing tells.
func (r *Rig) Processes(ctx context.Context) ([]nvmlx.Process, error) {
	reader, ok := r.Source.(nvmlx.ProcessReader)
	if !ok {
		return nil, nvmlx.ErrNotSupported
	}
	return reader.Processes(ctx, r.Device.ID)
}
