package memory

import (
	"errors"
	"fmt"

	"example.com/colloc/predict"
	"example.com/colloc/predict/internal/conformal"
	"example.com/colloc/profile"
)

// TogetherObservation is what tasks that shared a GPU used there together.
type TogetherObservation struct {
	// Solo is the sum of the peaks that the tasks have alone.
	Solo profile.Bytes
	// Together is the peak of all.
	Together profile.Bytes
}

// Together says how much more than the sum of their solo peaks tasks need
// when they share a GPU. On Lucid's 1388 pairs (RTX 3090, time slicing) three
// quarters are within 100 MiB of the sum, but one in ten exceeds it by more than
// 500 MiB and one in a hundred by 1574 MiB: libraries choose other algorithms,
// and allocators fragment, when another process holds memory.
//
// The zero value answers with those figures. It is safe for concurrent use.
type Together struct {
	over conformal.Bounds // bytes beyond the sum
	from predict.Provenance
}

// TogetherOptions configure FitTogether; nil and the zero value are the defaults.
type TogetherOptions struct {
	// Provenance is stored with the margin.
	Provenance predict.Provenance
}

// Provenance returns what the margin was fitted to; empty for the zero value.
func (t *Together) Provenance() predict.Provenance {
	if t == nil {
		return predict.Provenance{}
	}
	return t.from
}

// FitTogether fits the margin to observed sets: the quantiles of what they need
// beyond the sum, by split conformal prediction. Give it to [Fit] to store
// it with a model. It returns an error that gives the index of an observation
// whose amounts are not positive, and one for none.
func FitTogether(obs []TogetherObservation, o *TogetherOptions) (*Together, error) {
	if len(obs) == 0 {
		return nil, errors.New("predict: fit together: no observations")
	}
	over := make([]float64, len(obs))
	for i, o := range obs {
		if o.Solo <= 0 || o.Together <= 0 || o.Solo > profile.MaxCount || o.Together > profile.MaxCount {
			return nil, fmt.Errorf("predict: fit together: observation %d: solo %d, together %d bytes: want 1 to 1e15", i, int64(o.Solo), int64(o.Together))
		}
		over[i] = float64(o.Together - o.Solo)
	}
	t := &Together{over: conformal.New(over)}
	if o != nil {
		t.from = o.Provenance
	}
	return t, nil
}

// Margin returns what to set aside beyond the sum of the solo peaks of n tasks
// so that they exceed it with probability at most risk; 0 for a single task.
// Beyond pairs, which alone were measured, it grows with each task that joins.
// Risk outside (0, 1) gives an error.
func (t *Together) Margin(n int, risk float64) (profile.Bytes, error) {
	if err := conformal.CheckRisk(risk); err != nil {
		return 0, err
	}
	if n < 2 {
		return 0, nil
	}
	over := float64(lucidMargin(risk))
	if t != nil && len(t.over.Scores) > 0 {
		over = t.over.Upper(risk)
	}
	return profile.BytesOf(over * float64(n-1)), nil
}

// lucidMargin is the published summary of Lucid's pairs as a step function.
func lucidMargin(risk float64) profile.Bytes {
	switch {
	case risk < 0.01:
		return 2 * 1574 * profile.MiB
	case risk < 0.1:
		return 1574 * profile.MiB
	case risk < 0.25:
		return 500 * profile.MiB
	}
	return 100 * profile.MiB
}
