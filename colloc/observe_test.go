package colloc_test

import (
	"math"
	"strings"
	"sync"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// TestObserveLearns checks that a Planner believes what it is shown.
func TestObserveLearns(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	a, b := seen(t, "a", 0.5, 0.2, 4*profile.GiB), seen(t, "b", 0.5, 0.2, 4*profile.GiB)
	gpu := card(t, "g", b)
	before, err := p.Fit(a, gpu)
	if err != nil {
		t.Fatal(err)
	}
	truth := before.Speed.Value - 0.2
	for range 10 {
		err := p.Observe(colloc.Observation{
			GPU: gpu.Model, Mechanism: profile.TimeSlice,
			Members: []colloc.Measurement{{Profile: a.Profile, Speed: profile.Some(truth)}, {Profile: b.Profile}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	after, err := p.Fit(a, gpu)
	if err != nil {
		t.Fatal(err)
	}
	if was, is := math.Abs(before.Speed.Value-truth), math.Abs(after.Speed.Value-truth); is > was/2 {
		t.Errorf("predicted %v before and %v after seeing %v ten times; want less than half the error", before.Speed.Value, after.Speed.Value, truth)
	}
}

// TestObserveByAnyName teaches a Planner under NVML's own name, without a data
// sheet, and asks under each: all answers are the same.
func TestObserveByAnyName(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	a, b := seen(t, "a", 0.5, 0.2, 4*profile.GiB), seen(t, "b", 0.5, 0.2, 4*profile.GiB)
	const truth = 0.4
	for range 20 {
		err := p.Observe(colloc.Observation{
			GPU: profile.GPUModel{Name: "NVIDIA GeForce RTX 3090", Memory: 24 * profile.GiB}, Mechanism: profile.TimeSlice,
			Members: []colloc.Measurement{{Profile: a.Profile, Speed: profile.Some(truth)}, {Profile: b.Profile, Speed: profile.Some(truth)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, model := range []profile.GPUModel{
		gpuModel(t, "RTX 3090"),
		{Name: "NVIDIA GeForce RTX 3090", Memory: 24 * profile.GiB},
		{Name: "rtx_3090", Memory: 24 * profile.GiB},
	} {
		v, err := p.Fit(a, colloc.GPU{ID: "g", Model: model, Residents: []colloc.Task{b}})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(v.Speed.Value-truth) > 0.05 {
			t.Errorf("%s: predicted %v after seeing %v twenty times", model.Name, v.Speed.Value, truth)
		}
	}
}

func TestObserveFaults(t *testing.T) {
	a, b := seen(t, "a", 0.5, 0.2, profile.GiB), seen(t, "b", 0.5, 0.2, profile.GiB)
	for _, tt := range []struct {
		name    string
		members []colloc.Measurement
		want    string
	}{
		{"nobody", nil, "without members"},
		{"no profile", []colloc.Measurement{{}}, "member 0: no profile"},
		{"NaN", []colloc.Measurement{{Profile: a.Profile, Speed: profile.Some(math.NaN())}, {Profile: b.Profile}}, "speed is NaN"},
		{"zero", []colloc.Measurement{{Profile: a.Profile, Speed: profile.Some(0.0)}, {Profile: b.Profile}}, "speed is 0"},
		{"infinite, alone", []colloc.Measurement{{Profile: a.Profile, Speed: profile.Some(math.Inf(1))}}, "speed is +Inf"},
		{"peak", []colloc.Measurement{{Profile: a.Profile, Peak: profile.Some[profile.Bytes](-1)}}, "peak is -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := shared(t).Observe(colloc.Observation{GPU: gpuModel(t, "RTX 3090"), Mechanism: profile.TimeSlice, Members: tt.members})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Observe = %v; want an error with %q", err, tt.want)
			}
		})
	}
	alone := []colloc.Measurement{{Profile: a.Profile, Speed: profile.Some(math.MaxFloat64)}} // teaches nothing, whatever it is
	if err := shared(t).Observe(colloc.Observation{GPU: gpuModel(t, "RTX 3090"), Members: alone}); err != nil {
		t.Errorf("a number as the speed of a task alone: %v", err)
	}
}

// TestObserveAllOrNothing checks that a fault in what was seen of the memory
// keeps the speeds from being learned, too.
func TestObserveAllOrNothing(t *testing.T) {
	p := shared(t)
	a, b := seen(t, "a", 0.5, 0.2, 4*profile.GiB), seen(t, "b", 0.5, 0.2, 4*profile.GiB)
	stranger := *b.Profile
	stranger.Spec = profile.Spec{} // of which no memory can be predicted
	speed := func() float64 {
		t.Helper()
		v, err := p.Fit(a, card(t, "g", b))
		if err != nil {
			t.Fatal(err)
		}
		return v.Speed.Value
	}
	before := speed()
	for _, tt := range []struct {
		name    string
		profile *profile.Profile
		peak    profile.Bytes
	}{
		{"unknown", &stranger, profile.GiB},
		{"too much", b.Profile, math.MaxInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := p.Observe(colloc.Observation{GPU: gpuModel(t, "RTX 3090"), Mechanism: profile.TimeSlice, Members: []colloc.Measurement{
				{Profile: a.Profile, Speed: profile.Some(0.2)}, {Profile: tt.profile, Peak: profile.Some(tt.peak)},
			}})
			if err == nil || !strings.Contains(err.Error(), "member 1") {
				t.Errorf("Observe = %v; want an error with the member", err)
			}
			if after := speed(); after != before {
				t.Errorf("predicted %v before and %v after an observation that was refused", before, after)
			}
		})
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	p := newPlanner(t, colloc.Config{})
	a, b := seen(t, "a", 0.5, 0.2, profile.GiB), seen(t, "b", 0.5, 0.2, profile.GiB)
	unseen := colloc.Task{ID: "unseen", Profile: describe(t)} // its memory is predicted
	gpu := card(t, "g", b)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 50 {
				var err error
				switch i {
				case 0:
					err = p.Observe(colloc.Observation{GPU: gpu.Model, Mechanism: profile.TimeSlice, Members: []colloc.Measurement{
						{Profile: a.Profile, Speed: profile.Some(0.8)}, {Profile: unseen.Profile, Peak: profile.Some(profile.GiB)},
					}})
				case 1:
					_, err = p.Fit(unseen, gpu)
				case 2:
					_, err = p.Score(a, gpu)
				default:
					_, err = p.Plan(t.Context(), []colloc.Task{a}, []colloc.GPU{gpu})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
