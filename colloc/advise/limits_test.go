package advise_test

import (
	"fmt"
	"math"
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
		for _, f := range d.Findings { // without headroom a GPU offers all of its memory
			if e := f.Evidence[0]; f.Bottleneck == advise.TooLargeToFit && (e.Threshold != 1 || e.Value <= 1) {
				t.Errorf("%v, want that the share of the memory is above 1", e)
			}
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

// TestOfferFromTheNearest: an offer is predicted from the kind that tells most of it, of those
// that were measured for it alone, if there are any.
func TestOfferFromTheNearest(t *testing.T) {
	planner := newPlanner(t, colloc.Config{})
	for offer, want := range map[string]string{"V100-PCIe-32GB": "V100-PCIe-16GB", "A100-80GB": "A100-40GB"} {
		points := []advise.ScalingPoint{{"A100-40GB", 1, 100, 0}, {"V100-PCIe-16GB", 1, 90, 0}}
		d := advise.Diagnose(stepped(t), &advise.Options{Planner: planner, Scaling: points, Offers: []advise.Offer{{GPU: gpuModel(t, offer)}}})
		for _, c := range d.Scaling {
			if c.GPU == gpuModel(t, offer).Name && c.From != want {
				t.Errorf("%v is predicted from the %s, want from the %s", c, c.From, want)
			}
		}
		if len(d.Scaling) != 3 {
			t.Errorf("choices %v, warnings %q", d.Scaling, d.Warnings)
		}
		d = advise.Diagnose(stepped(t), &advise.Options{Planner: planner, Scaling: points[1:], Offers: []advise.Offer{{GPU: gpuModel(t, "A100-80GB")}}})
		for _, c := range d.Scaling {
			if c.GPU == "A100-80GB" && c.From != points[1].GPU {
				t.Errorf("%v is predicted from the %s, want from what was measured", c, c.From)
			}
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

// TestWaitsOfTheTrainingProcess: where the training process loads its data itself, one worker
// takes as long for a batch as the task waited, and no more is promised.
func TestWaitsOfTheTrainingProcess(t *testing.T) {
	p := diagnosed(t, profile.Model{Name: "m"}, profile.Training{BatchSize: 1}, counters{0.2, -1, 0.1, 0.2, 20 * profile.GiB}, "RTX 3090")
	d := advise.Diagnose(p, &advise.Options{Planner: priorPlanner(t), CPUs: 1, DataWait: profile.Some(0.9)})
	r := find(d, advise.AddWorkers)
	if r == nil || r.Count != 1 || math.Abs(r.Throughput.Hi-1/0.9) > 1e-9 {
		t.Errorf("%v, want one worker and at most x1.11", r)
	}
}

// TestDiagnosisText: the first finding is the bottleneck, others are found also; a remedy that
// changes memory says how much it takes and whether that fits.
func TestDiagnosisText(t *testing.T) {
	p := diagnosed(t, blocks(64, 1e6, 2e7), profile.Training{BatchSize: 8}, counters{0.4, -1, 0.1, 0.4, 39 * profile.GiB}, "A100-40GB")
	d := advise.Diagnose(p, &advise.Options{Planner: priorPlanner(t)})
	for want, n := range map[string]int{"bottleneck: too-large-to-fit (": 1, "also: few-workers (": 1, "bottleneck: ": 1, "also: ": 1} {
		if got := strings.Count("\n"+d.String(), "\n"+want); got != n {
			t.Errorf("%d lines begin with %q, want %d:\n%v", got, want, n, d)
		}
	}
	r := find(d, advise.Recompute)
	if r == nil {
		t.Fatal(d)
	}
	m, _ := r.Memory.Get()
	if want := fmt.Sprintf(", memory %v per GPU (reserve %v: fits)", profile.BytesOf(m.Value), r.Reserved); !r.Fits || !strings.HasSuffix(r.String(), want) {
		t.Errorf("%q, want that it ends in %q", r, want)
	}
}
