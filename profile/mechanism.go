package profile

// Mechanism is how the tasks of a set share one GPU. The zero value is Exclusive.
// Where colloc asks how several tasks are to share, Exclusive makes no sense and
// the zero value stands for TimeSlice, which needs no set-up. In a measurement of
// several tasks nothing stands for anything: there Exclusive is an error.
type Mechanism int

// The sharing mechanisms of NVIDIA GPUs.
const (
	// Exclusive runs one task alone.
	Exclusive Mechanism = iota
	// TimeSlice is what CUDA does when processes share a GPU without any
	// set-up: contexts take turns, memory is not fenced.
	TimeSlice
	// MPS runs kernels of several processes at the same time through the
	// Multi-Process Service; a thread percentage caps each client.
	MPS
	// MIG cuts the GPU into instances with their own SMs, cache and memory.
	MIG

	// Mechanisms is the number of mechanisms.
	Mechanisms int = iota
)

//nolint:gochecknoglobals // read-only name table of the enumeration
var mechanismNames = []string{"exclusive", "time-slicing", "mps", "mig"}

// String returns "exclusive", "time-slicing", "mps" or "mig".
func (m Mechanism) String() string { return enumText("mechanism", mechanismNames, int(m)) }

// ParseMechanism reads what String writes, ignoring case.
func ParseMechanism(s string) (Mechanism, error) {
	i, err := parseEnum("mechanism", mechanismNames, s)
	return Mechanism(i), err
}

// MarshalText writes what String returns; an undefined mechanism is an error.
func (m Mechanism) MarshalText() ([]byte, error) {
	return marshalEnum("mechanism", mechanismNames, int(m))
}

// UnmarshalText reads what MarshalText writes.
func (m *Mechanism) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMechanism(string(text))
	return err
}
