package conformal

import (
	"fmt"
	"math"
	"slices"

	"example.com/colloc/predict/internal/num"
)

// Confidence is what the intervals of Peak cover.
const Confidence = 0.9

// MaxWiden bounds how much wider an interval gets far from the data.
const MaxWiden = 3

// Bounds holds the sorted scores of a split-conformal interval (Vovk,
// Gammerman and Shafer 2005, DOI 10.1007/b106715; Lei et al. 2018, DOI
// 10.1080/01621459.2017.1307116). A score is log(seen/predicted) of a task that
// the model was not fitted on, so that for a new exchangeable task
//
//	P(seen > predicted × exp(q)) ≤ risk,  q = the ⌈(1−risk)(n+1)⌉-th smallest score
//
// holds for every n and every distribution of errors. Scores are summaries of
// errors, not training rows.
type Bounds struct {
	// Scores are sorted, rising.
	Scores []float64 `json:"scores"`
}

// New sorts scores and leaves out what is not finite.
func New(scores []float64) Bounds {
	s := make([]float64, 0, len(scores))
	for _, v := range scores {
		if num.Finite(v) {
			s = append(s, v)
		}
	}
	slices.Sort(s)
	return Bounds{Scores: s}
}

// Upper returns the score that a new one exceeds with probability at most
// risk. Where n is too small for that promise (n < 1/risk − 1) it goes beyond
// the largest score along the exponential tail through the upper quarter, which
// is an assumption, not a guarantee. O(1).
func (c Bounds) Upper(risk float64) float64 {
	n := len(c.Scores)
	if n == 0 {
		return 0
	}
	rank := math.Ceil(float64((1 - risk) * float64(n+1)))
	if rank <= float64(n) {
		return c.Scores[max(0, int(rank)-1)]
	}
	last := c.Scores[n-1]
	knee := c.Scores[(3*(n-1))/4]
	spread := max(last-knee, 0.02) / math.Log(max(2, 0.25*float64(n+1)))
	return last + spread*math.Log(1/(float64(n+1)*risk))
}

// Beyond returns scores that promise what c does down to the given risk, and
// below it what the wider of c and o does.
func (c Bounds) Beyond(risk float64, o Bounds) Bounds {
	scores := slices.Clone(c.Scores)
	for i := range scores {
		if left := 1 - float64(i+1)/float64(len(scores)+1); left < risk-1e-9 {
			scores[i] = max(scores[i], o.Upper(left))
		}
	}
	return Bounds{Scores: scores}
}

// Lower is the mirror image: a new score is below it with probability at most risk.
func (c Bounds) Lower(risk float64) float64 {
	n := len(c.Scores)
	if n == 0 {
		return 0
	}
	rank := math.Floor(float64(risk * float64(n+1)))
	if rank >= 1 {
		return c.Scores[min(n, int(rank))-1]
	}
	first := c.Scores[0]
	knee := c.Scores[n-1-(3*(n-1))/4]
	spread := max(knee-first, 0.02) / math.Log(max(2, 0.25*float64(n+1)))
	return first - spread*math.Log(1/(float64(n+1)*risk))
}

// Check verifies scores that were read from a file.
func (c Bounds) Check() error {
	for i, v := range c.Scores {
		if !num.Finite(v) || (i > 0 && v < c.Scores[i-1]) {
			return fmt.Errorf("predict: conformal score %d is %v: want finite and rising", i, v)
		}
	}
	return nil
}

// CheckRisk accepts a probability that an interval can be asked for.
func CheckRisk(risk float64) error {
	if !(risk > 0 && risk < 1) {
		return fmt.Errorf("predict: risk is %v, want more than 0 and less than 1", risk)
	}
	return nil
}

// CheckConfidence accepts a probability that intervals can cover.
func CheckConfidence(confidence float64) error {
	if CheckRisk(confidence) != nil {
		return fmt.Errorf("confidence is %v, want more than 0 and less than 1", confidence)
	}
	return nil
}

// Normal returns n quantiles of the standard normal distribution at
// i/(n+1), as scores where nothing was measured.
func Normal(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		p := float64(i+1) / float64(n+1)
		s[i] = num.Round9(math.Sqrt2 * math.Erfinv(2*p-1))
	}
	return s
}
