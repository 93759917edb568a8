package stats

import "testing"

func TestStats(t *testing.T) {
	tests := []struct {
		name         string
		values       []float64
		median, mean float64
		tail         float64 // 0.99
	}{
		{"one", []float64{3}, 3, 3, 3},
		{"odd", []float64{9, 1, 2}, 2, 4, 9},
		{"even", []float64{4, 1, 2, 9}, 3, 4, 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mid, ok1 := Median(tt.values)
			avg, ok2 := Mean(tt.values)
			if !ok1 || !ok2 || mid != tt.median || avg != tt.mean || Quantile(tt.values, 0.99) != tt.tail {
				t.Errorf("median %v, mean %v, 99 %% %v", mid, avg, Quantile(tt.values, 0.99))
			}
		})
	}
	if _, ok := Median(nil); ok || Quantile(nil, 0.5) != 0 {
		t.Error("nothing has a median")
	}
	if _, ok := Mean(nil); ok {
		t.Error("nothing has a mean")
	}
}
