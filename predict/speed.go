package predict

import "fmt"

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
