package interference_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"example.com/colloc/predict/dataset"
	"example.com/colloc/predict/interference"
	"example.com/colloc/predict/pretrained"
	"example.com/colloc/profile"
)

// fitted returns the law that is least off on rows in which nobody is left out: its stretch
// by the logarithm of latency, what it leaves a training by the square of its speed.
func fitted(m *interference.Predictor, mech profile.Mechanism, rows []dataset.BesideRow, out *profile.Profile) interference.ServerLaw {
	best := interference.LawOf(mech)
	search := func(set func(l *interference.ServerLaw, v float64), off func(speed, longer float64, r *dataset.BesideRow) float64, values ...[2]float64) {
		least, from := math.Inf(1), best
		for _, span := range values {
			for v := span[0]; v <= span[1]; v += 0.02 {
				law, sum := from, 0.0
				set(&law, v)
				for i := range rows {
					if r := &rows[i]; r.Training != out && r.Server != out {
						speed, longer := interference.BesideServer(m, mech, r.Training, r.Server, law)
						e := off(speed, longer, r)
						sum += e * e
					}
				}
				if sum < least {
					least, best = sum, law
				}
			}
		}
	}
	search(func(l *interference.ServerLaw, v float64) { l.Stretch = v },
		func(_, longer float64, r *dataset.BesideRow) float64 {
			return math.Log(longer * r.Alone.Seconds() / r.Latency.Seconds())
		}, [2]float64{0, 6})
	for range 10 {
		speedOff := func(speed, _ float64, r *dataset.BesideRow) float64 { return speed - r.Speed }
		search(func(l *interference.ServerLaw, v float64) { l.Room = v }, speedOff, [2]float64{0.5, 1.5})
		search(func(l *interference.ServerLaw, v float64) { l.Give = v }, speedOff, [2]float64{0, 1.2})
	}
	return best
}

// TestServersLeftOut fits the law of servers anew without each training and each server of
// tally-bench's and asks it of those: with what other files say of the trainings, as
// predictions are made, and with the law alone.
func TestServersLeftOut(t *testing.T) {
	data := os.Getenv("COLLOC_DATA")
	if data == "" {
		t.Skip("COLLOC_DATA is not set: set it to the folder with the measurement files to run this test")
	}
	f, err := os.Open(filepath.Join(data, "inference_beside_training.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := dataset.ReadBeside(f.Name(), f)
	if err != nil {
		t.Fatal(err)
	}
	known, err := pretrained.Interference()
	if err != nil {
		t.Fatal(err)
	}
	for _, mech := range []profile.Mechanism{profile.TimeSlice, profile.MPS} {
		var rows []dataset.BesideRow
		groups := make(map[*profile.Profile]bool)
		for _, r := range all {
			if r.Excluded == "" && r.Mechanism == mech {
				rows = append(rows, r)
				groups[r.Training], groups[r.Server] = true, true
			}
		}
		for name, m := range map[string]*interference.Predictor{"pretrained": known, "law alone": {}} {
			var n, speedOff, latencyOff float64
			for out := range groups {
				law := fitted(m, mech, rows, out)
				for i := range rows {
					if r := &rows[i]; r.Training == out || r.Server == out {
						speed, longer := interference.BesideServer(m, mech, r.Training, r.Server, law)
						n, speedOff, latencyOff = n+1, speedOff+math.Abs(speed-r.Speed), latencyOff+math.Abs(longer*r.Alone.Seconds()/r.Latency.Seconds()-1)
					}
				}
			}
			t.Logf("%v, %s: speed off by %.3f, mean latency by %.1f %%, of %v", mech, name, speedOff/n, 100*latencyOff/n, n)
			if name == "pretrained" && (speedOff/n > 0.07 || latencyOff/n > 0.3) {
				t.Errorf("%v: speed off by %.3f, mean latency by %.1f %%", mech, speedOff/n, 100*latencyOff/n)
			}
		}
	}
}
