package memory

import (
	"math"
	"testing"

	"example.com/colloc/predict"
)

// TestLeastIsWhatItHolds: no interval reaches below what the task holds for certain,
// on a host whose context nobody measured either.
func TestLeastIsWhatItHolds(t *testing.T) {
	obs, m := families(5), ofFamilies(t, 5)
	for _, known := range []bool{true, false} {
		spec := obs[100].Spec
		if !known {
			spec.Model.Architecture = "another"
		}
		spec.Training.BatchSize = 1 << 16 // far beyond the data: a wide interval
		e, err := m.Peak(&spec, predict.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if held := 12 * float64(spec.Model.Params()); e.Lo < held || e.Lo > e.Value {
			t.Errorf("known %v: %+v, want Lo of at least %v", known, e, held)
		}
	}
}

// TestBatchBeyondData: twice the largest batch of a fit is one doubling from it and
// not twice as far from the middle; a smaller one than the least is no farther.
func TestBatchBeyondData(t *testing.T) {
	p := part{Lo: make([]float64, featureCount), Hi: make([]float64, featureCount)}
	p.Lo[layeredBatch], p.Hi[layeredBatch] = 4, 1024
	at := func(unit float64) float64 {
		var k task
		k.n, k.used = termCount, featureCount
		k.x[layeredBatch] = unit
		return p.distance(&k)
	}
	if got, want := at(4096), 1.5; !(math.Abs(got-want) <= 1e-9) { // 8 doublings from 4, of which 4 are the half range
		t.Errorf("four times the largest batch is at %v, want %v", got, want)
	}
	if got := at(2); got > 1.01 {
		t.Errorf("half the least batch is at %v", got)
	}
	if at(2048) >= at(4096) || at(1024) != 1 {
		t.Errorf("distances %v, %v, %v do not rise from 1", at(1024), at(2048), at(4096))
	}
}
