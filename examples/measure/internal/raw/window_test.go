package raw

import (
	"math"
	"testing"
)

// steady is a member that does one step after the other from a time on.
func steady(from, step float64, n int) Member {
	m := Member{Times: []float64{from}, Counts: []int64{0}}
	for i := 1; i <= n; i++ {
		m.Times = append(m.Times, from+float64(i)*step)
		m.Counts = append(m.Counts, int64(i))
	}
	return m
}

func TestCommonWindow(t *testing.T) {
	tests := []struct {
		name    string
		members []Member
		warmup  float64
		want    Window
		ok      bool
	}{
		{"one", []Member{steady(10, 1, 8)}, 2, Window{12, 18}, true},
		{"within a step", []Member{steady(10, 1, 8)}, 2.5, Window{13, 18}, true},
		{"slow and fast", []Member{steady(10, 1, 8), steady(10, 0.25, 32)}, 2, Window{12, 18}, true},
		{"late and early", []Member{steady(11, 1, 8), steady(9, 1, 8)}, 2, Window{13, 17}, true},
		{"apart", []Member{steady(0, 1, 8), steady(9, 1, 8)}, 2, Window{11, 8}, false},
		{"never warm", []Member{steady(0, 1, 8)}, 9, Window{}, false},
		{"no steps", []Member{steady(0, 1, 8), {}}, 2, Window{}, false},
		{"nobody", nil, 2, Window{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := CommonWindow(tt.members, tt.warmup)
			if ok != tt.ok || got != tt.want {
				t.Errorf("got %v, %v, want %v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestSteps(t *testing.T) {
	m := Member{Times: []float64{10, 11, 13}, Counts: []int64{0, 10, 14}}
	tests := []struct {
		name string
		w    Window
		want float64
	}{
		{"all", Window{10, 13}, 14},
		{"beyond", Window{0, 99}, 14},
		{"between", Window{10.5, 12}, 7},
		{"one piece", Window{11.5, 12.5}, 2},
		{"before", Window{1, 2}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := m.Steps(tt.w); math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
