package trace

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc/sim"
	"example.com/colloc/profile"
)

// Trace is what a file holds: tasks, or machines, or types of tasks.
type Trace struct {
	// Layout is the name of the layout, as in the package comment.
	Layout string
	// Tasks are in the order of the file; arrivals count from the first, in
	// colloc's own layout from 0.
	Tasks []sim.Task
	// Untimed is set where the file says when no task comes or goes, as lists of
	// pods for Inflate do: all come at 0 and stay for a century.
	Untimed bool
	// Nodes are machines.
	Nodes []sim.Node
	// Types are types of tasks, for Workload.
	Types []Type
}

// Type is a kind of task that a Workload draws from.
type Type struct {
	// Name is Task.Type: the key of measured tables.
	Name string
	// Memory is the peak of such a task; Busy and Bandwidth are as in Task.
	Memory          profile.Bytes
	Busy, Bandwidth float64
	// Profile may be nil.
	Profile *profile.Profile
}

// ErrLayout says that the first line of a file is that of no known layout.
var ErrLayout = errors.New("unknown layout")

// SyntaxError is a fault at one place of a file.
type SyntaxError struct {
	// Layout is the recognised layout.
	Layout string
	// Line and Column count from 1; Column counts bytes.
	Line, Column int
	// Why is the fault.
	Why string
}

// Error names the place and the fault.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("trace: %s: line %d, column %d: %s", e.Layout, e.Line, e.Column, e.Why)
}

// layout is one kind of file.
type layout struct {
	name string
	need []string // columns that it must have
	row  func(*row, *Trace)
}

// recognise finds the layout of a header.
func recognise(header []string, layouts []layout) (layout, error) {
	for _, l := range layouts {
		missing := slices.ContainsFunc(l.need, func(c string) bool { return !slices.Contains(header, c) })
		if !missing {
			return l, nil
		}
	}
	shown := strings.Join(header, ",")
	if len(shown) > 200 {
		shown = shown[:200] + "..."
	}
	return layout{}, fmt.Errorf("trace: header %q: %w; see the package comment for those that are read", shown, ErrLayout)
}
