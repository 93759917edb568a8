package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/cmd/internal/gpus"
	"example.com/colloc/colloc/cmd/internal/grammar"
	"example.com/colloc/colloc/cmd/internal/guest"
	"example.com/colloc/nvmlx/mps"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// openHost finds the GPUs that the options ask for and turns their numbers into
// UUIDs. dir is where fake GPUs are kept.
func openHost(ctx context.Context, o *options, dir string) (*gpus.Host, error) {
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
	return found, nil
}

// fits reports memory, or a number of GPUs, that the host has not, before the first
// task is watched for long.
func (o *options) fits(h *gpus.Host) error {
	used, most := h.Use(o.gpus), profile.Bytes(0)
	for _, d := range used {
		most = max(most, colloc.Usable(d.Memory.Or(h.Models[d.ID].Memory), packer.DefaultHeadroom))
	}
	switch n := len(used); {
	case o.taskGPUs > n:
		return fmt.Errorf("-gpus-per-task %d: there are %d GPUs to use", o.taskGPUs, n)
	case o.memory > most && most > 0:
		return fmt.Errorf("-mem %v: no GPU has as much: the largest offers %v, with %.0f %% left free", o.memory, most, 100*packer.DefaultHeadroom)
	}
	return nil
}

// runs is what is run for the command of a task.
func (o *options) runs(j *grammar.Job, h *gpus.Host) []string {
	if o.grid.Shell {
		return j.Command
	}
	return h.Command(j.Command)
}

// find reports a program that is not there, before hundreds of tasks do.
func (o *options) find(jobs []grammar.Job, h *gpus.Host) error {
	found := make(map[string]bool)
	for i := range jobs {
		program := o.runs(&jobs[i], h)[0]
		if found[program] || o.grid.Shell {
			continue
		}
		if err := guest.Found(program); err != nil {
			return fmt.Errorf("task %s: %w", jobs[i].ID, err)
		}
		found[program] = true
	}
	return nil
}
