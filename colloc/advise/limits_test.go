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

// stepped is a task that was measured on one A100: 32 samples in a quarter of a second.
func stepped(t *testing.T) *profile.Profile {
	t.Helper()
	p := &profile.Profile{GPU: gpuModel(t, "A100-40GB")}
	p.Spec.Training.BatchSize = 32
	if err := p.Vector.Set(profile.MedianStepTime, 0.25); err != nil {
		t.Fatal(err)
	}
	if err := p.Vector.Set(profile.PeakMemory, float64(20*profile.GiB)); err != nil {
		t.Fatal(err)
	}
	return p
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
