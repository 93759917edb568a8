package predict

import "example.com/colloc/profile"

// MemoryObservation is one task whose peak device memory was seen.
type MemoryObservation struct {
	// Spec is what ran.
	Spec profile.Spec
	// Host is where it ran.
	Host Host
	// Peak is the largest device memory the task's process had in use, as
	// nvidia-smi counts it: the CUDA context and the framework's cache included.
	Peak profile.Bytes
	// Censored says that the task ran out of memory: its need is at least Peak,
	// the memory that was free for it.
	Censored bool
	// Group names what the task is related to, for example its architecture:
	// validation keeps a group together.
	Group string
}
