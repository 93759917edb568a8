package conformal

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestConformalCoverage draws calibration and test scores from one heavy-tailed
// distribution: the share of new scores above the bound must be near the risk.
func TestConformalCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	draw := func() float64 { return rng.NormFloat64() / (0.2 + rng.Float64()) }
	for _, risk := range []float64{0.01, 0.05, 0.2} {
		const rounds, n, tests = 200, 150, 50
		above, below := 0, 0
		for range rounds {
			scores := make([]float64, n)
			for i := range scores {
				scores[i] = draw()
			}
			c := New(scores)
			for range tests {
				v := draw()
				if v > c.Upper(risk) {
					above++
				}
				if v < c.Lower(risk) {
					below++
				}
			}
		}
		for name, k := range map[string]int{"above": above, "below": below} {
			if share := float64(k) / (rounds * tests); share > risk*1.25+0.002 || share < risk*0.5-0.003 {
				t.Errorf("risk %v: share %s is %v", risk, name, share)
			}
		}
	}
}

func TestConformalRank(t *testing.T) {
	c := New([]float64{9, 1, 5, 3, 7, math.NaN(), math.Inf(1)})
	for _, tt := range []struct{ risk, upper, lower float64 }{
		{0.5, 5, 5}, {0.34, 7, 3}, {0.2, 9, 1},
	} {
		if got := c.Upper(tt.risk); got != tt.upper {
			t.Errorf("upper(%v) = %v, want %v", tt.risk, got, tt.upper)
		}
		if got := c.Lower(tt.risk); got != tt.lower {
			t.Errorf("lower(%v) = %v, want %v", tt.risk, got, tt.lower)
		}
	}
}

func TestConformalMonotoneInRisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(rapid.SliceOfN(rapid.Float64Range(-5, 5), 0, 40).Draw(t, "scores"))
		a, b := rapid.Float64Range(1e-6, 0.49).Draw(t, "a"), rapid.Float64Range(1e-6, 0.49).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		if c.Upper(a) < c.Upper(b)-1e-12 || c.Lower(a) > c.Lower(b)+1e-12 {
			t.Fatalf("a smaller risk gives a narrower bound: %v %v, %v %v", c.Upper(a), c.Upper(b), c.Lower(a), c.Lower(b))
		}
	})
}

func TestConformalBeyond(t *testing.T) {
	narrow, wide := New(Normal(99)), New([]float64{-1, 0, 5, 6, 7, 8, 9})
	got := narrow.Beyond(0.1, wide)
	if err := got.Check(); err != nil || len(got.Scores) != 99 {
		t.Fatal(err, len(got.Scores))
	}
	for _, risk := range []float64{0.5, 0.2, 0.1} {
		if got.Upper(risk) != narrow.Upper(risk) {
			t.Errorf("risk %v: %v, want as before %v", risk, got.Upper(risk), narrow.Upper(risk))
		}
	}
	if got.Upper(0.05) < wide.Upper(0.05)-1e-9 {
		t.Errorf("risk 0.05: %v, want at least %v", got.Upper(0.05), wide.Upper(0.05))
	}
}

// TestLowerMirrorsUpper: what is below is above of the negated scores, beyond the scores
// too, and without scores both are 0.
func TestLowerMirrorsUpper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(-5, 5), 0, 40).Draw(t, "scores")
		negated := make([]float64, len(scores))
		for i, v := range scores {
			negated[i] = -v
		}
		n := float64(len(scores) + 1)
		risk := rapid.OneOf(rapid.Float64Range(1e-6, 0.5/n), rapid.Float64Range(0.5/n, 0.5)).Draw(t, "risk")
		up, low := New(scores).Upper(risk), New(negated).Lower(risk)
		if k := risk * n; math.Abs(k-math.Round(k)) > 1e-9 && math.Abs(up+low) > 1e-9 { // else rounding decides
			t.Fatalf("above %v, below %v of the negated", up, low)
		}
	})
	if none := New(nil); none.Lower(0.1) != 0 || none.Upper(0.1) != 0 {
		t.Errorf("without scores: %v to %v", none.Lower(0.1), none.Upper(0.1))
	}
}

// TestRisks: a probability between 0 and 1 can be asked for, as a risk and as a confidence, no other
// number.
func TestRisks(t *testing.T) {
	for risk, ok := range map[float64]bool{1e-9: true, 0.999: true, 0: false, 1: false, -0.1: false, 1.1: false, math.Inf(1): false} {
		if err := CheckRisk(risk); (err == nil) != ok {
			t.Errorf("risk %v: %v", risk, err)
		}
		if err := CheckConfidence(risk); (err == nil) != ok {
			t.Errorf("confidence %v: %v", risk, err)
		}
	}
	if CheckRisk(math.NaN()) == nil {
		t.Error("risk NaN: no error")
	}
}

// TestNormal: quartiles of the standard normal distribution, qnorm(0.75) of R.
func TestNormal(t *testing.T) {
	for i, want := range []float64{-0.67448975, 0, 0.67448975} {
		if got := Normal(3)[i]; !(math.Abs(got-want) <= 1e-8) {
			t.Errorf("quartile %d is %v, want %v", i+1, got, want)
		}
	}
}
