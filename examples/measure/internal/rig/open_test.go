package rig_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/rig"
	"example.com/colloc/examples/measure/internal/rigtest"
	"example.com/colloc/internal/filelock"
)

func TestMain(m *testing.M) {
	rigtest.Play()
	goleak.VerifyTestMain(m)
}

// TestEnvironment checks what workloads are started with.
func TestEnvironment(t *testing.T) {
	rigtest.Machine(t, rigtest.WithMPS)
	r, err := rig.Open(t.Context(), rig.Options{GPU: "0", Python: "python3"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := rig.Open(t.Context(), rig.Options{GPU: "0", Python: "python3"}); !errors.Is(err, filelock.ErrInUse) {
		t.Errorf("a second instance on the GPU: %v", err)
	}
	tests := []struct {
		slot plan.Slot
		want []string
	}{
		{plan.Slot{Task: "lstm"}, []string{"CUDA_MPS_PIPE_DIRECTORY=*no-mps", "CUDA_VISIBLE_DEVICES=GPU-1"}},
		{plan.Slot{Task: "lstm", MPS: true}, []string{"CUDA_MPS_PIPE_DIRECTORY=*/mps", "CUDA_VISIBLE_DEVICES=GPU-1"}},
		{plan.Slot{Task: "lstm", MPS: true, Threads: 0.25}, []string{
			"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25", "CUDA_MPS_PIPE_DIRECTORY=*/mps", "CUDA_VISIBLE_DEVICES=GPU-1",
		}},
	}
	for _, tt := range tests {
		cmd, err := r.Launch(context.Background(), tt.slot)
		if err != nil {
			t.Fatal(err)
		}
		last := make(map[string]string)
		for _, v := range cmd.Env {
			name, value, _ := strings.Cut(v, "=")
			if strings.HasPrefix(name, "CUDA_") {
				if i := strings.LastIndex(value, "/colloc-measure-"); i >= 0 {
					value = "*" + value[strings.LastIndex(value, "/"):]
				}
				last[name] = value
			}
		}
		var got []string
		for name, value := range last {
			got = append(got, name+"="+strings.Replace(value, "*/no-mps", "*no-mps", 1))
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.slot, got, tt.want)
		}
		if script := cmd.Args[1]; filepath.Base(script) != "worker.py" {
			t.Errorf("%+v: runs %q", tt.slot, cmd.Args)
		} else if _, err := os.Stat(script); err != nil {
			t.Error(err)
		}
	}
	if n := r.Servers(); n != 1 {
		t.Errorf("%d MPS servers, want 1", n)
	}
}
