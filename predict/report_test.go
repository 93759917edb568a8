package predict

import (
	"math"
	"testing"
)

func TestScore(t *testing.T) {
	r, err := Score([]float64{1, 2, 3, math.NaN(), 0}, []float64{1, 2, 5, 1, 0}, []float64{1, 3, 4, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"N", float64(r.N), 4},
		{"MAE", r.MAE, 0.5},
		{"RMSE", r.RMSE, 1},
		{"R2", r.R2, 1 - 4/5.0},
		{"MAPE", r.MAPE, (2 / 3.0) / 3},
		{"UnderRate", r.UnderRate, 0},
		{"Coverage", r.Coverage, 1},
		{"Waste", r.Waste, (0 + 0.5 + 1/3.0) / 3},
		{"Warnings", float64(len(r.Warnings)), 2},
	} {
		if !(math.Abs(tt.got-tt.want) <= 1e-12) {
			t.Errorf("%s = %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if r, err := Score([]float64{1, 1}, []float64{4, 1}, nil); err != nil || !(math.Abs(r.RMSE-math.Sqrt(4.5)) <= 1e-12) {
		t.Errorf("one off by 3: %+v, %v", r, err)
	}
	if _, err := Score([]float64{1}, nil, nil); err == nil {
		t.Error("lengths that differ: no error")
	}
	if r, err := Score(nil, nil, nil); err != nil || r.N != 0 || r.R2 != 0 {
		t.Errorf("nothing to score: %+v, %v", r, err)
	}
	if r, err := Score([]float64{2, 2}, []float64{1, 3}, nil); err != nil || r.R2 != 0 {
		t.Errorf("constant targets: %+v, %v", r, err)
	}
}
