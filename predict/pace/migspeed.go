package pace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/profile"
)

// MIGSpeed predicts the speed of a task on a MIG slice as a share of its speed
// on the whole GPU. Time per step grows with what the slice takes away,
//
//	1/speed = 1 + Σ_f x_f (a_f (1/c − 1) + b_f max(0, 1/c − 3) + d_f (1/m − 1))
//
// with c and m the slice's shares of compute and memory slices, x the task's
// solo features (its memory traffic to the power 0.7, its power above idle, its
// busy share) and non-negative a, b, d: Amdahl's law (DOI
// 10.1145/1465482.1465560) with a parallel share that the features tell, and a
// knee for tasks that do not fill a third of the GPU. Where the busy share is all
// that is known, the host's time and the GPU's overlap in part,
//
//	1/speed = (1 + u³ (1/s³ − 1))^⅓
//
// with u = 1 − (1 − busy) b/batch what the task fills of the GPU, b fitted: a larger batch
// leaves less of it idle between kernels. A batch below 8 counts as 8, as none was measured,
// and one that is not known as 16, the middle of those that were. s is the slice's share: of compute, and up to a sixth more where its share
// of memory is larger, because a task that fills a 3g.20gb of an A100 runs there at .5,
// not at 3/7. A larger slice is never slower. Slices share nothing, so neighbours do
// not matter.
//
// One set of coefficients is fitted for each combination of features that can
// be missing. The zero value answers by the prior: speed equals the share of
// compute. A MIGSpeed never changes and is safe for concurrent use.
type MIGSpeed struct {
	confidence float64
	provenance string
	models     [migVariants]migModel
}

// migModel holds the coefficients for one combination of known features.
type migModel struct {
	Coef   [migFeatures * migBases]float64 `json:"coef"`
	Factor float64                         `json:"factor"` // conformal quantile of |error| / migScale
	Probed float64                         `json:"probed"` // the same after a probe on one slice
	Rows   int                             `json:"rows"`
}

// The features of a task that a slice's speed depends on.
const (
	migTraffic = iota
	migPower
	migBusy
	migFeatures
)

// migBases is the number of ways in which a slice is smaller.
const migBases = 3

// migVariants counts the combinations of known features: bit 0 traffic, bit 1
// power, bit 2 busy share (used only where power is unknown).
const migVariants = 1 << migFeatures

// onlyBusy is the variant that knows the busy share alone: what DCGM calls the
// engine's activity, most likely. Its one coefficient is the batch at which the idle share
// is what the task leaves of a GPU.
const (
	onlyBusy = 1 << migBusy
	fillOf   = migBusy * migBases
)

// The least batch and the middle one of the measured tasks of which the busy share alone
// is known.
const (
	smallBatch  = 8
	middleBatch = 16
)

// idlePower is the share of its limit that an idle board draws; A100: about
// 40 W of 400 W.
const idlePower = 0.1

// ErrSlice says that a slice is none of the GPU.
var ErrSlice = errors.New("not a MIG slice of this GPU")

// Speed returns the speed of a task on a slice of gpu, in (0, 1], where 1 is
// its speed on the whole GPU. A nil profile is a task of which nothing is known.
// It returns an error that wraps [ErrSlice] for a slice without compute or
// larger than the GPU. It does not allocate. O(1).
func (m *MIGSpeed) Speed(p *profile.Profile, gpu *profile.GPUModel, slice profile.MIGProfile) (predict.Estimate, error) {
	s, err := shareOf(gpu, slice)
	if err != nil {
		return predict.Estimate{}, err
	}
	return m.estimate(p, s, m.delay(p, s), false), nil
}

