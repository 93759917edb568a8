package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/colloc/colloc/sim"
)

// Trace is what a file holds: tasks, or machines, or types of tasks.
type Trace struct {
	// Layout is the name of the layout, as in the package comment.
	Layout string
	// Tasks are in the order of the file; arrivals count from the first, in
	// colloc's own layout from 0.
	Tasks []sim.Task
	// Nodes are machines.
	Nodes []sim.Node
	// Types are types of tasks, for Workload.
	Types []Type
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

// layouts in the order in which they are tried: no header has all columns of two.
func layouts() []layout {
	return []layout{
		{"carma", []string{"task", "arrival_s", "job", "gpus", "exclusive_duration_s", "peak_mem_mib"}, carmaRow},
		{"muri", []string{"num_gpu", "submit_time", "iterations", "model_name", "iteration_time", "resource_time_0", "resource_time_1", "resource_time_2"}, muriRow},
		{"openb", []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time"}, openbPodRow},
		{"openb", []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, openbNodeRow},
		{"gavel", []string{"gpu", "job_id", "model", "solo_sim_steps_per_s"}, gavelRow},
		{"philly", []string{"jobid", "status", "vc", "submitted_time", "start_time", "end_time", "gpus"}, phillyRow},
		{"helios", []string{"job_id", "gpu_num", "state", "submit_time", "duration"}, heliosRow},
	}
}

// Read reads a trace of any known layout. It returns an error that wraps
// [ErrLayout] for an unknown one, and a [SyntaxError] for what is malformed.
func Read(r io.Reader) (*Trace, error) {
	buffered := bufio.NewReader(r)
	start, err := firstByte(buffered)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if start == '{' {
		return readJSONLines(buffered)
	}
	t, err := newTableOf(buffered, layouts())
	if err != nil {
		return nil, err
	}
	tr, err := t.read()
	if err != nil {
		return nil, err
	}
	rebase(tr.Tasks)
	return tr, nil
}

// firstByte looks at the first byte that is no white space or byte-order mark.
func firstByte(r *bufio.Reader) (byte, error) {
	if mark, err := r.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		if _, err := r.Discard(3); err != nil {
			return 0, err
		}
	}
	b, err := r.Peek(1)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return 0, errors.New("empty file: want a header line or JSON lines")
		}
		return 0, err
	}
	return b[0], nil
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

// rebase lets arrivals count from the first.
func rebase(tasks []sim.Task) {
	if len(tasks) == 0 {
		return
	}
	first := tasks[0].Arrival
	for i := range tasks {
		first = min(first, tasks[i].Arrival)
	}
	for i := range tasks {
		tasks[i].Arrival -= first
	}
}
