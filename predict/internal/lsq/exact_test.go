package lsq

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

// TestExact: what is written is read bit by bit, lists of digits are read too, and
// other text is refused.
func TestExact(t *testing.T) {
	for _, want := range []Exact{{}, {0, math.Copysign(0, -1), 1.0 / 3, math.MaxFloat64, 5e-324}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Exact
		if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got, want) || len(got) > 1 && !math.Signbit(got[1]) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{`""`, `[]`} {
		none := Exact{1}
		if err := json.Unmarshal([]byte(text), &none); err != nil || len(none) != 0 {
			t.Errorf("%s: %v, %v; want no numbers", text, none, err)
		}
	}
	var old Exact
	if err := json.Unmarshal([]byte("[1,0.25]"), &old); err != nil || !slices.Equal(old, Exact{1, 0.25}) {
		t.Errorf("digits: %v, %v", old, err)
	}
	for _, text := range []string{`"AAAA"`, `"A"`, `"é"`, `{}`, `["1"]`, `7`} {
		if err := json.Unmarshal([]byte(text), new(Exact)); err == nil {
			t.Errorf("%s: accepted", text)
		}
	}
}

// TestSolutionFaults: a solution that no rows have.
func TestSolutionFaults(t *testing.T) {
	for name, s := range map[string]Solution{
		"too short":           {Mean: Exact{0}, Cov: Exact{1}},
		"a negative variance": {Mean: Exact{0, 0}, Cov: Exact{1, 0, -1}},
		"not a number":        {Mean: Exact{0, math.NaN()}, Cov: Exact{1, 0, 1}},
	} {
		if _, err := s.Posterior(2, Span{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
