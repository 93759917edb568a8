package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"example.com/colloc/colloc/sim"
)

// layouts in the order in which they are tried: no header has all columns of two.
func layouts() []layout {
	return []layout{
		{"carma", []string{"task", "arrival_s", "job", "gpus", "exclusive_duration_s", "peak_mem_mib"}, carmaRow},
		{"muri", []string{"num_gpu", "submit_time", "iterations", "model_name", "iteration_time", "resource_time_0", "resource_time_1", "resource_time_2"}, muriRow},
		{"openb", []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, openbPodRow},
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

// errEmpty says that there is nothing to read.
var errEmpty = errors.New("empty file: want a header line or JSON lines")

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
			return 0, errEmpty
		}
		return 0, err
	}
	return b[0], nil
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
