package runner

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"example.com/colloc/colloc/runner/internal/supervise"
	"example.com/colloc/profile"
)

// memoryPattern is what programs print when device memory runs out: PyTorch
// (torch.OutOfMemoryError, "CUDA out of memory", "CUDA error: out of memory"),
// cuBLAS, cuDNN, NCCL, the CUDA runtime and driver, JAX and XLA
// (RESOURCE_EXHAUSTED, which gRPC says too, of other things), TensorFlow
// (ResourceExhaustedError, "OOM when allocating"), llama.cpp, CuPy and RMM.
const memoryPattern = `(?:CUDA|HIP)(?: error:)? out of memory|torch(?:\.cuda)?\.OutOfMemoryError|` +
	`CU(?:BLAS|DNN|SOLVER|SPARSE)_STATUS_ALLOC_FAILED|CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED|` +
	`CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|cudaMalloc failed: out of memory|Cuda failure [^\n]{0,8}'out of memory'|` +
	`RESOURCE_EXHAUSTED\b[^\n]{0,100}(?i:out of memory|allocat)|ResourceExhaustedError|OOM when allocating|` +
	`cupy\.cuda\.memory\.OutOfMemoryError|std::bad_alloc: out_of_memory`

// vaguePattern is what programs print for any failure of CUDA, lack of memory
// among them. It counts if the GPU's memory was full.
const vaguePattern = `CU(?:BLAS|DNN|SOLVER|SPARSE)_STATUS_|CUDA(?:_ERROR_| error)|cudaError|NCCL.* error`

// outputTail is how much of the end of the output is searched.
const outputTail = 64 << 10

// nearlyFull is the share of a GPU's memory from which a death by signal, or a
// failure of CUDA, is taken for lack of memory.
const nearlyFull = 0.98

// lackedMemory says why a failed run is thought to have run out of the GPU's
// memory; empty if it is not. line is what its output says of it, vague that it
// may mean something else. For want of that memory nobody is killed.
func (r *Runner) lackedMemory(e *entry, o *supervise.Outcome, line string, vague bool) string {
	switch {
	case o.OK() || o.Lost || o.Final || e.Stop != 0:
		return ""
	case line != "" && !vague:
		return "its output says so: " + line
	case o.Killed() || line == "" && o.Signal == 0:
		return ""
	}
	c := r.card(e.GPU)
	if c == nil {
		return ""
	}
	used, total := c.highest.Or(0), c.info.Memory.Or(0)
	if total <= 0 || float64(used) < float64(nearlyFull*float64(total)) {
		return ""
	}
	return fmt.Sprintf("the GPU's memory was full, %v of %v: %s", used, total, cmp.Or(line, o.String()))
}

// hostLacked reports whether a run was killed while the kernel killed for want of
// the host's memory.
func (r *Runner) hostLacked(e *entry, o *supervise.Outcome) bool {
	before, ok1 := e.victims.Get()
	now, ok2 := victims(r.config.vmstat).Get()
	return o.Killed() && ok1 && ok2 && now > before
}

// victims is how many processes the kernel has killed for want of memory since the
// host started, from /proc/vmstat; missing where that does not tell.
func victims(vmstat string) profile.Opt[int64] {
	text, err := os.ReadFile(vmstat)
	if err != nil {
		return profile.Opt[int64]{}
	}
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(count), 10, 64); err == nil {
				return profile.Some(n)
			}
		}
	}
	return profile.Opt[int64]{}
}

// memoryLine returns the line of the end of the output that tells lack of
// memory; vague says that it may mean something else.
func (r *Runner) memoryLine(path string) (line string, vague bool) {
	tail, err := readTail(path)
	if err != nil {
		return "", false
	}
	for i, pattern := range r.memoryPatterns {
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
		return string(bytes.ToValidUTF8(line[:min(len(line), longest)], nil)), i == len(r.memoryPatterns)-1
	}
	return "", false
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

// memoryPatterns puts the caller's patterns between the built-in ones.
func memoryPatterns(more []*regexp.Regexp) []*regexp.Regexp {
	patterns := []*regexp.Regexp{regexp.MustCompile(memoryPattern)}
	for _, p := range more {
		if p != nil {
			patterns = append(patterns, p)
		}
	}
	return append(patterns, regexp.MustCompile(vaguePattern))
}

// raise is the factor by which a reservation grows that was too small.
const raise = 1.5

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
