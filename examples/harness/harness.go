package harness

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/colloc"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// Recorded plays a recording to its end and returns, for each device, the GPU
// and the task that ran alone on it, described by what was seen. The task has
// the device's ID with "task-" before it.
func Recorded(ctx context.Context, r io.Reader) ([]colloc.GPU, []colloc.Task, error) {
	src, err := nvmlx.Replay(r, nil)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	devices, err := src.Devices(ctx)
	if err != nil {
		return nil, nil, err
	}
	var gpus []colloc.GPU
	var tasks []colloc.Task
	for _, d := range devices {
		gpu, err := describe(d)
		if err != nil {
			return nil, nil, err
		}
		seen, err := trace(ctx, src, d.ID)
		if err != nil {
			return nil, nil, err
		}
		name := "task-" + string(d.ID)
		spec := profile.Spec{Model: profile.Model{Name: name}, Training: profile.Training{BatchSize: 1}}
		p, err := profile.New(spec, seen, gpu.Model)
		if err != nil {
			return nil, nil, err
		}
		gpus, tasks = append(gpus, gpu), append(tasks, colloc.Task{ID: name, Profile: &p})
	}
	return gpus, tasks, nil
}

// describe turns a device into a GPU that a Planner understands.
func describe(d nvmlx.DeviceInfo) (colloc.GPU, error) {
	model, ok := profile.LookupGPU(d.Name)
	if !ok {
		return colloc.GPU{}, fmt.Errorf("harness: device %s: %q is not in the catalogue", d.ID, d.Name)
	}
	return colloc.GPU{ID: string(d.ID), Model: model, Memory: d.Memory.Or(0)}, nil
}

// trace reads all samples of one device.
func trace(ctx context.Context, src nvmlx.Source, id nvmlx.DeviceID) (profile.Trace, error) {
	var t profile.Trace
	for {
		s, err := src.Read(ctx, id, nvmlx.FieldsAll)
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		t.Samples = append(t.Samples, s.Sample)
	}
}