// SpeedFromProbe is Speed for a task whose speed on one slice, probe, was
// measured: the predicted delays are scaled to agree with it, to the power 0.8
// because a probe is noisy where little is lost. It returns an error for a
// measured speed that is not a positive number.
func (m *MIGSpeed) SpeedFromProbe(p *profile.Profile, gpu *profile.GPUModel, slice, probe profile.MIGProfile, measured float64) (predict.Estimate, error) {
	s, err := shareOf(gpu, slice)
	if err != nil {
		return predict.Estimate{}, err
	}
	at, err := shareOf(gpu, probe)
	if err != nil {
		return predict.Estimate{}, fmt.Errorf("probe: %w", err)
	}
	if !(measured > 0) || math.IsInf(measured, 0) {
		return predict.Estimate{}, fmt.Errorf("predict: mig: probe measured a speed of %v, want more than 0", measured)
	}
	if s == at {
		v := min(1, measured)
		return predict.Estimate{Value: v, Lo: v, Hi: v, Confidence: m.level(), Source: predict.Source{Kind: predict.Measured}}, nil
	}
	const few = 0.02 // a delay that is lost in the noise
	seen := max(0, 1/measured-1)
	scale := math.Pow((seen+few)/(m.delay(p, at)+few), 0.8)
	return m.estimate(p, s, min(m.delay(p, s)*scale, 1e6), true), nil
}

func (m *MIGSpeed) level() float64 {
	if m.confidence == 0 {
		return 0.9
	}
	return m.confidence
}

// estimate turns a delay (time per step over that alone, less 1) into a speed
// with its interval.
func (m *MIGSpeed) estimate(p *profile.Profile, s share, delay float64, probed bool) predict.Estimate {
	speed := max(predict.LeastSpeed, 1/(1+delay))
	e := predict.Estimate{Value: speed, Lo: speed, Hi: speed, Confidence: m.level()}
	model := &m.models[migVariant(p)]
	factor := model.Factor
	switch {
	case model.Rows == 0:
		factor = 2 // speeds from half the share to the whole GPU's were seen
	case probed:
		factor, e.Source.Kind = model.Probed, predict.Measured
	default:
		e.Source.Kind = predict.Fitted
	}
	if s.compute < 1 || s.memory < 1 {
		half := factor * migScale(speed)
		e.Lo, e.Hi = max(predict.LeastSpeed, speed-half), min(1, speed+half)
	}
	return e
}

// migScale is how errors grow: least near the whole GPU's speed.
func migScale(speed float64) float64 { return 0.03 + speed*(1-speed) }

// delay is the predicted growth of the time per step.
func (m *MIGSpeed) delay(p *profile.Profile, s share) float64 { return m.delayBy(migVariant(p), p, s) }

// delayBy is delay by a variant whose features p has.
func (m *MIGSpeed) delayBy(variant int, p *profile.Profile, s share) float64 {
	model := &m.models[variant]
	if model.Rows == 0 {
		return 1/s.compute - 1
	}
	if variant == onlyBusy {
		return fillDelay(model.Coef[fillOf], p, s)
	}
	row := migRow(p, s, variant)
	return max(0, num.Dot(model.Coef[:], row[:]))
}

// fillDelay is the delay on a slice of a task that leaves of the GPU what is idle
// at a batch of fill.
func fillDelay(fill float64, p *profile.Profile, s share) float64 {
	busy, _ := p.Vector.Either(profile.MeanSMActive, profile.MeanGPUBusy)
	part := min(max(s.compute, s.memory), s.compute*7/6)
	batch := float64(max(smallBatch, cmp.Or(p.Spec.Training.BatchSize, middleBatch)))
	u := max(0, 1-(1-busy)*fill/batch)
	return math.Cbrt(1+u*u*u*(1/(part*part*part)-1)) - 1
}

// share is the part of a GPU that a slice has, both in (0, 1].
type share struct{ compute, memory float64 }

// shareOf divides the slice's by the GPU's compute and memory slices: see
// [profile.GPUModel.MIGSlices].
func shareOf(gpu *profile.GPUModel, slice profile.MIGProfile) (share, error) {
	compute, size := gpu.MIGSlices()
	if slice.Compute < 1 || slice.Size < 1 || slice.Compute > compute || slice.Size > size {
		return share{}, fmt.Errorf("predict: mig: slice %q of %d compute and %d memory slices: %w", slice.Name, slice.Compute, slice.Size, ErrSlice)
	}
	return share{float64(slice.Compute) / float64(compute), float64(slice.Size) / float64(size)}, nil
}

