package oom

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"example.com/colloc/colloc/runner/internal/progress"
	"example.com/colloc/profile"
)

const (
	lacked = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory.\n"
	key    = "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    d['x']\nKeyError: 'x'\n"
)

// steps reads lines as "step 7".
func steps(t *testing.T) func([]byte) (int64, bool) {
	t.Helper()
	p, err := progress.Compile(`step (?P<step>\d+)`)
	if err != nil {
		t.Fatal(err)
	}
	return p.Step
}

func TestLine(t *testing.T) {
	tests := []struct {
		name, output, want string
		vague              bool
	}{
		{"PyTorch", "step 1\nRuntimeError: CUDA out of memory. Tried\n", "RuntimeError: CUDA out of memory. Tried", false},
		{"PyTorch 2.5", "torch.OutOfMemoryError: no", "torch.OutOfMemoryError: no", false},
		{"older PyTorch", "torch.cuda.OutOfMemoryError: no", "torch.cuda.OutOfMemoryError: no", false},
		{"cuBLAS", "a\rCUBLAS_STATUS_ALLOC_FAILED\rb", "CUBLAS_STATUS_ALLOC_FAILED", false},
		{"CUDA runtime", "cudaErrorMemoryAllocation", "cudaErrorMemoryAllocation", false},
		{"TensorFlow", "x ResourceExhaustedError: OOM when allocating tensor", "x ResourceExhaustedError: OOM when allocating tensor", false},
		{"PyTorch without a context", "RuntimeError: CUDA error: out of memory", "RuntimeError: CUDA error: out of memory", false},
		{"NCCL", "NCCL WARN Cuda failure 2 'out of memory'", "NCCL WARN Cuda failure 2 'out of memory'", false},
		{"llama.cpp", "ggml_backend_cuda: cudaMalloc failed: out of memory", "ggml_backend_cuda: cudaMalloc failed: out of memory", false},
		{"gRPC", "StatusCode.RESOURCE_EXHAUSTED: quota exceeded", "", false},
		{"the host's memory", "DefaultCPUAllocator: can't allocate memory", "", false},
		{"XLA", "RESOURCE_EXHAUSTED: Failed to allocate request for 2.0GiB", "RESOURCE_EXHAUSTED: Failed to allocate request for 2.0GiB", false},
		{"JAX", "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory", "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory", false},
		{"any failure of CUDA", "RuntimeError: CUDA error: unspecified launch failure", "RuntimeError: CUDA error: unspecified launch failure", true},
		{"something else", "ValueError: out of range", "", false},
		{"red", "RuntimeError: \x1b[31mCUDA out of memory\x1b[2J", "RuntimeError: CUDA out of memory", false},
		{"survived by a step", "step 1\nWARNING: CUDA out of memory at batch 512, retrying with 256\nstep 2\n" + key, "", false},
		{"survived before another exception", "WARNING: CUDA out of memory at batch 512, retrying with 256\n" + key, "", false},
		{"a bar that is closed", " step 7\r" + lacked + " step 7\n", "torch.OutOfMemoryError: CUDA out of memory.", false},
		{"a launcher's exception", lacked + strings.ReplaceAll(key, "KeyError: 'x'", "ChildFailedError:"), "torch.OutOfMemoryError: CUDA out of memory.", false},
		{"of one of several processes", "[rank0]: " + strings.ReplaceAll(strings.TrimSpace(lacked), "\n", "\n[rank0]: ") + "\nstep 8\n", "[rank0]: torch.OutOfMemoryError: CUDA out of memory.", false},
		{"another exception of the same", "WARNING: CUDA out of memory, retrying\n" + lacked, "torch.OutOfMemoryError: CUDA out of memory.", false},
		{"survived with its trace", lacked + "step 9\nstep 10\n" + key, "", false},
		{"survived before a trace that is cut", "WARNING: CUDA out of memory\n" + key[:len(key)/2], "", false},
		{"at the end of much", strings.Repeat("x\n", outputTail) + lacked, "torch.OutOfMemoryError: CUDA out of memory.", false},
		{"long ago", "CUDA out of memory\n" + strings.Repeat("x", outputTail), "", false},
	}
	open := filesOpen(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(test.output), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, vague := Line(path, steps(t)); got != test.want || vague != test.vague {
				t.Errorf("got %q, %v, want %q, %v", got, vague, test.want, test.vague)
			}
		})
	}
	if now := filesOpen(t); now > open {
		t.Errorf("%d files are open, and %d were", now, open)
	}
	if line, _ := Line(filepath.Join(t.TempDir(), "none"), steps(t)); line != "" {
		t.Errorf("of no output there is %q", line)
	}
}

