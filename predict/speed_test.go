package predict

import (
	"math"
	"testing"
)

func TestCheckSpeed(t *testing.T) {
	for _, c := range []struct {
		speed float64
		good  bool
	}{{0.75, true}, {1, true}, {MostSpeed, true}, {math.Nextafter(MostSpeed, 3), false}, {math.Inf(1), false}, {0, false}, {-1, false}, {math.NaN(), false}} {
		if err := CheckSpeed(c.speed); (err == nil) != c.good {
			t.Errorf("%v: %v", c.speed, err)
		}
	}
}
