package main

import (
	"strings"
	"testing"
	"time"

	"example.com/colloc/profile"
)

func TestProgress(t *testing.T) {
	sim := &simulator{now: time.Unix(0, 0)}
	set := settings{Warmup: 1, Measure: 2.5}
	cells := []cell{
		{Mechanism: profile.Exclusive, Tasks: []string{"a"}}, // 12 s by rule
		{Mechanism: profile.MPS, Tasks: []string{"a", "b"}},  // 12.5 s
		{Mechanism: profile.MPS, Tasks: []string{"a", "b"}, Repeat: 1},
	}
	p := newProgress(sim, set, cells)
	if got := p.expect(&cells[0]); got != 12*time.Second {
		t.Errorf("first cell: %v, want 12s", got)
	}
	sim.pass(6 * time.Second) // twice as fast as expected
	p.finished(0)
	if got := p.expect(&cells[1]); got != 6250*time.Millisecond {
		t.Errorf("second cell: %v, want 6.25s", got)
	}
	res := result{Cell: cells[0], Status: statusOOM, Members: []member{{Task: "a", Status: statusOOM, Message: "no room"}}}
	if got, want := p.line(0, &res), "[1/3, 13s left] exclusive a r0: oom (a: no room)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	res.Status, res.Window, res.Members[0] = statusOK, &window{0, 4}, steady(0, 0.5, 8)
	if got := p.line(2, &res); !strings.Contains(got, "[3/3, 0s left]") || !strings.Contains(got, "2.0 steps/s") {
		t.Errorf("got %q", got)
	}
}

func TestStats(t *testing.T) {
	tests := []struct {
		name         string
		values       []float64
		median, mean float64
		tail         float64 // 0.99
	}{
		{"one", []float64{3}, 3, 3, 3},
		{"odd", []float64{9, 1, 2}, 2, 4, 9},
		{"even", []float64{4, 1, 2, 9}, 3, 4, 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mid, ok1 := median(tt.values)
			avg, ok2 := mean(tt.values)
			if !ok1 || !ok2 || mid != tt.median || avg != tt.mean || quantile(tt.values, 0.99) != tt.tail {
				t.Errorf("median %v, mean %v, 99 %% %v", mid, avg, quantile(tt.values, 0.99))
			}
		})
	}
	if _, ok := median(nil); ok || quantile(nil, 0.5) != 0 {
		t.Error("nothing has a median")
	}
	if _, ok := mean(nil); ok {
		t.Error("nothing has a mean")
	}
}
