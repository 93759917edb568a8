package advise_test

import (
	"strings"
	"testing"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/advise"
	"example.com/colloc/profile"
)

// Every bottleneck has a name that is read back, none as well; another number is printed.
func TestBottleneckText(t *testing.T) {
	for b, want := range map[advise.Bottleneck]string{
		-1: "bottleneck(-1)", 0: "none", advise.TooLargeToFit: "too-large-to-fit",
		advise.TooLargeToShare: "too-large-to-share", advise.TooLargeToShare + 1: "bottleneck(8)",
	} {
		var back advise.Bottleneck
		if err := back.UnmarshalText([]byte(want)); b.String() != want || (err == nil) != (back == b && b >= 0 && b <= advise.TooLargeToShare) {
			t.Errorf("%d is %q, want %q, which is read back as %d: %v", int(b), b, want, int(back), err)
		}
	}
}

// TestFitsToTheByte: a task fits a GPU, its own or an offered one, that has exactly what it
// reserves after headroom, and none that has a byte less.
func TestFitsToTheByte(t *testing.T) {
	planner := newPlanner(t, colloc.Config{Headroom: profile.Some(0.0)})
	p := stepped(t)
	_, reserved, err := planner.Memory(colloc.Task{ID: "task", Profile: p})
	if err != nil {
		t.Fatal(err)
	}
	for _, short := range []profile.Bytes{0, 1} {
		gpu := gpuModel(t, "H100")
		gpu.Memory = reserved - short
		d := advise.Diagnose(p, &advise.Options{Planner: planner, GPU: gpu})
		if (d.Bottleneck == advise.TooLargeToFit) != (short > 0) {
			t.Errorf("a GPU with %d bytes less than is reserved: %v", short, d.Findings)
		}
		d = advise.Diagnose(p, &advise.Options{Planner: planner, Offers: []advise.Offer{{GPU: gpu, Price: 1}}})
		if said := strings.Join(d.Warnings, "\n"); strings.Contains(said, "does not fit") != (short > 0) || len(d.Scaling) != 2-int(short) {
			t.Errorf("an offer with %d bytes less than is reserved: %v, warnings %q", short, d.Scaling, d.Warnings)
		}
	}
}

// TestOfferFromTheFirst: of two kinds that tell as much of an offer the one that does more work
// is gone by.
func TestOfferFromTheFirst(t *testing.T) {
	planner := newPlanner(t, colloc.Config{})
	unseen := &profile.Profile{}
	unseen.Spec.Training.BatchSize = 32
	for _, points := range [][]advise.ScalingPoint{
		{{"V100-PCIe-16GB", 1, 100, 0}, {"V100-PCIe-32GB", 1, 90, 0}},
		{{"V100-PCIe-16GB", 1, 90, 0}, {"V100-PCIe-32GB", 1, 100, 0}},
	} {
		d := advise.Diagnose(unseen, &advise.Options{Planner: planner, Scaling: points, Offers: []advise.Offer{{GPU: gpuModel(t, "K80")}}})
		best := points[0].GPU
		if points[1].Throughput > points[0].Throughput {
			best = points[1].GPU
		}
		for _, c := range d.Scaling {
			if c.GPU == "K80" && c.From != best {
				t.Errorf("%v is predicted from the %s, want from the %s", c, c.From, best)
			}
		}
		if len(d.Scaling) != 3 {
			t.Errorf("choices %v, warnings %q", d.Scaling, d.Warnings)
		}
	}
}

// TestThresholds: a threshold may be all of a counter; more than that is none.
func TestThresholds(t *testing.T) {
	p := diagnosed(t, blocks(4, 1e6, 1e5), profile.Training{BatchSize: 32, Workers: 4}, counters{0.9, -1, 0.1, -1, 4 * profile.GiB}, "RTX 3090")
	for high, want := range map[float64]advise.Bottleneck{1: 0, 1.01: advise.ComputeBound, -1: advise.ComputeBound} {
		d := advise.Diagnose(p, &advise.Options{Planner: priorPlanner(t), Thresholds: advise.Thresholds{HighSM: high}})
		if d.Bottleneck != want {
			t.Errorf("HighSM is %v and SMs are used by 0.9: %v, want %v", high, d.Bottleneck, want)
		}
	}
}

// TestMixPrecisionUnknownRates: of a GPU whose rates nobody told no gain is promised.
func TestMixPrecisionUnknownRates(t *testing.T) {
	p := diagnosed(t, profile.Model{Name: "m"}, profile.Training{BatchSize: 1, Workers: 1}, counters{0.9, 0.2, 0.1, 1, profile.GiB}, "A100-40GB")
	for _, gpu := range []profile.GPUModel{
		{Name: "new", Memory: 40 * profile.GiB, BF16: 1e14},
		{Name: "new", Memory: 40 * profile.GiB, FP32: 1e13},
	} {
		r := find(advise.Diagnose(p, &advise.Options{Planner: priorPlanner(t), GPU: gpu}), advise.MixPrecision)
		if r == nil || r.Throughput.Lo != 1 || r.Throughput.Hi != 1 {
			t.Errorf("rates of %v and %v: %v, want no gain", gpu.FP32, gpu.BF16, r)
		}
	}
}
