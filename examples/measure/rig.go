package main

import (
	"context"
	"os/exec"
	"slices"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// rig is what cells run on: a GPU with the means to watch it and to start
// workloads on it, or a simulation of that.
type rig struct {
	// source reads the device; nil where nothing can.
	source nvmlx.Source
	// via names it in the results: "nvml", "nvidia-smi", "simulated", "none".
	via    string
	device nvmlx.DeviceInfo
	system nvmlx.SystemInfo
	clock  nvmlx.Clock
	// launch returns a command that runs a workload; it starts what the
	// workload needs, such as the MPS daemon.
	launch func(context.Context, slot) (*exec.Cmd, error)
	// servers counts the MPS servers that belong to this program.
	servers func() int
	// sim plays device and workloads; nil on a real GPU.
	sim     *simulator
	closers []func() error
}

// close stops what the rig started, the latest first.
func (r *rig) close() error {
	var first error
	for _, c := range slices.Backward(r.closers) {
		if err := c(); err != nil && first == nil {
			first = err
		}
	}
	r.closers = nil
	return first
}

// used returns the device memory in use.
func (r *rig) used(ctx context.Context) profile.Opt[profile.Bytes] {
	if r.source == nil {
		return profile.Opt[profile.Bytes]{}
	}
	sample, err := r.source.Read(ctx, r.device.ID, nvmlx.FieldMemUsed)
	if err != nil {
		return profile.Opt[profile.Bytes]{}
	}
	return sample.MemUsed
}
