package predict_test

import (
	"errors"
	"fmt"

	"example.com/colloc/predict"
	"example.com/colloc/predict/interference"
	"example.com/colloc/profile"
)

func ExampleScore() {
	r, err := predict.Score([]float64{10, 20, 40}, []float64{11, 18, 40}, []float64{12, 21, 50})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("MAPE %.3f, under %.2f, coverage %.2f, waste %.3f\n", r.MAPE, r.UnderRate, r.Coverage, r.Waste)
	// Output:
	// MAPE 0.067, under 0.33, coverage 1.00, waste 0.167
}

// How good is a model of speeds on a GPU that it has never seen? Leave every GPU
// out once. (The measurements are made up: each GPU has its own cost of sharing.)
func ExampleCrossValidate() {
	var obs []interference.Observation
	var gpus [][]string
	for g, name := range []string{"V100-PCIe-16GB", "RTX3090"} {
		for i := range 20 {
			busy := 0.3 + 0.03*float64(i)
			p, err := profile.New(profile.Spec{Training: profile.Training{BatchSize: 32}},
				profile.Trace{Samples: []profile.Sample{{GPUBusy: profile.Some(busy)}}}, profile.GPUModel{Name: name})
			if err != nil {
				fmt.Println(err)
				return
			}
			speed := profile.Some(1 - (0.3+0.2*float64(g))*max(0, 2*busy-1))
			obs = append(obs, interference.Observation{
				GPU: name, Mechanism: profile.TimeSlice, Set: []*profile.Profile{&p, &p}, Speeds: []profile.Opt[float64]{speed, speed},
			})
			gpus = append(gpus, []string{name})
		}
	}
	fit := func(train []int) (func(int, []predict.Outcome) ([]predict.Outcome, error), error) {
		var known []interference.Observation
		for _, i := range train {
			known = append(known, obs[i])
		}
		m, err := interference.Fit(known, nil)
		return func(row int, dst []predict.Outcome) ([]predict.Outcome, error) {
			o := &obs[row]
			e, err := m.Speeds(&o.Set[0].GPU, o.Mechanism, o.Set, nil)
			for i := range e {
				dst = append(dst, predict.Outcome{Seen: o.Speeds[i].Or(0), Predicted: e[i].Value, Upper: e[i].Hi})
			}
			return dst, err
		}, err
	}
	for _, by := range []struct {
		name  string
		folds []predict.Fold
	}{{"rows", predict.RowFolds(len(obs), 5, 1)}, {"GPUs", predict.GroupFolds(gpus, 0)}} {
		r, err := predict.CrossValidate(by.folds, fit)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s left out: %d speeds, mean error %.2f\n", by.name, r.N, r.MAE)
	}
	// Output:
	// rows left out: 80 speeds, mean error 0.04
	// GPUs left out: 80 speeds, mean error 0.05
}

// A task that ran beside others twice as fast as alone was not alone when that was measured.
func ExampleCheckSpeed() {
	var disturbed *predict.DisturbedError
	err := predict.CheckSpeed(2.5)
	fmt.Println(errors.As(err, &disturbed), err)
	// Output:
	// true speed is 2.5, want more than 0 and at most 2: was the solo run disturbed?
}
