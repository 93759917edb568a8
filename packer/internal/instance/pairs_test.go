package instance

import (
	"math"
	rand "math/rand/v2"
	"testing"
)

// TestPairRowRoundsAsInstance: tables hold the values that certificates are checked
// against, to the unit, also where rounding is a close call.
func TestPairRowRoundsAsInstance(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for range 20_000 {
		in := &Instance{Unit: math.Ldexp(1, -rng.IntN(24))}
		weight := 1.0
		if rng.IntN(2) == 0 {
			weight = rng.Float64()
		}
		speed := rng.Float64()
		if half := (float64(rng.IntN(40)) + 0.5) * in.Unit / weight; rng.IntN(2) == 0 && half <= MaxSpeed {
			speed = []float64{half, math.Nextafter(half, 0), math.Nextafter(half, math.Inf(1))}[rng.IntN(3)]
		}
		if speed == 0 {
			continue
		}
		r := &PairRow{scaled: []float64{in.Scaled(weight)}}
		if got, want := r.part(0, speed), in.Units(weight, speed); got != want {
			t.Fatalf("weight %v, speed %v, unit %v: got %d, want %d", weight, speed, in.Unit, got, want)
		}
	}
}
