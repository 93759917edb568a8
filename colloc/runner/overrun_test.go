//go:build linux

package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/colloc/colloc/runner/fakegpu"
	"example.com/colloc/nvmlx"
	"example.com/colloc/profile"
)

// looks counts how often GPUs were looked at.
type looks struct {
	*fakegpu.Source

	n atomic.Int64
}

func (l *looks) Read(ctx context.Context, id nvmlx.DeviceID, fields nvmlx.Fields) (nvmlx.Sample, error) {
	l.n.Add(1)
	return l.Source.Read(ctx, id, fields)
}

// Of two tasks one uses more than was reserved for it, beside one of 16 GiB: it is told,
// and stopped where that is asked for and the other could lack memory. The other goes on.
func TestOverrun(t *testing.T) {
	t.Parallel()
	const few, many = "10GiB", "23GiB" // of 36 GiB, of which 20 are reserved
	for _, tt := range []struct {
		name, takes string
		policy      Overrun
		neighbour   profile.Bytes // uses
		stopped     bool
	}{
		{"report", many, OverrunReport, 15 * profile.GiB, false},
		{"stop", many, OverrunStop, 15 * profile.GiB, true},
		{"stop before the other needs it", many, OverrunStop, profile.GiB, true},
		{"room for both", few, OverrunStop, 15 * profile.GiB, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			source := new(looks)
			g := newRig(t, dir, gpuFile(1), func(c *Config) {
				source.Source, _ = c.Source.(*fakegpu.Source)
				c.Source, c.Overrun = source, tt.policy
			})
			gate := filepath.Join(dir, "go")
			innocent, greedy := allocator(t, tt.neighbour.String(), gate), allocator(t, tt.takes, gate)
			innocent.Memory, greedy.Memory = 16*profile.GiB, 4*profile.GiB
			g.submit(t, innocent, greedy)
			done := g.start(t)
			waitFor(t, func() bool { r := g.record(t, "2"); return r.Overrun() > 0 || r.Overruns > 0 })
			if tt.stopped {
				waitFor(t, func() bool { return g.record(t, "2").Overruns == 1 })
				waitFor(t, func() bool { r := g.record(t, "1"); return r.State == Running || r.Runs > 1 }) // it may start last
				if r := g.record(t, "1"); r.Runs != 1 {
					t.Errorf("the other task is in run %d", r.Runs)
				}
			}
			seen := source.n.Load()
			waitFor(t, func() bool { return source.n.Load() > seen+5 })
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			records := g.finish(t)
			if r := records[0]; r.State != Succeeded || r.Runs != 1 {
				t.Errorf("the other task is %v after %d runs: %s", r.State, r.Runs, r.Err)
			}
			told := 0
			for _, e := range g.events {
				if e.Kind == EventOverrun && e.Record.Task.ID == "2" && strings.Contains(e.Text, "4 GiB") {
					told++
				}
			}
			r, runs, wantTold := records[1], 1, 1
			if tt.stopped {
				runs, wantTold = 2, 2
			}
			if r.State != Succeeded || r.Runs != runs || r.Overruns != runs-1 || told != wantTold || r.Failures != 0 {
				t.Errorf("it is %v after %d runs, %d of them stopped, and was told of %d times: %s", r.State, r.Runs, r.Overruns, told, r.Err)
			}
			if tt.stopped && r.Reserved < 34*profile.GiB {
				t.Errorf("it then reserved %v, want more than it had used", r.Reserved)
			}
		})
	}
}
