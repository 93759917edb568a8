package predict

import (
	"math"
	"testing"
	"time"
)

func TestMeasuredSpeeds(t *testing.T) {
	for _, c := range []struct {
		name string
		call func() (float64, error)
		want float64 // 0: an error
	}{
		{"steps", func() (float64, error) { return SpeedFromStepTimes(90*time.Millisecond, 120*time.Millisecond) }, 0.75},
		{"throughput", func() (float64, error) { return SpeedFromThroughput(400, 300) }, 0.75},
		{"shares", func() (float64, error) { return SpeedFromSMShares(0.8, 0.6) }, 0.75},
		{"no step", func() (float64, error) { return SpeedFromStepTimes(0, time.Second) }, 0},
		{"no time", func() (float64, error) { return SpeedFromStepTimes(time.Second, 0) }, 0},
		{"negative", func() (float64, error) { return SpeedFromThroughput(400, -1) }, 0},
		{"infinite", func() (float64, error) { return SpeedFromThroughput(math.Inf(1), 1) }, 0},
		{"another task", func() (float64, error) { return SpeedFromThroughput(1, 5) }, 0},
		{"per cent beside", func() (float64, error) { return SpeedFromSMShares(0.8, 60) }, 0},
		{"more than all beside", func() (float64, error) { return SpeedFromSMShares(0.8, 1.2) }, 0},
		{"per cent alone", func() (float64, error) { return SpeedFromSMShares(80, 0.6) }, 0},
		{"all of it", func() (float64, error) { return SpeedFromSMShares(1, 1) }, 1},
		{"at the limit", func() (float64, error) { return SpeedFromThroughput(1, MostSpeed) }, MostSpeed},
		{"per cent", func() (float64, error) { return SpeedFromSMShares(80, 60) }, 0},
		{"nan", func() (float64, error) { return SpeedFromSMShares(math.NaN(), 0.5) }, 0},
	} {
		got, err := c.call()
		if !(math.Abs(got-c.want) <= 1e-12) || (err == nil) != (c.want > 0) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}
