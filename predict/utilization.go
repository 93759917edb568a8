package predict

import (
	"errors"
	"fmt"
	"math"

	"example.com/colloc/profile"
)

// UtilizationObservation is one task that ran alone on a GPU, with what was
// seen of it. A counter that was not read is missing.
type UtilizationObservation struct {
	// Spec is what ran.
	Spec profile.Spec
	// GPU is where it ran.
	GPU profile.GPUModel
	// Use holds the means over the run; the fields that Solo predicts count.
	Use profile.Sample
	// Group names what the task is related to.
	Group string
}

// SoloUse is how busy a task alone keeps a GPU; fractions in [0, 1], each with
// an interval. The names are those of [profile.Sample].
type SoloUse struct {
	SMActive    Estimate `json:"sm_active"`
	SMOccupancy Estimate `json:"sm_occupancy"`
	DRAMActive  Estimate `json:"dram_active"`
	GPUBusy     Estimate `json:"gpu_busy"`
}

// Utilization predicts, from the description of a task and the data sheet of a
// GPU alone, how busy the task will keep the GPU. Make one with
// [FitUtilization], [LoadUtilization] or package pretrained; the zero
// Utilization answers by roofline alone. It is safe for concurrent use.
type Utilization struct {
	parts [profile.Families][useTargets]*usePart
	gpu   string // where the data were measured
	from  Provenance
}

// Provenance returns what the model was fitted to.
func (u *Utilization) Provenance() Provenance { return u.from }

// The quantities that are predicted, in the order of [SoloUse].
const (
	smActive = iota
	smOccupancy
	dramActive
	gpuBusy
	useTargets
)

// useNames are the names of the quantities in files.
//
//nolint:gochecknoglobals // read-only name table
var useNames = [useTargets]string{"sm_active", "sm_occupancy", "dram_active", "gpu_busy"}

// usePart predicts one quantity for one family: the square root of a fraction,
// or log(1 + per cent) for GPU busy.
type usePart struct {
	Mean   *trees    `json:"mean"`
	Spread *trees    `json:"spread,omitempty"`
	Flat   float64   `json:"flat"`
	Scores conformal `json:"scores"`
	Lo     []float64 `json:"lo"`
	Hi     []float64 `json:"hi"`
	Rows   int       `json:"rows"`

	memo *useMemo // of what the trees said before; nil asks them each time
}

// otherGPU is how much wider an interval gets on a GPU other than that of the
// data, whose three step times are all that carries over.
const otherGPU = 3

// Solo predicts how busy spec alone keeps gpu. The intervals cover 90 %. The
// source is Fitted where tasks of the family were measured, and Prior otherwise:
// then the times that bound a training step (roofline) give a rough answer. On
// another GPU than that of the data the same times carry the prediction over,
// with intervals three times as wide and a Distance of at least 2.
//
// It returns an error for an invalid Spec, one without layers, and a GPU whose
// FP32 rate or bandwidth is unknown. O(layers + trees), no allocation.
func (u *Utilization) Solo(spec *profile.Spec, gpu *profile.GPUModel) (SoloUse, error) {
	var all [useTargets]Estimate
	err := u.predict(spec, gpu, &all, smActive, smOccupancy, dramActive, gpuBusy)
	return SoloUse{SMActive: all[smActive], SMOccupancy: all[smOccupancy], DRAMActive: all[dramActive], GPUBusy: all[gpuBusy]}, err
}

// Busy is Solo for the two quantities that interference depends on where nothing
// was observed, GPU busy and DRAM active, at a third of the cost.
func (u *Utilization) Busy(spec *profile.Spec, gpu *profile.GPUModel) (gpuIsBusy, dramIsActive Estimate, err error) {
	var all [useTargets]Estimate
	err = u.predict(spec, gpu, &all, dramActive, gpuBusy)
	return all[gpuBusy], all[dramActive], err
}

