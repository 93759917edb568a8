package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/nvmlx"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// host is where the tasks run.
type host struct {
	found   *gpus.Host
	source  nvmlx.Source
	devices []nvmlx.DeviceInfo
	models  map[nvmlx.DeviceID]profile.GPUModel
	env     []string // what tasks inherit
}

// openHost finds the GPUs that the options ask for and turns their numbers into
// UUIDs. dir is where fake GPUs are kept.
func openHost(ctx context.Context, o *options, dir string) (*host, error) {
	found, err := gpus.Open(ctx, o.fakeGPUs, dir)
	if err != nil {
		return nil, err
	}
	if pipe := mps.PipeDir(found.Env); o.fakeGPUs == "" && slices.Contains(o.mechanisms, profile.MPS) && !mps.Running(pipe) {
		return nil, errors.Join(fmt.Errorf("-share mps: no MPS daemon listens in %s: start one with nvidia-cuda-mps-control -d, "+
			"or name the folder of yours in CUDA_MPS_PIPE_DIRECTORY", pipe), found.Source.Close())
	}
	if o.gpus, err = found.Choose("-gpus", o.gpus); err != nil {
		return nil, errors.Join(err, found.Source.Close())
	}
	return &host{found, found.Source, found.Devices, found.Models, found.Env}, nil
}

// close lets go of the GPUs, if they are the sweep's.
func (h *host) close() error {
	if h.source == nil {
		return nil
	}
	return h.source.Close()
}

// used returns the devices that the sweep uses: all that programs run on, or those
// of -gpus.
func (h *host) used(o *options) []nvmlx.DeviceInfo {
	return slices.DeleteFunc(nvmlx.Runnable(h.devices), func(d nvmlx.DeviceInfo) bool {
		return len(o.gpus) > 0 && !slices.Contains(o.gpus, d.ID) && !slices.Contains(o.gpus, d.Parent)
	})
}

// command is what to run for the command of a task.
func (h *host) command(words []string, shell bool) []string {
	if shell || h.found == nil {
		return words
	}
	return h.found.Command(words)
}

// fits reports memory, or a number of GPUs, that the host has not, before the first
// task is watched for long.
func (h *host) fits(o *options) error {
	if n := len(h.used(o)); o.taskGPUs > n {
		return fmt.Errorf("-gpus-per-task %d: there are %d GPUs to use", o.taskGPUs, n)
	}
	if most := h.largest(o); o.memory > most && most > 0 {
		return fmt.Errorf("-mem %v: no GPU has as much: the largest offers %v, with %.0f %% left free", o.memory, most, 100*packer.DefaultHeadroom)
	}
	return nil
}

// largest is what the largest GPU offers.
func (h *host) largest(o *options) (most profile.Bytes) {
	for _, d := range h.used(o) {
		most = max(most, colloc.Usable(d.Memory.Or(h.models[d.ID].Memory), packer.DefaultHeadroom))
	}
	return most
}

// find reports a program that is not there, before hundreds of tasks do.
func (h *host) find(jobs []grammar.Job, shell bool) error {
	if shell {
		return nil
	}
	found := make(map[string]bool)
	for _, j := range jobs {
		program := h.command(j.Command, shell)[0]
		if found[program] {
			continue
		}
		if _, err := exec.LookPath(program); err != nil && !errors.Is(err, exec.ErrDot) {
			if errors.Is(err, fs.ErrPermission) {
				return fmt.Errorf("task %s: the command %q may not be executed: chmod +x makes it a program, or name its interpreter", j.ID, program)
			}
			return fmt.Errorf("task %s: the command %q does not exist: %w; with -shell a shell reads the command", j.ID, program, errors.Unwrap(err))
		}
		found[program] = true
	}
	return nil
}
