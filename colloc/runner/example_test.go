//go:build linux

package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"example.com/colloc/colloc/runner"
	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/profile"
)

// Two tasks share a GPU; a third one waits for the first to succeed and is tried
// twice. A program's main function begins with runner.Supervise(); here TestMain
// does.
func Example() {
	if err := example(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// train-0 succeeded on GPU-fake-0 after 1 run: loss 0.5
	// train-1 succeeded on GPU-fake-0 after 1 run: loss 0.25
	// evaluate succeeded on GPU-fake-0 after 2 runs: fine
}

func example() error {
	dir, err := os.MkdirTemp("", "runner")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	gpus := filepath.Join(dir, "gpus.json")
	if err := os.WriteFile(gpus, []byte(`{"gpus": [{"name": "A100-40GB"}]}`), 0o600); err != nil {
		return err
	}
	source, err := fakegpu.Open(gpus, filepath.Join(dir, "uses")) // gonvml.Open where there are GPUs
	if err != nil {
		return err
	}
	ctx := context.Background()
	r, err := runner.Open(ctx, runner.Config{Dir: filepath.Join(dir, "sweep"), Source: source, PerGPU: 2})
	if err != nil {
		return err
	}
	_, err = r.Submit(
		runner.Task{ID: "train-0", Command: []string{"echo", "loss", "0.5"}, Memory: 8 * profile.GiB},
		runner.Task{ID: "train-1", Command: []string{"echo", "loss", "0.25"}, Memory: 8 * profile.GiB},
		runner.Task{
			ID: "evaluate", Command: []string{`[ "$COLLOC_RUN" = 2 ] && echo fine`}, Shell: true, Memory: profile.GiB,
			After: []runner.Dependency{{Task: "train-0"}}, Retries: 1,
		},
	)
	if err != nil {
		return err
	}
	if err := r.Run(ctx); err != nil {
		return err
	}
	for _, t := range r.Records() {
		output, err := os.ReadFile(t.Log)
		if err != nil {
			return err
		}
		runs := "run"
		if t.Runs > 1 {
			runs = "runs"
		}
		fmt.Printf("%s %v on %s after %d %s: %s", t.Task.ID, t.State, t.GPU, t.Runs, runs, output)
	}
	return r.Close()
}
