package session

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/workload"
)

// describe returns the header of what is measured here. It asks a workload for the
// versions, which also shows that it can run.
func (r *runner) describe(ctx context.Context, task string) (*raw.Header, error) {
	const hint = "-python names the Python that has PyTorch for this GPU"
	w, err := r.start(ctx, plan.Slot{Task: task})
	if err != nil {
		return nil, fmt.Errorf("no workload can run here: %w; %s", err, hint)
	}
	hello, err := w.Await(ctx, workload.EventHello, r.config.Start)
	if err != nil {
		w.Kill()
		return nil, fmt.Errorf("no workload can run here: %w; %s", err, hint)
	}
	w.Quit(quitPatience)
	h := &raw.Header{
		Simulated: r.rig.Sim != nil || hello.Device == "cpu",
		Machine:   raw.Machine{Label: r.config.Machine, OS: runtime.GOOS + "/" + runtime.GOARCH, CPU: processor(), Cores: runtime.NumCPU()},
		GPU:       r.rig.Device, System: r.rig.System, Framework: hello.Framework,
		Settings: r.config.Settings, Samples: r.rig.Via,
	}
	if h.GPU.Name == "" {
		h.GPU.Name, h.GPU.Memory = hello.Device, hello.Total
	}
	return h, nil
}

// processor returns the model of the host's CPU, where Linux tells.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
