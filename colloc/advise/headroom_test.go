package advise_test

import (
	"math"
	"testing"

	"example.com/colloc/colloc/advise"
	"example.com/colloc/profile"
)

// TestLightenInputHeadroom: faster input gives at most as much as the SMs have left
// until they are used well, by the share that was seen: no promise of a hundred times.
func TestLightenInputHeadroom(t *testing.T) {
	planner := priorPlanner(t)
	for sm, want := range map[float64]float64{0.4: 2, 0.2: 4, 0.002: 100} {
		p := diagnosed(t, blocks(4, 1e6, 1e5), profile.Training{BatchSize: 32, Workers: 4}, counters{sm, -1, 0.95, -1, 16 * profile.GiB}, "RTX 3090")
		r := find(advise.Diagnose(p, &advise.Options{Planner: planner}), advise.LightenInput)
		if r == nil || r.Throughput.Lo != 1 || r.Throughput.Hi < want*(1-1e-9) || r.Throughput.Hi > want*(1+1e-9) {
			t.Errorf("SMs used by %v: got %v, want between 1 and %v", sm, r, want)
		}
	}
}

// TestComputeBoundAtTheThreshold: SMs that are used exactly as much as HighSM says are
// used well.
func TestComputeBoundAtTheThreshold(t *testing.T) {
	planner := priorPlanner(t)
	for sm, want := range map[float64]bool{0.8: true, 0.79: false} {
		p := diagnosed(t, blocks(4, 1e6, 1e5), profile.Training{BatchSize: 32, Workers: 4}, counters{sm, -1, 0.1, -1, 4 * profile.GiB}, "RTX 3090")
		d := advise.Diagnose(p, &advise.Options{Planner: planner})
		found := false
		for _, f := range d.Findings {
			found = found || f.Bottleneck == advise.ComputeBound
		}
		if found != want {
			t.Errorf("SMs used by %v: findings %v", sm, d.Findings)
		}
	}
}

// TestUnderusedAtTheThreshold: SMs that are used less than LowSM says are used little.
func TestUnderusedAtTheThreshold(t *testing.T) {
	planner := priorPlanner(t)
	for sm, want := range map[float64]advise.Bottleneck{0.5: 0, 0.49: advise.Underused} {
		p := diagnosed(t, blocks(4, 1e6, 1e5), profile.Training{BatchSize: 32, Workers: 4}, counters{sm, -1, 0.1, -1, 4 * profile.GiB}, "RTX 3090")
		if d := advise.Diagnose(p, &advise.Options{Planner: planner}); d.Bottleneck != want {
			t.Errorf("SMs used by %v: findings %v", sm, d.Findings)
		}
	}
}

// TestBandwidthBoundAtTheThreshold: so is memory bandwidth.
func TestBandwidthBoundAtTheThreshold(t *testing.T) {
	planner := priorPlanner(t)
	for dram, want := range map[float64]bool{0.6: true, 0.59: false} {
		p := diagnosed(t, blocks(4, 1e6, 1e5), profile.Training{BatchSize: 32, Workers: 4}, counters{0.6, dram, 0.1, -1, 4 * profile.GiB}, "RTX 3090")
		d := advise.Diagnose(p, &advise.Options{Planner: planner})
		found := false
		for _, f := range d.Findings {
			found = found || f.Bottleneck == advise.BandwidthBound
		}
		if found != want {
			t.Errorf("bandwidth used by %v: findings %v", dram, d.Findings)
		}
	}
}

// TestEnlargedBatch: where memory allows, the batch grows to twice what would use the SMs
// well, and no more work is promised than they can do.
func TestEnlargedBatch(t *testing.T) {
	planner := priorPlanner(t)
	for sm, want := range map[float64]struct {
		batch int
		most  float64
	}{0.4: {128, 2}, 0.2: {256, 4}, 0.3: {128, 0.8 / 0.3}} {
		p := diagnosed(t, blocks(4, 1e6, 1e5), profile.Training{BatchSize: 32, Workers: 4}, counters{sm, -1, 0.1, -1, 2 * profile.GiB}, "A100-80GB")
		r := find(advise.Diagnose(p, &advise.Options{Planner: planner}), advise.ChangeBatch)
		if r == nil || r.Count != want.batch || r.Throughput.Lo != 1 || math.Abs(r.Throughput.Hi-want.most) > 1e-9 {
			t.Errorf("SMs used by %v: %v, want batches of %d and at most x%v", sm, r, want.batch, want.most)
		}
	}
}
