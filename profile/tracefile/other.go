package tracefile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// ErrOther says that a file is known, but is no log that this package reads; the
// error around it names what the file is and what to print instead.
var ErrOther = errors.New("not a log that is read")

// other names a text that people take for a log, and says what to print instead.
func other(line []byte) error {
	switch {
	case bytes.HasPrefix(line, []byte("| NVIDIA-SMI ")):
		return fmt.Errorf("%w: the table that nvidia-smi prints for people; nvidia-smi -q -x, or --query-gpu with --format=csv, says the same to programs", ErrOther)
	case bytes.HasPrefix(line, []byte("List of valid properties to query")):
		return fmt.Errorf("%w: nvidia-smi's help on what can be asked, without a value", ErrOther)
	}
	return nil
}

const maxNamedKeys = 8

// stray passes over a key that no answer of Prometheus has. It stops at the nodes
// of an execution trace, which may be long.
func (a *answer) stray(key string) error {
	if len(a.others) < maxNamedKeys {
		a.others = append(a.others, clip(key))
	}
	if key == "nodes" && a.others[0] == "schema" {
		return fmt.Errorf("%w: an execution trace of PyTorch (ExecutionTraceObserver), which tells operators but no times on the GPU; "+
			"export_chrome_trace of the profiler does", ErrOther)
	}
	return nil
}

// unlike says what a JSON object looks like that is no answer of Prometheus.
func (a *answer) unlike() error {
	if len(a.others) == 0 {
		return fmt.Errorf("an object without keys that are known: %w", ErrFormat)
	}
	return fmt.Errorf("an object with the keys %s, neither a profiler's trace (traceEvents) nor an answer of Prometheus (status, data): %w",
		strings.Join(a.others, ", "), ErrFormat)
}
