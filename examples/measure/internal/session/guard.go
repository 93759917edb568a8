package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/colloc/examples/measure/internal/rig"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/nvmlx"
)

// guard makes sure that nobody else computes on the GPU.
type guard struct {
	rig       *rig.Rig
	pool      *workload.Pool
	unchecked bool // the user bears that nothing may tell
	blind     bool // nothing does
}

// alone makes sure that nobody else computes on the GPU. Processes that have
// just ended may be listed for a moment more.
func (g *guard) alone(ctx context.Context) error {
	if g.blind {
		return ctx.Err()
	}
	waiter := g.rig.Clock.NewWaiter()
	defer waiter.Stop()
	var strangers []nvmlx.Process
	var err error
	for range 5 {
		own := make(map[int]bool)
		for _, w := range g.pool.Idle {
			own[w.PID()] = true
		}
		var list []nvmlx.Process
		list, err = g.rig.Processes(ctx)
		if strangers = foreign(list, own, g.rig.Servers()); err == nil && len(strangers) == 0 {
			return ctx.Err()
		}
		if errors.Is(err, nvmlx.ErrNotSupported) || errors.Is(err, nvmlx.ErrPermission) {
			break // nor will it later
		}
		if err := waiter.Wait(ctx, g.rig.Clock.Now().Add(time.Second)); err != nil {
			return err
		}
	}
	if err != nil && g.unchecked {
		g.blind = true
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("nothing tells who uses the GPU (%w): -unchecked measures all the same", err)
	}
	var names []string
	for _, p := range strangers {
		names = append(names, strings.TrimSpace(fmt.Sprintf("%d %s", p.PID, p.Name)))
	}
	return fmt.Errorf("%w: %s", rig.ErrForeign, strings.Join(names, ", "))
}

// foreign returns the computing processes that are not ours. MPS servers belong
// to our daemon: by name, or, where the driver tells no names, by their number.
// In a container the driver may count processes as the host does; then ours
// cannot be told by their PIDs either, only how many there must be.
func foreign(list []nvmlx.Process, own map[int]bool, servers int) []nvmlx.Process {
	listed := false
	strangers := slices.DeleteFunc(slices.Clone(list), func(p nvmlx.Process) bool {
		listed = listed || own[p.PID]
		return own[p.PID] || p.Kind == nvmlx.GraphicsProcess || servers > 0 && strings.Contains(p.Name, "nvidia-cuda-mps")
	})
	unnamed := 0
	for _, p := range strangers {
		if p.Name == "" {
			unnamed++
		}
	}
	expected := min(unnamed, servers)
	if !listed {
		expected += len(own)
	}
	if len(strangers) <= expected {
		return nil
	}
	return strangers
}
