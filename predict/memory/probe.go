package memory

import (
	"errors"
	"fmt"
	"math"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/profile"
)

// Probe predicts a task's peak memory from short runs of the very task. A
// peak is close to affine in the batch,
//
//	peak(b) = fixed + slope × b
//
// so that two batches determine it, and one batch does with the slope that a
// model predicts. Measured on ten models, a batch of 128 was within −5.4 to
// +1.6 % of the line through 32 and 64; the tails are heavier where the
// convolution library changes its algorithm with the batch.
//
// A Probe is safe for concurrent use.
type Probe struct {
	fixed, slope float64
	lo, hi       int // batches that were run
	single       bool
}

// Spreads of the logarithm: inside the batches that were run, and added for
// each doubling beyond them, from two runs and from one.
const (
	probeInside = 0.01
	probeTwo    = 0.03
	probeOne    = 0.06
)

// FitProbe fits the line to runs of one task at one or more batches. With one
// batch, or none that differ, the slope comes from m on the runs' host. Censored
// runs are not used. It returns an error for no run, for an invalid one, and for
// runs of different models.
func FitProbe(m *Predictor, runs []Observation) (*Probe, error) {
	var n, sum, sumPeak, squares, cross float64
	p := &Probe{lo: math.MaxInt}
	var first *Observation
	for i := range runs {
		o := &runs[i]
		if err := o.check(); err != nil {
			return nil, fmt.Errorf("predict: probe memory: run %d: %w", i, err)
		}
		if o.Censored {
			continue
		}
		if first == nil {
			first = o
		}
		if modelKey(&o.Spec) != modelKey(&first.Spec) {
			return nil, fmt.Errorf("predict: probe memory: run %d is of %q, the first of %q: probe one task at a time", i, o.Spec.Model.Name, first.Spec.Model.Name)
		}
		b, y := float64(o.Spec.Training.BatchSize), float64(o.Peak)
		n, sum, sumPeak, squares, cross = n+1, sum+b, sumPeak+y, squares+b*b, cross+b*y
		p.lo, p.hi = min(p.lo, o.Spec.Training.BatchSize), max(p.hi, o.Spec.Training.BatchSize)
	}
	if first == nil {
		return nil, errors.New("predict: probe memory: no run that ended")
	}
	if p.single = p.lo == p.hi; p.single {
		slope, err := m.slope(first)
		if err != nil {
			return nil, err
		}
		p.slope = slope
	} else {
		p.slope = max(0, (n*cross-sum*sumPeak)/(n*squares-sum*sum))
	}
	p.fixed = (sumPeak - p.slope*sum) / n
	return p, nil
}

// slope is what one more sample adds to the predicted peak, bytes.
func (m *Predictor) slope(o *Observation) (float64, error) {
	if m == nil {
		return 0, errors.New("predict: probe memory: one batch needs a model for the slope: pass one, or run a second batch")
	}
	here, err := m.Peak(&o.Spec, o.Host)
	if err != nil {
		return 0, err
	}
	double := o.Spec
	double.Training.BatchSize = min(2*double.Training.BatchSize, profile.MaxBatch)
	there, err := m.Peak(&double, o.Host)
	if err != nil {
		return 0, err
	}
	return max(0, there.Value-here.Value) / float64(o.Spec.Training.BatchSize), nil
}

// Peak predicts the peak memory at a batch, in bytes, with a 90 % interval. The
// source is Measured; Distance is 0 within the batches that were run and grows
// by one with each doubling beyond.
func (p *Probe) Peak(batch int) (predict.Estimate, error) {
	value, spread, distance, err := p.at(batch)
	if err != nil {
		return predict.Estimate{}, err
	}
	const z = 1.645
	return predict.Estimate{
		Value: value, Lo: value * math.Exp(-z*spread), Hi: value * math.Exp(z*spread), Confidence: conformal.Confidence,
		Source: predict.Source{Kind: predict.Measured, Distance: distance},
	}, nil
}

// Reserve returns the memory to set aside at a batch so that the peak exceeds it with
// probability at most risk. That holds if errors are normal with the spread that
// [Probe] documents.
func (p *Probe) Reserve(batch int, risk float64) (profile.Bytes, error) {
	if err := conformal.CheckRisk(risk); err != nil {
		return 0, err
	}
	value, spread, _, err := p.at(batch)
	if err != nil {
		return 0, err
	}
	return profile.BytesOf(value * math.Exp(spread*math.Sqrt2*math.Erfinv(1-2*risk))), nil
}

func (p *Probe) at(batch int) (value, spread, distance float64, err error) {
	if batch < 1 || batch > profile.MaxBatch {
		return 0, 0, 0, fmt.Errorf("predict: probe memory: batch is %d, want 1 to %d", batch, profile.MaxBatch)
	}
	distance = max(0, math.Log2(float64(batch)/float64(p.hi)), math.Log2(float64(p.lo)/float64(batch)))
	each := probeTwo
	if p.single {
		each = probeOne
	}
	return max(0, p.fixed+p.slope*float64(batch)), probeInside + each*distance, distance, nil
}
