package memory

import (
	"errors"
	"fmt"

	"example.com/colloc/predict"
	"example.com/colloc/profile"
)

// Observation is one task whose peak device memory was seen.
type Observation struct {
	// Spec is what ran.
	Spec profile.Spec
	// Host is where it ran.
	Host predict.Host
	// Peak is the largest device memory the task's process had in use, as
	// nvidia-smi counts it: the CUDA context and the framework's cache included.
	Peak profile.Bytes
	// Censored says that the task ran out of memory: its need is at least Peak,
	// the memory that was free for it.
	Censored bool
	// Assumed says, of a task that ran out of memory, that nobody measured Peak:
	// it is what was set aside for the task. Fits do not use such rows.
	Assumed bool
	// Offer is, of an assumed death, all that its GPU offers to a task alone, in
	// bytes: a task that had less gets no more than that next. 0 is unknown.
	Offer profile.Bytes
	// Known is the peak that was measured of the task before this run, in bytes; 0 is
	// none. See [Predictor.LeastOf].
	Known profile.Bytes
	// Group names what the task is related to, for example its architecture:
	// validation keeps a group together.
	Group string
}

// check verifies one observation.
func (o *Observation) check() error {
	if err := o.Spec.Validate(); err != nil {
		return err
	}
	if o.Peak <= 0 || o.Peak > profile.MaxCount {
		return fmt.Errorf("peak is %d bytes, want 1 to 1e15", int64(o.Peak))
	}
	if o.Assumed && !o.Censored {
		return errAssumed
	}
	if o.Known < 0 || o.Known > profile.MaxCount {
		return fmt.Errorf("known peak is %d bytes, want 0 to 1e15", int64(o.Known))
	}
	if o.Offer < 0 || o.Offer > profile.MaxCount {
		return fmt.Errorf("offer is %d bytes, want 0 to 1e15", int64(o.Offer))
	}
	if c, ok := o.Host.Context.Get(); ok && (c < 0 || c > predict.MaxContext) {
		return errors.New("host context is out of range")
	}
	return nil
}
