package interference

import (
	"strings"
	"testing"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// TestInterferenceByAnyName observes a card under one of its names and asks for
// it under each: a scheduler has NVML's, a site Slurm's, a data file its own.
func TestInterferenceByAnyName(t *testing.T) {
	for _, card := range []struct {
		memory profile.Bytes
		names  []string
	}{
		{24 * profile.GiB, []string{"RTX3090", "NVIDIA GeForce RTX 3090", "rtx_3090", "gpu:rtx3090:2"}},
		{40 * profile.GiB, []string{"A100-40GB", "NVIDIA A100-SXM4-40GB", "a100"}},
		{192 * profile.GiB, []string{"MI300X", "mi300x", "MI 300X"}},
		{32 * profile.GiB, []string{"RTX9090", "RTX 9090", "NVIDIA GeForce RTX 9090"}},
	} {
		set := []*profile.Profile{busyProfile(t, 0.9), busyProfile(t, 0.8)}
		for _, learned := range card.names {
			var m Predictor
			for range 20 {
				err := m.Observe(Observation{
					GPU: learned, Mechanism: profile.TimeSlice, Set: set,
					Speeds: []profile.Opt[float64]{profile.Some(0.4), profile.Some(0.4)},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, asked := range card.names {
				gpu := profile.GPUModel{Name: asked, Memory: card.memory}
				got, err := m.Speeds(&gpu, profile.TimeSlice, set, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got[0].Value < 0.35 || got[0].Value > 0.45 || got[0].Source.Kind != predict.Fitted {
					t.Errorf("observed as %q, asked as %q: %+v", learned, asked, got[0])
				}
			}
		}
	}
}

func TestObserveWithoutGPU(t *testing.T) {
	var m Predictor
	err := m.Observe(Observation{
		Mechanism: profile.TimeSlice, Set: []*profile.Profile{busyProfile(t, 0.9), busyProfile(t, 0.8)},
		Speeds: []profile.Opt[float64]{profile.Some(0.4), profile.Some(0.4)},
	})
	if err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("an observation without a GPU: %v", err)
	}
}

func busyProfile(tb testing.TB, busy float64) *profile.Profile {
	tb.Helper()
	p, err := profile.New(profile.Spec{Model: profile.Model{Name: "net"}, Training: profile.Training{BatchSize: 32}},
		profile.Trace{Samples: []profile.Sample{{GPUBusy: profile.Some(busy), MemBusy: profile.Some(busy / 2)}}}, profile.GPUModel{})
	if err != nil {
		tb.Fatal(err)
	}
	return &p
}