// predict fills in the wanted quantities.
func (u *Utilization) predict(spec *profile.Spec, gpu *profile.GPUModel, all *[useTargets]Estimate, wanted ...int) error {
	if spec == nil || gpu == nil {
		return errors.New("predict: utilization: the spec or the GPU is nil")
	}
	if !plausible(spec) {
		if err := spec.Validate(); err != nil {
			return fmt.Errorf("predict: utilization: %w", err)
		}
	}
	if spec.Model.Activations() == 0 {
		return fmt.Errorf("predict: utilization: %q has no layers with outputs: nothing to predict from", spec.Model.Name)
	}
	full := gpu.Figures()
	gpu = &full
	if !(gpu.FP32 > 0) || !(gpu.BandwidthBytesPerSec > 0) || math.IsInf(gpu.FP32, 1) || math.IsInf(gpu.BandwidthBytesPerSec, 1) {
		return fmt.Errorf("predict: utilization: GPU %q: FP32 rate %v and bandwidth %v must be positive", gpu.Name, gpu.FP32, gpu.BandwidthBytesPerSec)
	}
	var x [useFeatures]float64
	describeUse(&x, spec, gpu)
	home := gpu.Canonical() == u.gpu
	parts := &u.parts[spec.Model.Guess()]
	for _, k := range wanted {
		if p := parts[k]; p != nil {
			all[k] = p.estimate(&x, k, home)
		} else {
			all[k] = roofline(&x, k)
		}
	}
	return nil
}

// estimate predicts one quantity.
func (p *usePart) estimate(x *[useFeatures]float64, target int, home bool) Estimate {
	at, size := p.ask(x)
	source := Source{Kind: Fitted, Distance: rangeDistance(x[:], p.Lo, p.Hi)}
	if !home {
		size *= otherGPU
		source.Distance = max(source.Distance, 2)
	}
	size *= min(maxWiden, max(1, source.Distance))
	const tail = (1 - confidence) / 2
	value := fromScale(at, target)
	return Estimate{
		Value: value, Lo: min(value, fromScale(at+size*p.Scores.lower(tail), target)),
		Hi: max(value, fromScale(at+size*p.Scores.upper(tail), target)), Confidence: confidence, Source: source,
	}
}

// ask returns what the trees say of x: the middle and the spread.
func (p *usePart) ask(x *[useFeatures]float64) (at, size float64) {
	if p.memo == nil {
		return p.Mean.predict(x[:]), p.spread(x)
	}
	var key [useFeatures]uint64
	hash := question(key[:], x[:])
	answer, ok := p.memo.get(&key, hash)
	if !ok {
		answer = [2]float64{p.Mean.predict(x[:]), p.spread(x)}
		p.memo.put(&key, hash, answer)
	}
	return answer[0], answer[1]
}

func (p *usePart) spread(x *[useFeatures]float64) float64 {
	if p.Spread == nil {
		return p.Flat
	}
	v := p.Spread.predict(x[:])
	return max(0.3*p.Flat, v*math.Abs(v))
}

// roofline is the prior: a step takes as long as the slowest of memory, compute
// and launches; the rest waits. The interval spans most of [0, 1].
func roofline(x *[useFeatures]float64, target int) Estimate {
	memory, compute := math.Exp(min(30, x[18])), math.Exp(min(30, x[19])) // in units of the launch time
	step := 1 + max(memory, compute)
	busy := max(memory, compute) / step
	value := busy
	switch target {
	case smActive:
		value = 0.9 * busy
	case smOccupancy:
		value = 0.4 * busy
	case dramActive:
		value = 0.8 * memory / step
	}
	return Estimate{Value: value, Lo: value / 4, Hi: min(1, 2*value+0.25), Confidence: confidence, Source: Source{Kind: Prior}}
}

// toScale maps a fraction to the scale that is fitted, where errors of small and
// large values are alike; fromScale maps it back.
// GPU busy is judged by its logarithm in per cent, as in the field.
func toScale(v float64, target int) float64 {
	if target == gpuBusy {
		return math.Log1p(100 * v)
	}
	return math.Sqrt(v)
}

func fromScale(s float64, target int) float64 {
	if target == gpuBusy {
		return min(1, max(0, math.Expm1(min(s, 10))/100))
	}
	s = max(0, s)
	return min(1, s*s)
}

// rangeDistance is how far x is from the middle of the ranges, in half ranges:
// the largest over the columns, at most 10.
func rangeDistance(x, lo, hi []float64) float64 {
	const far = 10
	var worst float64
	for j := range lo {
		half := (hi[j] - lo[j]) / 2
		off := math.Abs(x[j] - (lo[j] + half))
		switch {
		case half > 0:
			worst = max(worst, min(far, off/half))
		case off > 0:
			worst = max(worst, 2)
		}
	}
	return worst
}