// filesOpen is how many files this process has open; collecting garbage, which could
// close some, ends with the test.
func filesOpen(t *testing.T) int {
	t.Helper()
	before := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	names, _ := os.ReadDir("/proc/self/fd") // Linux has it
	return len(names)
}

// TestVictims reads what kernels say, and what is no such file.
func TestVictims(t *testing.T) {
	for text, want := range map[string]profile.Opt[int64]{
		"nr_free_pages 7\noom_kill 12\nx 3\n": profile.Some[int64](12),
		"oom_kill 0\n":                        profile.Some[int64](0),
		"nr_free_pages 7\n":                   {}, // before Linux 4.13
		"oom_kill many\n":                     {},
	} {
		path := filepath.Join(t.TempDir(), "vmstat")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Victims(path); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := Victims(filepath.Join(t.TempDir(), "none")); !got.IsZero() {
		t.Errorf("no file: %v", got)
	}
}

// survivedSlow is what survived says, with a look at all lines for each.
func survivedSlow(lines [][]byte, at int, step func([]byte) (int64, bool)) bool {
	inTrace := false
	for _, line := range slices.Backward(lines[:at]) {
		if inTrace = traceback(line); inTrace || !bytes.HasPrefix(unranked(line), []byte(" ")) {
			break
		}
	}
	if inTrace && bytes.HasPrefix(lines[at], []byte("[rank")) {
		return false
	}
	before := int64(0)
	for _, line := range lines[:at] {
		if n, ok := step(line); ok {
			before = n
		}
	}
	for _, line := range lines[at+1:] {
		if n, ok := step(line); ok && n != before {
			return true
		}
	}
	return !inTrace && slices.ContainsFunc(lines[at+1:], traceback)
}

// TestSurvived compares both, of outputs that are drawn from lines that count.
func TestSurvived(t *testing.T) {
	step := steps(t)
	words := []string{
		"step 0", "step 1", "step 2", "CUDA out of memory", "[rank0]: CUDA out of memory", "x", " indented", "[rank0]:  indented",
		"Traceback (most recent call last):", "[rank0]: Traceback (most recent call last):", "step 9223372036854775807", "step 9223372036854775808",
	}
	draw := rand.New(rand.NewPCG(47, 1))
	ended := 0
	for range 20_000 {
		lines := make([][]byte, 1+draw.IntN(12))
		for i := range lines {
			lines[i] = []byte(words[draw.IntN(len(words))])
		}
		told := surroundings(lines, step)
		for at := range lines {
			want := survivedSlow(lines, at, step)
			if got := told[at].survived(lines[at]); got != want {
				t.Fatalf("%q: survived line %d is %v, want %v", lines, at, got, want)
			}
			if !want {
				ended++
			}
		}
	}
	if ended < 20_000 {
		t.Errorf("%d lines were the last", ended)
	}
}

// TestOnce: a user's pattern may be slow, so that it is asked once for each line, however many tell of memory.
func TestOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const lines = 3000
	if err := os.WriteFile(path, []byte(strings.Repeat("CUDA error\n", lines)+"step 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked, step := 0, steps(t)
	line, _ := Line(path, func(text []byte) (int64, bool) {
		asked++
		return step(text)
	})
	if line != "" || asked != lines+1 {
		t.Errorf("%q; asked %d times for %d lines", line, asked, lines+1)
	}
}
