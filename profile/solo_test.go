package profile_test

import (
	"fmt"
	"log"
	"math"
	"testing"
	"time"

	"example.com/colloc/profile"
)

// A task that ran alone, in one call.
func ExampleSolo() {
	bert, err := profile.Solo{
		Name: "bert-base", GPU: "NVIDIA GeForce RTX 3090", Batch: 32,
		GPUBusy: profile.Some(0.97), Memory: profile.Some(14 * profile.GiB), Throughput: profile.Some(160.0),
	}.Profile()
	if err != nil {
		log.Fatal(err)
	}
	step, _ := bert.Vector.Get(profile.MedianStepTime)
	_, sm := bert.Vector.Get(profile.MeanSMActive)
	fmt.Println(bert.Spec.Type(), "on", bert.GPU.Name)
	fmt.Println("seconds a step:", step, "- SM activity known:", sm)
	// Output:
	// bert-base||bs32|fp32 on RTX3090
	// seconds a step: 0.2 - SM activity known: false
}

// TestSolo: it is what New makes of the same figures, nothing is invented, and what
// cannot be is refused.
func TestSolo(t *testing.T) {
	gpu, _ := profile.LookupGPU("A100-40GB")
	spec := profile.Spec{Model: profile.Model{Name: "net"}, Training: profile.Training{BatchSize: 8, Precision: profile.BF16}}
	seen := profile.Sample{
		SMActive: profile.Some(0.0), DRAMActive: profile.Some(0.2), MemBusy: profile.Some(0.1), GPUBusy: profile.Some(1.0),
		MemUsed: profile.Some(2 * profile.GiB), PowerWatts: profile.Some(250.0), StepTime: profile.Some(80 * time.Millisecond),
	}
	want, err := profile.New(spec, profile.Trace{Samples: []profile.Sample{seen}}, gpu)
	if err != nil {
		t.Fatal(err)
	}
	solo := profile.Solo{
		Name: "net", GPU: "NVIDIA A100-SXM4-40GB", Batch: 8, Precision: profile.BF16, SMActive: seen.SMActive, DRAMActive: seen.DRAMActive,
		MemBusy: seen.MemBusy, GPUBusy: seen.GPUBusy, Memory: seen.MemUsed, PowerWatts: seen.PowerWatts, Throughput: profile.Some(100.0),
	}
	if got, err := solo.Profile(); err != nil || got.Vector != want.Vector || got.GPU.Name != gpu.Name {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	bare, err := profile.Solo{Name: "net", GPUModel: &profile.GPUModel{Name: "Own Card"}}.Profile()
	if err != nil || bare.GPU.Name != "Own Card" || bare.Spec.Training.BatchSize != 1 {
		t.Errorf("nothing seen on an unknown card: %+v, %v", bare, err)
	}
	if _, ok := bare.Vector.Get(profile.MeanGPUBusy); ok {
		t.Error("a use that nobody saw")
	}
	for name, change := range map[string]func(*profile.Solo){
		"no name":       func(s *profile.Solo) { s.Name = "" },
		"no GPU":        func(s *profile.Solo) { s.GPU = "" },
		"per cent":      func(s *profile.Solo) { s.GPUBusy = profile.Some(97.0) },
		"negative use":  func(s *profile.Solo) { s.DRAMActive = profile.Some(-0.1) },
		"no speed":      func(s *profile.Solo) { s.Throughput = profile.Some(0.0) },
		"no number":     func(s *profile.Solo) { s.Throughput = profile.Some(math.NaN()) },
		"endless speed": func(s *profile.Solo) { s.Throughput = profile.Some(math.Inf(1)) },
		"endless step":  func(s *profile.Solo) { s.Throughput = profile.Some(1e-300) },
		"bad batch":     func(s *profile.Solo) { s.Batch = -1 },
	} {
		s := solo
		change(&s)
		if p, err := s.Profile(); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestSoloMisspelt: a name that the catalogue lacks is said, for no figure of such a card is
// known.
func TestSoloMisspelt(t *testing.T) {
	const want = `profile: solo run of "net": GPU is "RTX 309O", which the catalogue lacks: give GPUModel, or use New`
	if _, err := (profile.Solo{Name: "net", GPU: "RTX 309O"}).Profile(); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}

// TestSoloFastest: the shortest step is a nanosecond.
func TestSoloFastest(t *testing.T) {
	for rate, fine := range map[float64]bool{1e9: true, 1.1e9: false} {
		if _, err := (profile.Solo{Name: "m", GPU: "T4", Batch: 1, Throughput: profile.Some(rate)}).Profile(); (err == nil) != fine {
			t.Errorf("%v samples a second: %v", rate, err)
		}
	}
}
