package memory

import (
	"example.com/colloc/predict/internal/conformal"
)

// The priors answer where nothing was measured. Coefficients follow PyTorch's
// allocator as the fitted families show it: every kept tensor once, the larger of
// kept activations and the optimiser's step, one gradient of the largest output
// in flight. Spread and scores are assumptions: one in a hundred tasks needs more
// than 1.8 times the estimate.
//
//nolint:gochecknoglobals // read-only constants that Go cannot write as such
var layeredPrior = part{
	Coef: []float64{
		termContext: 1.5 * (1 << 30), termStep: 0.3, termPeak: 0.4, termKept: 0.6, termMasks: 0.6, termLargest: 1,
		termTransit: 2, termInput: 2,
	},
	Flat:   0.25,
	Scores: conformal.Bounds{Scores: priorScores},
}

// blindPrior is for a task of which nothing but parameters and batch is known:
// activations may be many times the rest.
//
//nolint:gochecknoglobals // read-only constants that Go cannot write as such
var blindPrior = part{
	Coef:   []float64{termContext: 1.5 * (1 << 30), termStep: 1, termInput: 20},
	Flat:   0.8,
	Scores: conformal.Bounds{Scores: priorScores},
}

// priorScores are 199 quantiles of a standard normal, rounded.
//
//nolint:gochecknoglobals // read-only constants that Go cannot write as such
var priorScores = conformal.Normal(199)
