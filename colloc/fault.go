package colloc

import (
	"fmt"
	"strings"
	"unicode"
)

// FaultError is one fault of a task, of a GPU or of a resident: what cannot be
// understood, or what can never be. Several come joined; [Faults] lists them, so
// that a scheduler can leave out the one bad task of a round.
type FaultError struct {
	// Task is the ID of the task, GPU that of the card: a fault of a resident has
	// both, one of the card itself no Task. Either may be what is at fault.
	Task, GPU string
	// TaskIndex is the place of the task among those given to Plan, or among the
	// GPU's residents; GPUIndex that of the GPU. -1 is none: no such thing, or a
	// call that was given one of them.
	TaskIndex, GPUIndex int
	// Field is the field at fault.
	Field string
	// Err says what is wrong with it and what is wanted.
	Err error

	onGPU bool // of a GPU or one of its residents
}

// Error names the task or GPU, the field, and what is wanted.
func (e *FaultError) Error() string {
	var b strings.Builder
	b.WriteString("colloc: ")
	switch {
	case !e.onGPU:
		name(&b, "task", e.TaskIndex, e.Task)
	case e.TaskIndex < 0:
		name(&b, "GPU", e.GPUIndex, e.GPU)
	default:
		name(&b, "GPU", e.GPUIndex, e.GPU)
		name(&b, "resident", e.TaskIndex, e.Task)
	}
	fmt.Fprintf(&b, "%s %v", e.Field, e.Err)
	return b.String()
}

func name(b *strings.Builder, what string, index int, id string) {
	b.WriteString(what)
	if index >= 0 {
		fmt.Fprintf(b, " %d", index)
	}
	fmt.Fprintf(b, " %q: ", id)
}

// Unwrap returns Err.
func (e *FaultError) Unwrap() error { return e.Err }

// Faults lists every [FaultError] in an error of this package, however it was
// joined or wrapped, in their order.
func Faults(err error) []*FaultError {
	var list []*FaultError
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case nil:
	case *FaultError:
		list = append(list, e)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			list = append(list, Faults(one)...)
		}
	case interface{ Unwrap() error }:
		list = Faults(e.Unwrap())
	}
	return list
}

// place is where a task or a GPU stands in a call.
type place struct {
	gpu             string // of a GPU or its resident
	onGPU           bool
	gpuIndex, index int
}

// nowhere is for calls that are given one task or GPU.
//
//nolint:gochecknoglobals // read-only
var nowhere = place{gpuIndex: -1, index: -1}

// fault makes the error of one field; task is "" for that of a GPU.
func (at place) fault(task, field string, err error) *FaultError {
	return &FaultError{Task: task, GPU: at.gpu, TaskIndex: at.index, GPUIndex: at.gpuIndex, Field: field, Err: err, onGPU: at.onGPU}
}

// checkID reports why an ID is none, or "".
func checkID(id string) string {
	if id == "" {
		return "is empty, want a name"
	}
	plain := true // nearly all are, and this takes a tenth of the time
	for i := range len(id) {
		plain = plain && id[i] >= ' ' && id[i] < 0x7f
	}
	switch {
	case plain:
	case strings.ContainsFunc(id, unicode.IsControl):
		return "holds a control character, want a name that can be printed"
	}
	return ""
}
