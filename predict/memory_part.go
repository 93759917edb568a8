package predict

import (
	"fmt"
	"math"
)

// memoryPart predicts one kind of task: an analytic sum of byte terms, times a
// residual, with a calibrated spread.
//
//	peak = (held + Σ_j c_j term_j) × exp(residual(x))
//	P(peak > predicted × exp(q(risk) × spread(x))) ≤ risk
type memoryPart struct {
	// Coef are the coefficients of the byte terms, at least 0; the first is the
	// context in bytes.
	Coef []float64 `json:"coef"`
	// Residual is the logarithm of seen/analytic.
	Residual *trees `json:"residual,omitempty"`
	// Spread gives the typical size of |log(seen/predicted)|, as Form says.
	Spread *trees     `json:"spread,omitempty"`
	Form   spreadForm `json:"form,omitempty"`
	// Flat is the median size.
	Flat float64 `json:"flat,omitempty"`
	// Scores are log(seen/predicted)/spread of rows that were left out.
	Scores conformal `json:"scores"`
	// Lo and Hi are the ranges of the features in the data.
	Lo []float64 `json:"lo,omitempty"`
	Hi []float64 `json:"hi,omitempty"`
	// Rows and Groups count the data.
	Rows   int `json:"rows"`
	Groups int `json:"groups"`
}

// spreadForm says what the trees of a spread predict.
type spreadForm int

const (
	flatSpread spreadForm = iota // nothing: the median everywhere
	rootSpread                   // its square root
	logSpread                    // its logarithm
)

// spread is the typical size of the error for t.
func (p *memoryPart) spread(t *memoryTask) float64 {
	if p.Spread == nil {
		return p.Flat
	}
	v := p.Spread.predict(t.x[:])
	if p.Form == logSpread {
		return math.Exp(min(v, 1))
	}
	return max(0.3*p.Flat, v*math.Abs(v))
}

// memoryPoint is a prediction before the host's context is exchanged.
type memoryPoint struct {
	context  float64 // fitted for the stack of the training data
	rest     float64 // bytes beyond the context
	spread   float64 // of the logarithm of the whole
	distance float64
}

// maxSpread bounds the spread, so that no interval overflows.
const maxSpread = 2

// maxWiden bounds how much wider an interval gets far from the data.
const maxWiden = 3

// at predicts one task. It allocates nothing.
func (p *memoryPart) at(t *memoryTask) memoryPoint {
	analytic := t.bytes(p.Coef)
	out := memoryPoint{context: p.Coef[0], spread: p.spread(t)}
	total := analytic
	if p.Residual != nil {
		total *= math.Exp(p.Residual.predict(t.x[:]))
	}
	out.distance = p.distance(t)
	out.spread *= min(maxWiden, max(1, out.distance/p.reach()))
	out.spread = min(out.spread, maxSpread)
	// The residual must not eat what the task itself needs.
	out.rest = max(total-out.context, (analytic-out.context)/2)
	return out
}

// reach is the distance up to which the calibration holds as it is: 1, and 2
// where whole groups were left out, so that strangers were part of it.
func (p *memoryPart) reach() float64 {
	if p.Groups >= manyGroups {
		return 2
	}
	return 1
}

// distance is how far t is from the data: the largest of the features'
// distances from the middle of their range, in half ranges.
func (p *memoryPart) distance(t *memoryTask) float64 {
	used := min(t.used, len(p.Lo))
	return rangeDistance(t.x[:used], p.Lo[:used], p.Hi[:used])
}

// check verifies a part that was read from a file.
func (p *memoryPart) check() error {
	if len(p.Coef) == 0 || len(p.Coef) > memoryTerms {
		return fmt.Errorf("%d coefficients, want 1 to %d", len(p.Coef), memoryTerms)
	}
	for j, c := range p.Coef {
		if !finite(c) || c < 0 {
			return fmt.Errorf("coefficient %d is %v, want 0 or more", j, c)
		}
	}
	for _, t := range []*trees{p.Residual, p.Spread} {
		if t == nil {
			continue
		}
		if t.Columns != memoryFeatures {
			return fmt.Errorf("trees over %d features, want %d", t.Columns, memoryFeatures)
		}
		if err := t.check(); err != nil {
			return err
		}
	}
	if len(p.Lo) != len(p.Hi) || len(p.Lo) > memoryFeatures {
		return fmt.Errorf("%d lower and %d upper feature bounds", len(p.Lo), len(p.Hi))
	}
	for j := range p.Lo {
		if !finite(p.Lo[j]) || !finite(p.Hi[j]) || p.Lo[j] > p.Hi[j] {
			return fmt.Errorf("feature %d has range %v to %v", j, p.Lo[j], p.Hi[j])
		}
	}
	if p.Form < flatSpread || p.Form > logSpread {
		return fmt.Errorf("unknown spread form %d", p.Form)
	}
	if !finite(p.Flat) || p.Flat < 0 || p.Rows < 0 || p.Groups < 0 {
		return fmt.Errorf("spread %v, %d rows, %d groups: want 0 or more", p.Flat, p.Rows, p.Groups)
	}
	return p.Scores.check()
}
