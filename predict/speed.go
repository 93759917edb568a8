package predict

import (
	"fmt"
	"math"
	"time"
)

// LeastSpeed bounds speeds from below, so that none is 0.
const LeastSpeed = 0.01

// MostSpeed is the largest speed that counts as a measurement: a task that runs
// four times as fast beside others as alone was not measured alone.
const MostSpeed = 4

// A speed can be measured in three ways. Each function below returns it, and an
// error for amounts that are not positive and for a speed above MostSpeed.

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
	if !(speed > 0 && speed <= MostSpeed) {
		return 0, fmt.Errorf("predict: speed from %s: %v, want more than 0 and at most %v: was the same task measured?", what, speed, MostSpeed)
	}
	return speed, nil
}
