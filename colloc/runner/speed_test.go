package runner

import (
	"testing"
	"time"

	"example.com/colloc/profile"
)

func TestRate(t *testing.T) {
	some := profile.Some[int64]
	tests := []struct {
		name string
		mark mark
		step profile.Opt[int64]
		want profile.Opt[rate]
	}{
		{"steps", mark{step: some(10)}, some(30), profile.Some(rate{value: 2, steps: true})},
		{"few steps", mark{step: some(10)}, some(14), profile.Opt[rate]{}},
		{"no first step", mark{}, some(30), profile.Opt[rate]{}},
		{"share of the GPU", mark{busy: 4, looks: 5}, profile.Opt[int64]{}, profile.Some(rate{value: 0.8})},
		{"few looks", mark{busy: 4, looks: 4}, profile.Opt[int64]{}, profile.Opt[rate]{}},
		{"steps win", mark{step: some(0), busy: 4, looks: 5}, some(1), profile.Opt[rate]{}},
		{"idle", mark{looks: 9}, profile.Opt[int64]{}, profile.Opt[rate]{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := &entry{saved: saved{Record: Record{Step: test.step}}}
			if got := test.mark.rate(e, 10*time.Second); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestSoloRate(t *testing.T) {
	p, other := newProfile(t), newProfile(t)
	told := newProfile(t)
	if err := told.Vector.Set(profile.MedianStepTime, 0.25); err != nil {
		t.Fatal(err)
	}
	own, unknown := &entry{profile: p}, &entry{}
	r := &Runner{solo: solo{
		byEntry:   map[*entry]rate{own: {value: 3, steps: true}},
		byProfile: map[*profile.Profile]rate{p: {value: 2, steps: true}},
	}}
	tests := []struct {
		name  string
		entry *entry
		want  float64
	}{
		{"its own", own, 3},
		{"that of its profile", &entry{profile: p}, 2},
		{"what the profile tells", &entry{profile: told}, 4},
		{"not measured", &entry{profile: other}, 0},
		{"nothing known", unknown, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := r.soloRate(test.entry)
			if ok != (test.want > 0) || ok && got != (rate{value: test.want, steps: true}) {
				t.Errorf("got %v, %v, want %v", got, ok, test.want)
			}
		})
	}
}

// newProfile is a profile of a small task.
func newProfile(tb testing.TB) *profile.Profile {
	tb.Helper()
	p, err := profile.New(profile.Spec{Model: profile.Model{Name: "small"}, Training: profile.Training{BatchSize: 8}}, profile.Trace{}, profile.GPUModel{})
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}
