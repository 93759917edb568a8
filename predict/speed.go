package predict

import (
	"fmt"
	"math"
	"time"
)

// LeastSpeed bounds speeds from below, so that none is 0.
const LeastSpeed = 0.01

// MostSpeed is the largest speed that counts as a measurement: a task that runs twice as
// fast beside others as alone was not alone then. Of 2,173 public speeds the largest is
// 1.50, and one in a hundred is above 1.30.
const MostSpeed = 2

// DisturbedError refuses a speed above [MostSpeed]: the task was not alone when its speed
// alone was measured.
type DisturbedError struct{ Speed float64 }

func (e *DisturbedError) Error() string {
	return fmt.Sprintf("speed is %v, want more than 0 and at most %v: was the solo run disturbed?", e.Speed, MostSpeed)
}

// CheckSpeed judges a measured speed beside others. One above [MostSpeed] is a
// [*DisturbedError], one that is no number above 0 another error.
func CheckSpeed(speed float64) error {
	switch {
	case !(speed > 0):
		return fmt.Errorf("speed is %v, want more than 0 and at most %v", speed, MostSpeed)
	case speed > MostSpeed:
		return &DisturbedError{speed}
	}
	return nil
}

// A speed can be measured in three ways. Each function below returns it, and an
// error for amounts that are not positive and for what [CheckSpeed] refuses.

// SpeedFromStepTimes is the time per step alone over that beside the others. Use
// the median of some hundred steps of each, without the first.
func SpeedFromStepTimes(alone, beside time.Duration) (float64, error) {
	return measuredSpeed("step time", beside.Seconds(), alone.Seconds(), alone.Seconds()/beside.Seconds())
}

// SpeedFromThroughput is the throughput beside the others over that alone, both
// in the same unit: steps, samples or tokens a second.
func SpeedFromThroughput(alone, beside float64) (float64, error) {
	return measuredSpeed("throughput", alone, beside, beside/alone)
}

// SpeedFromSMShares is the share of SM time that NVML reports for the task's process
// beside the others over that alone, both in (0, 1]. NVML itself gives per cent
// (nvmlDeviceGetProcessUtilization). It holds as far as a step takes the same SM time
// however it is shared. It is the roughest of the three and needs nothing of the task.
func SpeedFromSMShares(alone, beside float64) (float64, error) {
	if alone > 1 || beside > 1 {
		return 0, fmt.Errorf("predict: speed from SM shares: %v alone, %v beside: want fractions, at most 1", alone, beside)
	}
	return measuredSpeed("SM share", alone, beside, beside/alone)
}

func measuredSpeed(what string, a, b, speed float64) (float64, error) {
	for _, v := range [2]float64{a, b} {
		if !(v > 0) || math.IsInf(v, 1) {
			return 0, fmt.Errorf("predict: speed from %s: %v is not a positive amount", what, v)
		}
	}
	if err := CheckSpeed(speed); err != nil {
		return 0, fmt.Errorf("predict: speed from %s: %w", what, err)
	}
	return speed, nil
}
