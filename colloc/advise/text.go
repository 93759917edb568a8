package advise

import (
	"fmt"
	"strings"
)

// String explains the diagnosis to people, one line per finding, remedy and
// warning.
func (d Diagnosis) String() string {
	var b strings.Builder
	if d.Bottleneck == 0 {
		b.WriteString("no bottleneck found\n")
	}
	for i, f := range d.Findings {
		word := "also"
		if i == 0 {
			word = "bottleneck"
		}
		var shown []string
		for _, e := range f.Evidence {
			shown = append(shown, e.String())
		}
		fmt.Fprintf(&b, "%s: %v (%s)\n", word, f.Bottleneck, strings.Join(shown, ", "))
	}
	for i, r := range d.Remedies {
		fmt.Fprintf(&b, "%d. %v\n", i+1, r)
	}
	for _, w := range d.Warnings {
		fmt.Fprintf(&b, "unknown: %s\n", w)
	}
	return b.String()
}
