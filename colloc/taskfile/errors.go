package taskfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// ErrFormat says that a file is no task file, ErrVersion that it is of a version
// which this package does not know.
var (
	ErrFormat  = errors.New("not a task file: want {\"format\": \"colloc-tasks\", \"version\": 1, \"tasks\": [...]}")
	ErrVersion = errors.New("unknown version")
)

// Error is a fault of a task file, with its place.
type Error struct {
	// File is the name that the file was read under.
	File string
	// Line is where, from 1.
	Line int
	// Task is the ID of the task that is wrong; empty if it is none or not known.
	Task string
	// Err is the fault.
	Err error
}

// Error names place, task and fault.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d: ", e.File, e.Line)
	if e.Task != "" {
		text += fmt.Sprintf("task %q: ", e.Task)
	}
	return text + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// sorted puts errors into the order of their texts.
func sorted(errs []error) []error {
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errs
}
