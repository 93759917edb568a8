package predict

import "example.com/colloc/profile"

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
