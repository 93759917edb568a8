package interference

import (
	"math"
	"testing"
	"time"

	"example.com/colloc/predict/dataset"
	"example.com/colloc/profile"
)

// TestPlay: two trainings at half speed while both run, worked out by hand: the first
// has 55 s left when the second starts, which takes 110 s; then the second has 45 of its
// 100 s left.
func TestPlay(t *testing.T) {
	row := &dataset.TrialRow{Solo: []time.Duration{100 * time.Second, 100 * time.Second}}
	got, err := play(row, make([]*profile.Profile, 2), func(set []*profile.Profile) ([]float64, error) {
		return constant(len(set), 1/float64(max(1, len(set)))), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][2]float64{{got.gain, 1}, {got.mean, 1.55}, {got.worst, 1.55}} {
		if !(math.Abs(v[0]-v[1]) < 1e-9) {
			t.Errorf("played %+v, want gain 1, slowdowns 1.55", got)
		}
	}
}
