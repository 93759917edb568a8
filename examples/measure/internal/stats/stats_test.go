package stats

import "testing"

func TestStats(t *testing.T) {
	tests := []struct {
		name         string
		values       []float64
		median, mean float64
	}{
		{"one", []float64{3}, 3, 3},
		{"odd", []float64{9, 1, 2}, 2, 4},
		{"even", []float64{4, 1, 2, 9}, 3, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mid, ok1 := Median(tt.values)
			avg, ok2 := Mean(tt.values)
			if !ok1 || !ok2 || mid != tt.median || avg != tt.mean {
				t.Errorf("median %v, mean %v", mid, avg)
			}
		})
	}
	if _, ok := Median(nil); ok {
		t.Error("nothing has a median")
	}
	if _, ok := Mean(nil); ok {
		t.Error("nothing has a mean")
	}
}
