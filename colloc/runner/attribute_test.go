//go:build linux

package runner

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// container is a source that does not tell which processes are whose.
type container struct {
	nvmlx.Source
	source nvmlx.ProcessReader
	rename func([]nvmlx.Process) ([]nvmlx.Process, error)
}

func (c container) Processes(ctx context.Context, id nvmlx.DeviceID) ([]nvmlx.Process, error) {
	all, err := c.source.Processes(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.rename(all)
}

// TestContainer learns what a task needs where the driver does not say whose the
// memory on the GPU is, and lets another one join it.
func TestContainer(t *testing.T) {
	for name, rename := range map[string]func([]nvmlx.Process) ([]nvmlx.Process, error){
		"no list":    func([]nvmlx.Process) ([]nvmlx.Process, error) { return nil, nvmlx.ErrNotSupported },
		"empty list": func([]nvmlx.Process) ([]nvmlx.Process, error) { return nil, nil },
		"numbers of the host": func(all []nvmlx.Process) ([]nvmlx.Process, error) {
			for i := range all {
				all[i].PID += 1 << 22 // Linux gives none as large
			}
			return all, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			g := newRig(t, dir, `{"gpus": [{"name": "A100-40GB", "foreign": "2GiB"}]}`, func(c *Config) {
				source, ok := c.Source.(nvmlx.ProcessReader)
				if !ok {
					t.Fatal("the source lists no processes")
				}
				c.Source = container{c.Source, source, rename}
			})
			first, second := allocator(t, "22GiB", filepath.Join(dir, "go")), allocator(t, "10GiB")
			first.Memory, second.Memory = 22*profile.GiB, 10*profile.GiB
			g.submit(t, first)
			done := g.start(t)
			waitFor(t, func() bool { return g.record(t, "1").Peak.Or(0) == 22*profile.GiB })
			g.submit(t, second)
			waitFor(t, func() bool { return g.record(t, "2").State == Succeeded })
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			for _, r := range g.Records() {
				if r.State != Succeeded || r.Peak.Or(0) > 22*profile.GiB {
					t.Errorf("task %s is %v with a peak of %v: %s", r.Task.ID, r.State, r.Peak, r.Err)
				}
			}
		})
	}
}
