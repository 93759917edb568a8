package memory

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
)

// manyGroups is the number of groups from which calibration leaves out whole
// groups instead of rows: then new tasks will be of new groups.
const manyGroups = 12

// part predicts one kind of task: an analytic sum of byte terms, times a
// residual, with a calibrated spread.
//
//	peak = (held + Σ_j c_j term_j) × exp(residual(x))
//	P(peak > predicted × exp(q(risk) × spread(x))) ≤ risk
type part struct {
	// Coef are the coefficients of the byte terms, at least 0; the first is the
	// context in bytes.
	Coef []float64 `json:"coef"`
	// Residual is the logarithm of seen/analytic.
	Residual *trees.Ensemble `json:"residual,omitempty"`
	// Spread gives the typical size of |log(seen/predicted)|, as Form says.
	Spread *trees.Ensemble `json:"spread,omitempty"`
	Form   spreadForm      `json:"form,omitempty"`
	// Flat is the median size.
	Flat float64 `json:"flat,omitempty"`
	// Scores are log(seen/predicted)/spread of rows that were left out.
	Scores conformal.Bounds `json:"scores"`
	// Strange are the scores for tasks whose architecture is not in Known, by the
	// spread of strangers.
	Strange conformal.Bounds `json:"strange,omitzero"`
	// Known are the architectures of the data, sorted; none where they were many,
	// so that strangers were part of the calibration.
	Known []string `json:"known,omitempty"`
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
func (p *part) spread(t *task) float64 {
	if p.Spread == nil {
		return p.Flat
	}
	v := p.Spread.Predict(t.x[:])
	if p.Form == logSpread {
		return math.Exp(min(v, 1))
	}
	return max(0.3*p.Flat, v*math.Abs(v))
}

// spreadFor is the spread for t, of a stranger or not. What the trees say of the
// size of errors holds half as far, in logarithms, for strangers.
func (p *part) spreadFor(t *task, stranger bool) float64 {
	s := p.spread(t)
	if stranger {
		s = math.Sqrt(s * p.Flat)
	}
	return s
}

// strange reports that a part was fitted to few architectures and this is none of
// them.
func (p *part) strange(architecture string) bool {
	if len(p.Known) == 0 {
		return false
	}
	_, known := slices.BinarySearch(p.Known, architecture)
	return !known
}

const (
	// leastGroups is how many groups a promise about another one takes.
	leastGroups = 3
	// priorSpread is the least spread of a task that no promise holds for.
	priorSpread = 0.2
	// strangerShare is how far the residual is believed for a stranger.
	strangerShare = 0.5
)

// point is a prediction before the host's context is exchanged.
type point struct {
	context  float64 // fitted for the stack of the training data
	rest     float64 // bytes beyond the context
	held     float64 // weights and what else the task holds without any doubt
	spread   float64 // of the logarithm of the whole
	distance float64
}

// maxSpread bounds the spread, so that no interval overflows.
const maxSpread = 2

// at predicts one task, of an architecture that the data have or not. It
// allocates nothing.
func (p *part) at(t *task, stranger bool) point {
	analytic := t.bytes(p.Coef)
	out := point{context: p.Coef[0], spread: p.spreadFor(t, stranger), held: t.held()}
	total := analytic
	if p.Residual != nil {
		residual := p.Residual.Predict(t.x[:])
		if stranger {
			residual *= strangerShare
		}
		total *= math.Exp(residual)
	}
	out.distance = p.distance(t)
	out.spread *= min(conformal.MaxWiden, max(1, out.distance/p.reach()))
	if t.halved {
		out.spread = max(2*out.spread, priorSpread)
	}
	out.spread = min(out.spread, maxSpread)
	// The residual must not eat what the task itself needs.
	out.rest = max(total-out.context, (analytic-out.context)/2)
	return out
}

// reach is the distance up to which the calibration holds as it is: 1, and 2
// where whole groups were left out, so that strangers were part of it.
func (p *part) reach() float64 {
	if p.Groups >= manyGroups {
		return 2
	}
	return 1
}

// distance is how far t is from the data: the largest of the features'
// distances from the middle of their range, in half ranges. A batch beyond the
// largest counts by its logarithm, as the terms say what more of the same costs: with
// the upper 75, 50 and 25 % of the batches left out of a fit, promises at 1 % risk
// held so for 99.3 to 99.7 % of convolutional networks there, for all vision
// transformers, and for 97.2 to 99.8 % of dense networks.
func (p *part) distance(t *task) float64 {
	used, batch := min(t.used, len(p.Lo)), t.batchColumn()
	if used <= batch || t.x[batch] <= p.Hi[batch] || p.Lo[batch] <= 0 {
		return num.Distance(t.x[:used], p.Lo[:used], p.Hi[:used])
	}
	x, lo, hi := t.x, [1]float64{math.Log(p.Lo[batch])}, [1]float64{math.Log(p.Hi[batch])}
	beyond := num.Distance([]float64{math.Log(t.x[batch])}, lo[:], hi[:])
	x[batch] = p.Hi[batch]
	return max(beyond, num.Distance(x[:used], p.Lo[:used], p.Hi[:used]))
}

// check verifies a part that was read from a file.
func (p *part) check() error {
	if len(p.Coef) == 0 || len(p.Coef) > termCount {
		return fmt.Errorf("%d coefficients, want 1 to %d", len(p.Coef), termCount)
	}
	for j, c := range p.Coef {
		if c < 0 {
			return fmt.Errorf("coefficient %d is %v, want 0 or more", j, c)
		}
	}
	if err := errors.Join(p.Residual.CheckOver(featureCount), p.Spread.CheckOver(featureCount), num.CheckRanges(p.Lo, p.Hi, featureCount)); err != nil {
		return err
	}
	if p.Form < flatSpread || p.Form > logSpread {
		return fmt.Errorf("unknown spread form %d", p.Form)
	}
	if p.Flat < 0 || p.Rows < 0 || p.Groups < 0 {
		return fmt.Errorf("spread %v, %d rows, %d groups: want 0 or more", p.Flat, p.Rows, p.Groups)
	}
	if !slices.IsSorted(p.Known) {
		return errors.New("architectures are not sorted")
	}
	return errors.Join(p.Scores.Check(), p.Strange.Check())
}
