package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"example.com/colloc/profile"
)

// RepeatMargin is what is added to a peak that was measured: repeats of the same
// training task differ by up to 1.4 % (three repeated configurations on an A100,
// peaks read from nvidia-smi).
const RepeatMargin = 0.02

// What a death raises the reservation by until the task is measured: beyond what
// it had reached where that is known, and beyond what was set aside for it where
// it is not. Both are assumptions: a step that ends in few deaths and does not
// shut the task out of the card that it nearly fits.
const (
	raiseReached = 0.10
	raiseGiven   = 0.25
)

// mostFloors bounds the tasks whose peaks are kept; the one that was told of
// least recently is forgotten first.
const mostFloors = 10_000

// floor is what was seen of one task: a model at one batch.
type floor struct {
	// Key is a hash of what [floorKey] lists.
	Key uint64 `json:"key,string"`
	// Peak is the largest that was measured, Reached the most that the task had
	// when it died for lack of memory, Raised what is reserved since a death, until
	// a peak is measured. 0 is none.
	Peak    profile.Bytes `json:"peak_bytes,omitempty"`
	Reached profile.Bytes `json:"reached_bytes,omitempty"`
	Raised  profile.Bytes `json:"raised_bytes,omitempty"`
	// Order grows with every observation.
	Order uint64 `json:"order"`
}

// needs is the least that the task is known to need.
func (f *floor) needs() profile.Bytes { return max(f.Peak, f.Reached) }

// least is the least that may be reserved for it.
func (f *floor) least() profile.Bytes {
	return max(f.Reached, f.Raised, more(f.Peak, RepeatMargin))
}

func more(b profile.Bytes, share float64) profile.Bytes {
	return min(profile.MaxCount, profile.BytesOf(float64(b)*(1+share)))
}

// raised is what is reserved after a death that nobody measured: the whole GPU
// before more than that, as a task may need less than it and more than it had.
func raised(o *Observation) profile.Bytes {
	next := more(o.Peak, raiseGiven)
	if o.Peak < o.Offer {
		return min(next, o.Offer)
	}
	return next
}

// Least returns the least that may be reserved for a task, whatever is predicted
// of it or was measured before: the largest peak seen with [RepeatMargin], what it
// had reached when it ran out of memory, and, from such a death until a peak is
// measured, 10 % more than it had reached, or 25 % more than was set aside for it
// where nobody measured what it had reached, and not beyond [Observation.Offer]
// before it had all of that. 0 means that nothing was seen.
//
// A task is known by model name, data set, batch, precision, optimiser,
// checkpointing and number of GPUs; without a name also by its layers, or what
// was traced of it. Tasks without any of that are one, see [Predictor.LeastOf]. Of
// the 10,000 tasks told of last; with the first observation. It does not allocate.
func (m *Predictor) Least(spec *profile.Spec) profile.Bytes { return m.LeastOf(spec, 0) }

// LeastOf is [Predictor.Least] of a task whose peak was measured before, in bytes;
// 0 is none. Tasks without name, layers and trace are then one only where that peak
// is the same: [Observation.Known] of what was seen of them.
func (m *Predictor) LeastOf(spec *profile.Spec, known profile.Bytes) profile.Bytes {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if f := m.floor(spec, known); f != nil {
		return f.least()
	}
	return 0
}

// floor returns what was seen of a task of a known peak, or 0, or nil.
func (m *Predictor) floor(spec *profile.Spec, known profile.Bytes) *floor {
	if len(m.floors) == 0 || spec == nil {
		return nil
	}
	at, found := slices.BinarySearchFunc(m.floors, floorKey(spec, known), byKey)
	if !found {
		return nil
	}
	return &m.floors[at]
}

func byKey(f floor, key uint64) int { return cmp.Compare(f.Key, key) }

// learnFloor notes the peak of a task, or that it died.
func (m *Predictor) learnFloor(o *Observation) {
	key := floorKey(&o.Spec, o.Known)
	at, known := slices.BinarySearchFunc(m.floors, key, byKey)
	if !known {
		if len(m.floors) >= mostFloors {
			old := slices.MinFunc(m.floors, func(a, b floor) int { return cmp.Compare(a.Order, b.Order) })
			m.floors = slices.DeleteFunc(m.floors, func(f floor) bool { return f.Order == old.Order })
			at, _ = slices.BinarySearchFunc(m.floors, key, byKey)
		}
		m.floors = slices.Insert(m.floors, at, floor{Key: key})
	}
	f := &m.floors[at]
	m.told++
	f.Order = m.told
	switch {
	case o.Assumed:
		f.Raised = max(f.Raised, raised(o))
	case o.Censored:
		f.Reached, f.Raised = max(f.Reached, o.Peak), max(f.Raised, more(o.Peak, raiseReached))
	default:
		f.Peak, f.Raised = max(f.Peak, o.Peak), 0
	}
}

// checkFloors refuses what no observation leaves, and counts on.
func (m *Predictor) checkFloors() error {
	if len(m.floors) > mostFloors {
		return fmt.Errorf("%d floors, want at most %d", len(m.floors), mostFloors)
	}
	orders := make(map[uint64]bool, len(m.floors))
	for i := range m.floors {
		f := &m.floors[i]
		for _, b := range [...]profile.Bytes{f.Peak, f.Reached, f.Raised} {
			if b < 0 || b > profile.MaxCount {
				return fmt.Errorf("floor %d: %d bytes, want 0 to 1e15", i, int64(b))
			}
		}
		if i > 0 && m.floors[i-1].Key >= f.Key || orders[f.Order] || f.Order > 1<<62 {
			return fmt.Errorf("floor %d is not in order", i)
		}
		orders[f.Order] = true
		m.told = max(m.told, f.Order)
	}
	return nil
}

// floorKey hashes what a task is known by (FNV-1a, 64 bit).
func floorKey(spec *profile.Spec, known profile.Bytes) uint64 {
	h := modelKey(spec)
	mix := func(n int64) { h = (h ^ uint64(n)) * fnvPrime } //nolint:gosec // any bits do for a hash
	mix(int64(spec.Training.BatchSize))
	if spec.Training.Checkpointing {
		mix(1)
	}
	if spec.Model.Name != "" {
		return h
	}
	for i := range spec.Model.Layers {
		l := &spec.Model.Layers[i]
		mix(int64(l.Kind))
		mix(l.Params)
		mix(l.Activations)
	}
	mix(int64(spec.Traced.AfterForward.Or(-1)))
	mix(int64(spec.Traced.AfterBackward.Or(-1)))
	if known > 0 && len(spec.Model.Layers) == 0 && spec.Traced.AfterForward.IsZero() && spec.Traced.AfterBackward.IsZero() {
		mix(int64(known)) // all that tells it from others
	}
	return h
}

// errAssumed is for an observation that contradicts itself.
var errAssumed = errors.New("assumed but not censored: a peak that nobody measured is that of a task that ran out of memory")
