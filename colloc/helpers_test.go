package colloc_test

import (
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/profile"
)

// seen makes a task of which a solo run was observed: how busy it kept the GPU
// and its memory, and how large its peak was.
func seen(t testing.TB, id string, busy, memBusy float64, peak profile.Bytes) colloc.Task {
	t.Helper()
	spec := profile.Spec{
		Model:    profile.Model{Name: id},
		Training: profile.Training{BatchSize: 32},
	}
	sample := profile.Sample{
		GPUBusy: profile.Some(busy), MemBusy: profile.Some(memBusy), MemUsed: profile.Some(peak),
	}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{sample}}, gpuModel(t, "RTX 3090"))
	if err != nil {
		t.Fatal(err)
	}
	return colloc.Task{ID: id, Profile: &p}
}

func gpuModel(t testing.TB, name string) profile.GPUModel {
	t.Helper()
	m, ok := profile.LookupGPU(name)
	if !ok {
		t.Fatalf("GPU %q is not in the catalogue", name)
	}
	return m
}

// card is an RTX 3090 (24 GiB, of which 21.6 GiB are usable) with residents.
func card(t testing.TB, id string, residents ...colloc.Task) colloc.GPU {
	t.Helper()
	return colloc.GPU{ID: id, Model: gpuModel(t, "RTX 3090"), Residents: residents}
}

func newPlanner(t testing.TB, c colloc.Config) *colloc.Planner {
	t.Helper()
	p, err := colloc.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
