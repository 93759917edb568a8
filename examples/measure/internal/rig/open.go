package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"example.com/colloc/examples/measure/internal/smi"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/gonvml"
	"example.com/colloc/nvmlx/mps"
)

// Options say which GPU, and with which Python.
type Options struct {
	GPU       string // index or ID; "" is the first, or that of CUDA_VISIBLE_DEVICES
	Python    string // program that has PyTorch
	Unchecked bool   // do without anything that tells who uses the GPU
}

// Open returns a rig on a real GPU. It changes nothing on it: no modes, no
// clocks, no limits.
func Open(ctx context.Context, o Options) (_ *Rig, err error) {
	r := &Rig{Clock: nvmlx.SystemClock(), Servers: func() int { return 0 }}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	dir, err := os.MkdirTemp("", "colloc-measure-")
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, func() error { return os.RemoveAll(dir) })
	script, err := workload.Unpack(dir)
	if err != nil {
		return nil, err
	}
	if err := r.open(ctx, o); err != nil {
		return nil, err
	}
	lockFile, err := lockDevice(os.TempDir(), string(r.Device.ID))
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, lockFile.Close)
	for _, pipe := range []string{mps.DefaultPipeDir, mps.PipeDir(os.Environ())} {
		if mps.Running(pipe) {
			return nil, fmt.Errorf("%w: an MPS daemon that is not ours listens in %s, so that time-slicing could not be told from MPS: stop it with "+
				"echo quit | CUDA_MPS_PIPE_DIRECTORY=%[2]s nvidia-cuda-mps-control, or remove that folder if none runs any more", ErrForeign, pipe)
		}
	}
	l := &launcher{rig: r, dir: dir, script: script, python: o.Python}
	r.Launch = l.command
	r.Servers = l.servers
	return r, nil
}

// open finds a source and the device.
func (r *Rig) open(ctx context.Context, o Options) error {
	source, noLibrary := gonvml.Open(nil)
	r.Source, r.Via = source, "nvml"
	if noLibrary != nil {
		if r.Source, r.Via = smi.Open(), "nvidia-smi"; r.Source == nil {
			r.Via = "none"
			if !o.Unchecked {
				return fmt.Errorf("nothing tells who uses the GPU (%w, and there is no nvidia-smi): -unchecked measures all the same, without samples; -fake needs no GPU", noLibrary)
			}
			list, _ := wanted(o.GPU)
			first, _, _ := strings.Cut(list, ",")
			r.Source, r.Device.ID = nil, nvmlx.DeviceID(first)
			return nil
		}
	}
	r.closers = append(r.closers, r.Source.Close)
	var err error
	if r.System, err = r.Source.Info(ctx); err != nil {
		return errors.Join(noLibrary, err)
	}
	devices, err := r.Source.Devices(ctx)
	if err != nil {
		return err
	}
	r.Device, err = chooseDevice(devices, o.GPU)
	r.Device.MPSActive = nvmlx.DeviceInfo{}.MPSActive // changes while we measure
	return err
}
