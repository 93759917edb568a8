package predict

import (
	"errors"
	"fmt"
	"strings"

	"example.com/colloc/profile"
)

// MaxContext bounds a host's context: beyond it the number is a mistake.
const MaxContext = 64 * profile.GiB

// Host is the machine a task runs on, as far as memory depends on it.
type Host struct {
	// Name is what people call the host or its software stack; may be empty.
	Name string `json:"name,omitempty"`
	// Context is the device memory that a bare CUDA context with the training
	// framework's libraries occupies before the first tensor. Measure it: it
	// differs by more than 1 GiB between software stacks. Missing: the value
	// fitted for the stack of the training data, with a wider interval.
	Context profile.Opt[profile.Bytes] `json:"context_bytes,omitzero"`
}

// HostFromProbe makes a Host of what one process did to a GPU's memory: before is
// what was in use without it, after with it once it holds a CUDA context and the
// libraries of the framework but no tensor that matters (in PyTorch: after
// torch.zeros(1, device="cuda") and one small convolution and its backward pass).
// Both are as nvidia-smi or NVML count them. name is what people call the
// machine, stack the version of the framework as it prints itself, for example
// torch.__version__, "2.4.1+cu121"; together they name the host, because the same
// machine costs more or less under another stack.
//
// It returns an error where the difference is no context: not positive or more
// than 64 GiB, as when another process started or ended meanwhile; and for an
// empty stack.
func HostFromProbe(name, stack string, before, after profile.Bytes) (Host, error) {
	stack = strings.TrimSpace(stack)
	if stack == "" {
		return Host{}, errors.New("predict: host from probe: the framework's version is empty: contexts differ by more than 1 GiB between versions")
	}
	if before < 0 || after <= before || after-before > MaxContext {
		return Host{}, fmt.Errorf("predict: host from probe: %v in use before and %v after: want a rise of at most %v on an otherwise idle GPU", before, after, MaxContext)
	}
	return Host{Name: strings.TrimSpace(name + " " + stack), Context: profile.Some(after - before)}, nil
}
