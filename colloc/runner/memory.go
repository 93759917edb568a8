package runner

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"syscall"

	"example.com/colloc/profile"
)

// memoryPattern is what programs print when device memory runs out: PyTorch
// (torch.OutOfMemoryError, "CUDA out of memory"), cuBLAS, cuDNN, the CUDA
// runtime and driver, JAX and XLA (RESOURCE_EXHAUSTED), TensorFlow
// (ResourceExhaustedError, "OOM when allocating"), CuPy and RMM.
const memoryPattern = `(?:CUDA|HIP) out of memory|torch(?:\.cuda)?\.OutOfMemoryError|` +
	`CU(?:BLAS|DNN|SOLVER|SPARSE)_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|` +
	`RESOURCE_EXHAUSTED|ResourceExhaustedError|OOM when allocating|cupy\.cuda\.memory\.OutOfMemoryError|` +
	`std::bad_alloc: out_of_memory`

// outputTail is how much of the end of the output is searched.
const outputTail = 64 << 10

// nearlyFull is the share of a GPU's memory from which a failure is taken for
// lack of memory, although the output does not say so.
const nearlyFull = 0.98

// lackedMemory says why a failed run is thought to have run out of memory;
// empty if it is not. line is what its output says of it.
func (r *Runner) lackedMemory(e *entry, o *outcome, line string) string {
	c := r.card(e.GPU)
	switch {
	case o.ok() || o.lost || e.Stop != 0:
		return ""
	case line != "":
		return "its output says so: " + line
	case o.signal == int(syscall.SIGKILL) || o.exit == 128+int(syscall.SIGKILL):
		return "it was killed by signal 9, as the kernel does when the host's memory runs out"
	case c == nil || o.final:
		return ""
	}
	total, _ := c.info.Memory.Get()
	if used, ok := c.highest.Get(); ok && total > 0 && float64(used) >= float64(nearlyFull*float64(total)) {
		return "the GPU's memory was full: " + used.String() + " of " + total.String()
	}
	return ""
}

// memoryLine returns the line of the end of the output that tells lack of memory.
func (r *Runner) memoryLine(path string) string {
	tail, err := readTail(path)
	if err != nil {
		return ""
	}
	for _, pattern := range r.memoryPatterns {
		at := pattern.FindIndex(tail)
		if at == nil {
			continue
		}
		from := bytes.LastIndexAny(tail[:at[0]], "\r\n") + 1
		line := tail[from:]
		if end := bytes.IndexAny(line, "\r\n"); end >= 0 {
			line = line[:end]
		}
		const longest = 200
		return string(bytes.ToValidUTF8(line[:min(len(line), longest)], nil))
	}
	return ""
}

// readTail reads the end of a file.
func readTail(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err := file.Stat(); err == nil && info.Size() > outputTail {
		if _, err := file.Seek(-outputTail, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(file, outputTail))
}

// memoryPatterns puts the caller's patterns behind the built-in one.
func memoryPatterns(more []*regexp.Regexp) []*regexp.Regexp {
	patterns := []*regexp.Regexp{regexp.MustCompile(memoryPattern)}
	for _, p := range more {
		if p != nil {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

const (
	// raise is the factor by which a reservation grows that was too small, and
	// above what the task was seen to use.
	raise = 1.5
)

// recoverMemory decides what to do for a task that ran out of memory: reserve
// more, share in another way, run alone. It returns false when nothing is left.
func (r *Runner) recoverMemory(e *entry) bool {
	least := profile.BytesOf(raise * float64(max(e.Reserved, e.Peak.Or(0))))
	largest := r.largestUsable()
	if e.Recovery < ReservedMore && e.Reserved > 0 && least <= largest && !e.Task.Alone {
		e.Recovery, e.Raised = ReservedMore, least
		return true
	}
	if other := preferred(r.config.Mechanisms, profile.Some(e.Mechanism)); e.Recovery < OtherMechanism && !e.Task.Alone && other != profile.Exclusive && e.Mechanism != profile.Exclusive {
		e.Recovery, e.Avoid = OtherMechanism, profile.Some(e.Mechanism)
		return true
	}
	if e.Recovery < RanAlone {
		e.Recovery = RanAlone
		return true
	}
	return false
}
