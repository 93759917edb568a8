package pace

import (
	"math"

	"example.com/colloc/profile"
)

// rates are the logarithms of a card's peaks.
type rates struct {
	Narrow    float64 `json:"narrow"` // 16 bits
	Wide      float64 `json:"wide"`   // TF32 where the card has it, else FP32
	Bandwidth float64 `json:"bandwidth"`
	FP32      float64 `json:"fp32"`
}

// kind is a product as the predictor sees it.
type kind struct {
	name  string // canonical
	rates rates
	known bool // else rates are the middle of the catalogue's
}

// middle stands for a card of which no rate is known: the geometric mean of a
// K80 and a GB300; unknownHalf reaches from the one to the other.
//
//nolint:gochecknoglobals // a constant
var middle = rates{math.Log(105e12), math.Log(74e12), math.Log(1386e9), math.Log(18.7e12)}

const unknownHalf = 2.0

// same reports whether two cards are one to the predictor.
func (k *kind) same(o *kind) bool {
	return k.name == o.name && k.rates == o.rates && k.known == o.known
}

func kindOf(gpu *profile.GPUModel) kind {
	k := kind{name: gpu.Canonical(), rates: middle}
	g := gpu
	if g == nil || g.FP32 == 0 || g.TF32 == 0 || g.BF16 == 0 || g.BandwidthBytesPerSec == 0 { // none, or not said
		full := gpu.Figures()
		g = &full
	}
	if !plausible(g.FP32) || !plausible(g.BandwidthBytesPerSec) {
		return k
	}
	k.known = true
	k.rates = rates{
		Narrow: logRate(g.BF16, g.FP32), Wide: logRate(g.TF32, g.FP32),
		Bandwidth: logRate(0, g.BandwidthBytesPerSec), FP32: logRate(0, g.FP32),
	}
	return k
}

// plausible keeps absurd rates out: 1e6 to 1e24 in a second.
func plausible(rate float64) bool { return rate >= 1e6 && rate <= 1e24 }

// logRate is the logarithm of a tensor rate, or of FP32 where there is no faster
// one, rounded so that it is the same on every machine.
func logRate(tensor, fp32 float64) float64 {
	if plausible(tensor) {
		fp32 = max(fp32, tensor)
	}
	return math.Round(math.Log(fp32)*1e9) / 1e9
}

// of returns F, B and C for a width of the number format.
func (r *rates) of(narrow int) weights {
	if narrow == 1 {
		return weights{r.Narrow, r.Bandwidth, r.FP32}
	}
	return weights{r.Wide, r.Bandwidth, r.FP32}
}

// apart is how unlike two cards are, in the units of a log ratio.
func apart(a, b *rates, narrow int) float64 {
	x, y := a.of(narrow), b.of(narrow)
	var sum float64
	for i, w := range priorWeights {
		sum += float64(w * math.Abs(x[i]-y[i]))
	}
	return sum
}

// weights are the exponents of F, B and C.
type weights [3]float64

// priorWeights fit no data: the round numbers that do well on all of them.
//
//nolint:gochecknoglobals // a constant
var priorWeights = weights{0.2, 0.6, 0.2}
