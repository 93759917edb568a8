package enum

import (
	"fmt"
	"strings"
)

// Names are the names of the values from 0 on.
type Names struct {
	of, kind string
	names    []string
}

// Of returns the names of a kind of values, which comes after its package, such as "ledger: discrepancy".
func Of(kind string, names ...string) Names {
	of, kind, _ := strings.Cut(kind, ": ")
	return Names{of, kind, names}
}

// Len is how many there are.
func (n Names) Len() int { return len(n.names) }

// Text returns the name of value i, or "kind(i)" if it has none.
func (n Names) Text(i int) string {
	if i < 0 || i >= len(n.names) {
		return fmt.Sprintf("%s(%d)", n.kind, i)
	}
	return n.names[i]
}

// Marshal is MarshalText of a value: one without a name is refused, so that nothing is written that
// cannot be read back.
func (n Names) Marshal(i int) ([]byte, error) {
	if i < 0 || i >= len(n.names) {
		return nil, fmt.Errorf("%s: %s %d has no name", n.of, n.kind, i)
	}
	return []byte(n.names[i]), nil
}

// Parse is UnmarshalText: it sets the value of a name, ignoring case. The error lists what is known, and leaves
// the value as it is.
func Parse[T ~int | ~uint8](n Names, text []byte, to *T) error {
	for i, name := range n.names {
		if strings.EqualFold(name, strings.TrimSpace(string(text))) {
			*to = T(i)
			return nil
		}
	}
	return fmt.Errorf("%s: unknown %s %.100q; known are %s", n.of, n.kind, text, strings.Join(n.names, ", "))
}
