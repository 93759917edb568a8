package fleet

import (
	"testing"
	"time"

	"example.com/colloc/colloc/runner/internal/backlog"
	"example.com/colloc/colloc/runner/queue"
	"example.com/colloc/profile"
)

func TestRate(t *testing.T) {
	some := profile.Some[int64]
	tests := []struct {
		name     string
		mark     mark
		step     profile.Opt[int64]
		restarts int
		want     profile.Opt[rate]
	}{
		{"steps", mark{step: some(10)}, some(30), 0, profile.Some(rate{value: 2})},
		{"few steps", mark{step: some(10)}, some(14), 0, profile.Opt[rate]{}},
		{"no first step", mark{}, some(30), 0, profile.Opt[rate]{}},
		{"share of the GPU", mark{busy: 4, looks: 5}, profile.Opt[int64]{}, 0, profile.Some(rate{value: 0.8, unit: busy})},
		{"few looks", mark{busy: 4, looks: 4}, profile.Opt[int64]{}, 0, profile.Opt[rate]{}},
		{"steps win", mark{step: some(0), busy: 4, looks: 5}, some(1), 0, profile.Opt[rate]{}},
		{"idle", mark{looks: 9}, profile.Opt[int64]{}, 0, profile.Opt[rate]{}},
		{"an epoch ended before", mark{step: some(10), restarts: 7}, some(30), 7, profile.Some(rate{value: 2})},
		{"an epoch ended", mark{step: some(10)}, some(30), 1, profile.Opt[rate]{}},
		{"some epochs", mark{step: some(10)}, some(30), fewestEpochs - 1, profile.Opt[rate]{}},
		{"many epochs", mark{step: some(10), restarts: 3}, some(30), 3 + fewestEpochs, profile.Some(rate{value: 2, unit: epochs})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := &backlog.Entry{Saved: backlog.Saved{Record: queue.Record{Step: test.step, Restarts: test.restarts}}}
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
	own, unknown := &backlog.Entry{Profile: p}, &backlog.Entry{}
	f := &Fleet{solo: solo{
		byEntry:   map[*backlog.Entry]rates{own: {steps: 0.3}},
		byProfile: map[*profile.Profile]rates{p: {steps: 0.2, epochs: 0.15}},
	}}
	tests := []struct {
		name  string
		entry *backlog.Entry
		of    unit
		want  float64
	}{
		{"its own", own, steps, 0.3},
		{"that of its profile", &backlog.Entry{Profile: p}, steps, 0.2},
		{"that of its profile, as its own is not known", own, epochs, 0.15},
		{"what the profile tells", &backlog.Entry{Profile: told}, steps, 4},
		{"the profile tells of steps only", &backlog.Entry{Profile: told}, epochs, 0},
		{"not measured", &backlog.Entry{Profile: other}, steps, 0},
		{"nothing known", unknown, steps, 0},
		{"another unit", own, busy, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := f.soloRate(test.entry, test.of); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
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

// TestEpochs lets windows end in short epochs, in long ones, and where no epoch
// was seen: only those of short epochs wait until enough of them are over.
func TestEpochs(t *testing.T) {
	const long = 10 * time.Second
	began := time.Unix(1e9, 0)
	tests := []struct {
		name     string
		restarts int
		cycle    time.Duration
		lasted   time.Duration
		want     bool
	}{
		{"none ended", 0, time.Second, long, false},
		{"the first one ended", 1, 0, long, false},
		{"long ones", 1, long + 1, long, false},
		{"short ones", 2, long / 2, long, true},
		{"enough of them", fewestEpochs, long, long, false},
		{"they became longer", 2, long / 2, 2 * fewestEpochs * long, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := &backlog.Entry{Cycle: test.cycle, Saved: backlog.Saved{Record: queue.Record{Restarts: 3 + test.restarts}}}
			c := &Card{Entries: []*backlog.Entry{e}, window: window{since: began, marks: map[*backlog.Entry]mark{e: {restarts: 3}}}}
			f := &Fleet{config: Config{Window: long}}
			if got := f.ripens(c, began.Add(test.lasted)); got != test.want {
				t.Errorf("it waits: %v, want %v", got, test.want)
			}
		})
	}
}

// TestRatesOfMany: a runner that has had tasks for months keeps the rates of the last profiles, and those that it adds count.
func TestRatesOfMany(t *testing.T) {
	f, err := New(Config{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * mostProfiles {
		e := &backlog.Entry{Profile: &profile.Profile{}}
		f.learnSolo(e, rate{value: 2})
		f.Forget(e)
		if n := len(f.solo.byProfile); n > mostProfiles || f.soloRate(e, steps) != 2 {
			t.Fatalf("after %d: the rates of %d profiles, and the last is %v", i+1, n, f.soloRate(e, steps))
		}
		if n := len(f.solo.byProfile); n == mostProfiles {
			if f.learnSolo(e, rate{value: 3}); len(f.solo.byProfile) != n || f.soloRate(e, steps) != 3 {
				t.Fatalf("of %d profiles %d are left when one is measured again", n, len(f.solo.byProfile))
			}
		}
	}
}