// migVariant tells which features are known.
func migVariant(p *profile.Profile) int {
	if p == nil {
		return 0
	}
	variant := 0
	if _, ok := p.Vector.Either(profile.MeanDRAMActive, profile.MeanMemBusy); ok {
		variant |= 1 << migTraffic
	}
	if _, ok := p.Vector.Get(profile.BusyPower); ok {
		return variant | 1<<migPower
	}
	if _, ok := p.Vector.Either(profile.MeanSMActive, profile.MeanGPUBusy); ok {
		variant |= 1 << migBusy
	}
	return variant
}

// migRow returns the products of the features that the variant uses and the
// bases of the slice.
func migRow(p *profile.Profile, s share, variant int) [migFeatures * migBases]float64 {
	var x [migFeatures]float64
	if variant&(1<<migTraffic) != 0 {
		v, _ := p.Vector.Either(profile.MeanDRAMActive, profile.MeanMemBusy)
		x[migTraffic] = math.Pow(v, 0.7)
	}
	if variant&(1<<migPower) != 0 {
		x[migPower] = max(0, p.Vector.Or(profile.BusyPower, 0)-idlePower)
	}
	if variant&(1<<migBusy) != 0 {
		x[migBusy], _ = p.Vector.Either(profile.MeanSMActive, profile.MeanGPUBusy)
	}
	basis := [migBases]float64{1/s.compute - 1, max(0, 1/s.compute-3), 1/s.memory - 1}
	var row [migFeatures * migBases]float64
	for f := range x {
		for b := range basis {
			row[f*migBases+b] = x[f] * basis[b]
		}
	}
	return row
}

type migFile struct {
	Format     string     `json:"format"`
	Version    int        `json:"version"`
	Vector     int        `json:"vector_version"`
	Provenance string     `json:"provenance,omitempty"`
	Confidence float64    `json:"confidence"`
	Models     []migModel `json:"models"`
}

const (
	migFormat  = "colloc mig speed"
	migVersion = 2
)

// Save writes the coefficients as JSON.
func (m *MIGSpeed) Save(w io.Writer) error {
	f := migFile{migFormat, migVersion, profile.VectorVersion, m.provenance, m.level(), m.models[:]}
	if err := json.NewEncoder(w).Encode(f); err != nil {
		return fmt.Errorf("predict: mig: save: %w", err)
	}
	return nil
}

// LoadMIGSpeed reads what Save wrote; another format or version and numbers
// that no fit can have produced are errors.
func LoadMIGSpeed(r io.Reader) (*MIGSpeed, error) {
	var f migFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("predict: mig: load: %w", err)
	}
	if f.Format != migFormat || f.Version != migVersion || f.Vector != profile.VectorVersion || len(f.Models) != migVariants {
		return nil, fmt.Errorf("predict: mig: load: format %q, version %d, features %d, %d models; want %q, %d, %d, %d: fit again",
			f.Format, f.Version, f.Vector, len(f.Models), migFormat, migVersion, profile.VectorVersion, migVariants)
	}
	m := &MIGSpeed{confidence: f.Confidence, provenance: f.Provenance}
	if err := conformal.CheckConfidence(f.Confidence); err != nil {
		return nil, fmt.Errorf("predict: mig: load: %w", err)
	}
	for i, model := range f.Models {
		for _, v := range append(model.Coef[:], model.Factor, model.Probed, float64(model.Rows)) {
			if !num.Finite(v) || v < 0 {
				return nil, fmt.Errorf("predict: mig: load: model %d holds %v, want 0 or more", i, v)
			}
		}
		m.models[i] = model
	}
	return m, nil
}

// Equal reports whether both are the same MIGSpeed, as == does. go-cmp asks it.
func (m *MIGSpeed) Equal(other *MIGSpeed) bool { return m == other }
