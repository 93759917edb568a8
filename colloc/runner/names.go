package runner

import (
	"fmt"
	"slices"
)

// The names of enumerations, in the order of their constants.
//
//nolint:gochecknoglobals // read-only tables
var (
	stateNames    = []string{"queued", "starting", "running", "succeeded", "failed", "cancelled"}
	recoveryNames = []string{"none", "reserve more", "another mechanism", "alone"}
	eventNames    = []string{
		"queued", "started", "adopted", "progress", "recovering", "retry", "finished", "lost", "halted", "warning",
	}
)

// name returns the name of a constant.
func name(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("undefined (%d)", i)
	}
	return names[i]
}

// text returns the name of a constant, or an error if it has none.
func text(names []string, i int) ([]byte, error) {
	if i < 0 || i >= len(names) {
		return nil, fmt.Errorf("runner: %d has no name", i)
	}
	return []byte(names[i]), nil
}

// parse finds the constant of a name.
func parse[T ~int](names []string, name []byte, to *T) error {
	i := slices.Index(names, string(name))
	if i < 0 {
		return fmt.Errorf("runner: unknown name %q, want one of %q", name, names)
	}
	*to = T(i)
	return nil
}

// String returns the name of the state, such as "queued".
func (s State) String() string { return name(stateNames, int(s)) }

// MarshalText writes what String returns; an undefined state is an error.
func (s State) MarshalText() ([]byte, error) { return text(stateNames, int(s)) }

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(name []byte) error { return parse(stateNames, name, s) }

// String returns what is done, such as "reserve more".
func (r Recovery) String() string { return name(recoveryNames, int(r)) }

// MarshalText writes what String returns; an undefined step is an error.
func (r Recovery) MarshalText() ([]byte, error) { return text(recoveryNames, int(r)) }

// UnmarshalText reads what MarshalText writes.
func (r *Recovery) UnmarshalText(name []byte) error { return parse(recoveryNames, name, r) }

// String returns the name of the kind, such as "started".
func (k EventKind) String() string { return name(eventNames, int(k)) }

// MarshalText writes what String returns; an undefined kind is an error.
func (k EventKind) MarshalText() ([]byte, error) { return text(eventNames, int(k)) }

// UnmarshalText reads what MarshalText writes.
func (k *EventKind) UnmarshalText(name []byte) error { return parse(eventNames, name, k) }
