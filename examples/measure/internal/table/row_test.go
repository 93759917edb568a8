package table

import (
	"testing"

	"example.com/colloc/profile"
)

func TestNeed(t *testing.T) {
	some := profile.Some[float64]
	alone := Row{SetSize: some(1), Idle: some(0), Context: some(0.5), Reserved: some(2)}
	tests := []struct {
		name   string
		change func(*Row)
		want   profile.Opt[float64]
	}{
		{"pool and context", func(*Row) {}, some(2.5)},
		{"device", func(r *Row) { r.DevicePeak, r.Baseline = some(4), some(1) }, some(3)},
		{"device with others", func(r *Row) { r.DevicePeak, r.Baseline, r.Idle = some(4), some(1), some(3) }, some(2.5)},
		{"driver", func(r *Row) { r.Peak, r.DevicePeak, r.Baseline = some(3.25), some(4), some(1) }, some(3.25)},
		{"nothing", func(r *Row) { r.Reserved = profile.Opt[float64]{} }, profile.Opt[float64]{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := alone
			tt.change(&r)
			if got := r.Need(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
