package enum

import (
	"fmt"
	"strings"
)

// Text returns the name of value i in names, or "kind(i)" out of range.
func Text(kind string, names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, i)
	}
	return names[i]
}

// Parse finds text among names, ignoring case.
func Parse(kind string, names []string, text string) (int, error) {
	for i, n := range names {
		if strings.EqualFold(n, strings.TrimSpace(text)) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("profile: unknown %s %q; known are %s", kind, text, strings.Join(names, ", "))
}

// Marshal is MarshalText for an enumeration: values without a name are
// refused, so that nothing is written that cannot be read back.
func Marshal(kind string, names []string, i int) ([]byte, error) {
	if i < 0 || i >= len(names) {
		return nil, fmt.Errorf("profile: %s %d has no name", kind, i)
	}
	return []byte(names[i]), nil
}
