package words

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Everywhere reports whether all nodes refuse a pod, of which why counts those that do by
// what for.
func Everywhere(all int, why map[string]int) bool {
	refused := 0
	for _, n := range why {
		refused += n
	}
	return refused >= all
}

// Nodes says how many of all nodes with GPUs refuse a pod, and what for.
func Nodes(all int, why map[string]int) string {
	if all == 0 {
		return "no node has a GPU that can be used"
	}
	var parts []string
	refused := 0
	for _, name := range slices.Sorted(maps.Keys(why)) {
		parts = append(parts, fmt.Sprintf("%d %s", why[name], name))
		refused += why[name]
	}
	if len(parts) == 0 {
		return fmt.Sprintf("all %d nodes with GPUs would take it", all)
	}
	return fmt.Sprintf("%d of %d nodes with GPUs would take it: %s", all-refused, all, strings.Join(parts, ", "))
}

// Cards goes on with how many cards of other nodes are shut, and why.
func Cards(shut map[string]int) string {
	var out strings.Builder
	for _, why := range slices.Sorted(maps.Keys(shut)) {
		fmt.Fprintf(&out, "; of %d cards: %s", shut[why], why)
	}
	return out.String()
}

// Reason makes a reason of Kubernetes of the name of a code: gpus-taken is GpusTaken.
func Reason(code string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(code, "-") {
		if word != "" {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}
