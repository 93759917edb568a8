package main

import (
	"math"
	"testing"
)

// steady is a member that does one step after the other from a time on.
func steady(from, step float64, n int) member {
	m := member{Times: []float64{from}, Counts: []int64{0}}
	for i := 1; i <= n; i++ {
		m.Times = append(m.Times, from+float64(i)*step)
		m.Counts = append(m.Counts, int64(i))
	}
	return m
}

func TestCommonWindow(t *testing.T) {
	tests := []struct {
		name    string
		members []member
		warmup  float64
		want    window
		ok      bool
	}{
		{"one", []member{steady(10, 1, 8)}, 2, window{12, 18}, true},
		{"within a step", []member{steady(10, 1, 8)}, 2.5, window{13, 18}, true},
		{"slow and fast", []member{steady(10, 1, 8), steady(10, 0.25, 32)}, 2, window{12, 18}, true},
		{"late and early", []member{steady(11, 1, 8), steady(9, 1, 8)}, 2, window{13, 17}, true},
		{"apart", []member{steady(0, 1, 8), steady(9, 1, 8)}, 2, window{11, 8}, false},
		{"never warm", []member{steady(0, 1, 8)}, 9, window{}, false},
		{"no steps", []member{steady(0, 1, 8), {}}, 2, window{}, false},
		{"nobody", nil, 2, window{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := commonWindow(tt.members, tt.warmup)
			if ok != tt.ok || got != tt.want {
				t.Errorf("got %v, %v, want %v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestSteps(t *testing.T) {
	m := member{Times: []float64{10, 11, 13}, Counts: []int64{0, 10, 14}}
	tests := []struct {
		name string
		w    window
		want float64
	}{
		{"all", window{10, 13}, 14},
		{"beyond", window{0, 99}, 14},
		{"between", window{10.5, 12}, 7},
		{"one piece", window{11.5, 12.5}, 2},
		{"before", window{1, 2}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := m.steps(tt.w); math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
