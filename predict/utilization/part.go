package utilization

import (
	"math"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/predict/internal/memo"
	"example.com/colloc/predict/internal/num"
	"example.com/colloc/predict/internal/trees"
)

// The quantities that are predicted, in the order of [SoloUse].
const (
	smActive = iota
	smOccupancy
	dramActive
	gpuBusy
	quantities
)

// names are the names of the quantities in files.
//
//nolint:gochecknoglobals // read-only name table
var names = [quantities]string{"sm_active", "sm_occupancy", "dram_active", "gpu_busy"}

// part predicts one quantity for one family: the square root of a fraction,
// or log(1 + per cent) for GPU busy.
type part struct {
	Mean   *trees.Ensemble  `json:"mean"`
	Spread *trees.Ensemble  `json:"spread,omitempty"`
	Flat   float64          `json:"flat"`
	Scores conformal.Bounds `json:"scores"`
	Lo     []float64        `json:"lo"`
	Hi     []float64        `json:"hi"`
	Rows   int              `json:"rows"`

	memo *useMemo // of what the trees said before; nil asks them each time
}

// useMemo remembers what one usePart said of tasks: middle and spread.
type useMemo struct {
	memo.Table[[featureCount]uint64, [2]float64]
}

// otherGPU is how much wider an interval gets on a GPU other than that of the
// data, whose three step times are all that carries over.
const otherGPU = 3

// estimate predicts one quantity.
func (p *part) estimate(x *[featureCount]float64, target int, home bool) predict.Estimate {
	at, size := p.ask(x)
	source := predict.Source{Kind: predict.Fitted, Distance: num.Distance(x[:], p.Lo, p.Hi)}
	if !home {
		size *= otherGPU
		source.Distance = max(source.Distance, 2)
	}
	size *= min(conformal.MaxWiden, max(1, source.Distance))
	const tail = (1 - conformal.Confidence) / 2
	value := fromScale(at, target)
	return predict.Estimate{
		Value: value, Lo: min(value, fromScale(at+size*p.Scores.Lower(tail), target)),
		Hi: max(value, fromScale(at+size*p.Scores.Upper(tail), target)), Confidence: conformal.Confidence, Source: source,
	}
}

// ask returns what the trees say of x: the middle and the spread.
func (p *part) ask(x *[featureCount]float64) (at, size float64) {
	if p.memo == nil {
		return p.Mean.Predict(x[:]), p.spread(x)
	}
	var key [featureCount]uint64
	hash := memo.Question(key[:], x[:])
	answer, ok := p.memo.Get(&key, hash)
	if !ok {
		answer = [2]float64{p.Mean.Predict(x[:]), p.spread(x)}
		p.memo.Put(&key, hash, answer)
	}
	return answer[0], answer[1]
}

func (p *part) spread(x *[featureCount]float64) float64 {
	if p.Spread == nil {
		return p.Flat
	}
	v := p.Spread.Predict(x[:])
	return max(0.3*p.Flat, v*math.Abs(v))
}

// roofline is the prior: a step takes as long as the slowest of memory, compute
// and launches; the rest waits. The interval spans most of [0, 1].
func roofline(x *[featureCount]float64, target int) predict.Estimate {
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
	return predict.Estimate{Value: value, Lo: value / 4, Hi: min(1, 2*value+0.25), Confidence: conformal.Confidence, Source: predict.Source{Kind: predict.Prior}}
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
