package ledger

import (
	"errors"
	"fmt"

	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// The conditions that callers of a [Ledger] tell apart with errors.Is.
var (
	// ErrConflict means that the decision rests on a snapshot that is out of
	// date. Take a new one and decide again; see [RefusedError].
	ErrConflict = errors.New("out of date")
	// ErrFull means that a limit of the GPU would be broken; see
	// [RefusedError].
	ErrFull = errors.New("does not fit")
	// ErrDuplicate means that a task is in the books already, or that an ID is
	// used twice.
	ErrDuplicate = errors.New("duplicate")
	// ErrUnknown means that the books have no GPU, task or lease of that name.
	ErrUnknown = errors.New("unknown")
	// ErrLeaseOver means that a lease holds nothing any more: it expired, was
	// rolled back, or its tasks were released.
	ErrLeaseOver = errors.New("lease is over")
	// ErrCommitted means that a lease cannot be rolled back because it was
	// committed; release its tasks.
	ErrCommitted = errors.New("committed already")
	// ErrNotCommitted means that a task cannot be released because its lease is
	// still open; roll that back or commit it.
	ErrNotCommitted = errors.New("not committed yet")
)

// RefusedError is why [Ledger.Reserve] took nothing: the first claim, in their order, that could not be met. It is [ErrFull] if a limit binds, and
// [ErrConflict] if a new snapshot would show something else than the one that
// was used.
type RefusedError struct {
	// Task and GPU are the claim's.
	Task string
	GPU  string
	// Code is the limit that binds: memory, set size, a task that must be
	// alone, or labels. 0 means that the claim would fit, but a task joined the GPU after
	// the snapshot, so that speeds were predicted without it, that the card was
	// Changed, or that the snapshot is of another [Epoch].
	Code packer.ReasonCode
	// Needed is what the claim reserves, Free what the GPU has left; known
	// where Code is [packer.MemoryLimit].
	Needed profile.Bytes
	Free   profile.Bytes
	// Other is the task that joined the GPU after the snapshot. Where none did, it is
	// the task that must be alone, or has labels that do not go together
	// with those of the claim. It is empty if none applies.
	Other string
	// Label is what the task asks for by On and the GPU does not carry.
	Label string
	// Changed says that the card itself was changed after the snapshot, or that
	// foreign processes came to it that count as a resident.
	Changed bool
	// Stale says that the GPU got fuller after the snapshot, or may have: the
	// snapshot is of another Epoch.
	Stale bool
}

// Is makes errors.Is answer for [ErrConflict] and [ErrFull].
func (e *RefusedError) Is(target error) bool {
	return target == ErrConflict && e.Stale || target == ErrFull && e.Code != 0
}

// Error says which claim was refused and what would help.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("ledger: reserve: task %q on GPU %q: ", e.Task, e.GPU)
	switch e.Code {
	case 0:
		if e.Changed {
			return text + "the card was changed, or foreign processes came to it, after the snapshot; take a new one and decide again"
		}
		if e.Other == "" {
			return text + "the snapshot is from before a restart or of another ledger; take a new one and decide again"
		}
		return text + fmt.Sprintf("task %q joined after the snapshot; take a new one and decide again", e.Other)
	case packer.MemoryLimit:
		text += fmt.Sprintf("needs %v, %v are free", e.Needed, e.Free)
	case packer.SetFull:
		text += "as many tasks share it as may"
	case packer.MustBeAlone:
		text += fmt.Sprintf("must be alone or would join a task that must (%q)", e.Other)
	case packer.Incompatible:
		text += fmt.Sprintf("its labels and those of task %q do not go together; Avoid and Only say which they bear", e.Other)
	case packer.WrongGPU:
		text += fmt.Sprintf("asks for label %q, which the GPU does not carry", e.Label)
	default:
		text += e.Code.String()
	}
	if e.Stale {
		text += "; the snapshot is out of date, take a new one and decide again"
	}
	return text
}
