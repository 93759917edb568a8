package session

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"example.com/colloc/examples/measure/internal/plan"

	"example.com/colloc/examples/measure/internal/rig"
)

type launch = func(context.Context, plan.Slot) (*exec.Cmd, error)

// withFile gives every workload a third file.
func withFile(l launch, f *os.File) launch {
	return func(ctx context.Context, s plan.Slot) (*exec.Cmd, error) {
		cmd, err := l(ctx, s)
		if err == nil {
			cmd.ExtraFiles = []*os.File{f}
		}
		return cmd, err
	}
}

// withoutMPS is a machine on which the MPS daemon does not start.
func withoutMPS(l launch) launch {
	return func(ctx context.Context, s plan.Slot) (*exec.Cmd, error) {
		if s.MPS {
			return nil, fmt.Errorf("%w: nvidia-cuda-mps-control is not installed", rig.ErrMPS)
		}
		return l(ctx, s)
	}
}

// missing is a machine without Python.
func missing(context.Context, plan.Slot) (*exec.Cmd, error) {
	return exec.Command("no-such-python"), nil
}
