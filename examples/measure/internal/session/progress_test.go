package session

import (
	"strings"
	"testing"
	"time"

	"example.com/colloc/examples/measure/internal/plan"
	"example.com/colloc/examples/measure/internal/raw"
	"example.com/colloc/examples/measure/internal/workload"
	"example.com/colloc/nvmlx"

	"example.com/colloc/profile"
)

func TestProgress(t *testing.T) {
	clock := nvmlx.NewVirtualClock(time.Unix(0, 0))
	set := plan.Settings{Warmup: 1, Measure: 2.5}
	cells := []plan.Cell{
		{Mechanism: profile.Exclusive, Tasks: []string{"a"}}, // 12 s by rule
		{Mechanism: profile.MPS, Tasks: []string{"a", "b"}},  // 12.5 s
		{Mechanism: profile.MPS, Tasks: []string{"a", "b"}, Repeat: 1},
	}
	p := newProgress(clock, set, cells)
	if got := p.expect(&cells[0]); got != 12*time.Second {
		t.Errorf("first cell: %v, want 12s", got)
	}
	waiter := clock.NewWaiter()
	if err := waiter.Wait(t.Context(), clock.Now().Add(6*time.Second)); err != nil { // twice as fast as expected
		t.Fatal(err)
	}
	waiter.Stop()
	p.finished(0)
	if got := p.expect(&cells[1]); got != 6250*time.Millisecond {
		t.Errorf("second cell: %v, want 6.25s", got)
	}
	res := raw.Result{Cell: cells[0], Status: workload.OOM, Members: []raw.Member{{Task: "a", Status: workload.OOM, Message: "no room"}}}
	if got, want := p.line(0, &res), "[1/3, 13s left] exclusive a r0: oom (a: no room)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	res.Status, res.Window, res.Members[0] = workload.OK, &raw.Window{From: 0, To: 4}, raw.Member{Task: "a", Times: []float64{0, 4}, Counts: []int64{0, 8}}
	if got := p.line(2, &res); !strings.Contains(got, "[3/3, 0s left]") || !strings.Contains(got, "2.0 steps/s") {
		t.Errorf("got %q", got)
	}
}
