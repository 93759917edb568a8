package predict

import (
	"math"
	"testing"

	"example.com/colloc/profile"
)

func TestCompletionFillsGaps(t *testing.T) {
	tasks, obs := fakeWorld(t, 12, 6, 3)
	var seen, gaps []SpeedObservation
	for i, o := range obs {
		if i%3 == 0 {
			gaps = append(gaps, o)
		} else {
			seen = append(seen, o)
		}
	}
	c, err := FitCompletion(seen, nil)
	if err != nil {
		t.Fatal(err)
	}
	gpu := rtx3090(t)
	var err1, err0, n, mean float64
	for _, o := range gaps {
		for i := range o.Set {
			mean += o.Speeds[i].Or(0)
			n++
		}
	}
	mean /= n
	for _, o := range gaps {
		for i, p := range o.Set {
			y := o.Speeds[i].Or(0)
			v, ok := c.Ratio(gpu, profile.TimeSlice, p, o.Set[1-i])
			if !ok {
				t.Fatal("a profiled type is unknown")
			}
			err1, err0 = err1+math.Abs(v-y), err0+math.Abs(mean-y)
		}
	}
	if err1 > 0.7*err0 {
		t.Errorf("completion errs by %v, the mean by %v", err1/n, err0/n)
	}
	if _, ok := c.Speed(gpu, profile.MPS, tasks[0], tasks[1]); ok {
		t.Error("known under a mechanism that was never profiled")
	}
	if v, ok := c.Speed(gpu, profile.TimeSlice, nil, tasks[1]); ok || !(v > 0 && v <= 1) {
		t.Errorf("nil profile: %v, %v", v, ok)
	}
	if _, err := FitCompletion(seen, &CompletionOptions{Penalty: -1}); err == nil {
		t.Error("a negative penalty was accepted")
	}
}
