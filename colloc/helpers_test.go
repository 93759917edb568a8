package colloc_test

import (
	"cmp"
	"sync"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/internal/race"
	"example.com/colloc/profile"
)

func TestMain(m *testing.M) { race.Run(m) }

// seen makes a task of which a solo run was observed: how busy it kept the GPU
// and its memory, and how large its peak was.
func seen(tb testing.TB, id string, busy, memBusy float64, peak profile.Bytes) colloc.Task {
	tb.Helper()
	spec := profile.Spec{
		Model:    profile.Model{Name: id},
		Training: profile.Training{BatchSize: 32},
	}
	sample := profile.Sample{
		GPUBusy: profile.Some(busy), MemBusy: profile.Some(memBusy), MemUsed: profile.Some(peak),
	}
	p, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{sample}}, gpuModel(tb, "RTX 3090"))
	if err != nil {
		tb.Fatal(err)
	}
	return colloc.Task{ID: id, Profile: &p}
}

func gpuModel(tb testing.TB, name string) profile.GPUModel {
	tb.Helper()
	m, ok := profile.LookupGPU(name)
	if !ok {
		tb.Fatalf("GPU %q is not in the catalogue", name)
	}
	return m
}

// card is an RTX 3090 (24 GiB, of which 21.6 GiB are usable) with residents.
func card(tb testing.TB, id string, residents ...colloc.Task) colloc.GPU {
	tb.Helper()
	return colloc.GPU{ID: id, Model: gpuModel(tb, "RTX 3090"), Residents: residents}
}

// shared returns one Planner with the zero Config for all tests that teach it
// nothing: reading the pretrained models takes most of a second under -race.
func shared(tb testing.TB) *colloc.Planner {
	tb.Helper()
	p, err := sharedPlanner()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

var sharedPlanner = sync.OnceValues(func() (*colloc.Planner, error) { return colloc.New(colloc.Config{}) })

// newPlanner returns one of its own, that learns from copies of the shared one's models
// where the Config names none.
func newPlanner(tb testing.TB, c colloc.Config) *colloc.Planner {
	tb.Helper()
	models := shared(tb).Config()
	if c.Memory == nil {
		c.Memory = models.Memory.Clone()
	}
	if c.Interference == nil {
		c.Interference = models.Interference.Clone()
	}
	if c.Pace == nil {
		c.Pace = models.Pace.Clone()
	}
	c.Utilization, c.MIGSpeed = cmp.Or(c.Utilization, models.Utilization), cmp.Or(c.MIGSpeed, models.MIGSpeed)
	p, err := colloc.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
