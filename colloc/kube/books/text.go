package books

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
)

// refusedAll reports whether every node refuses a shape.
func refusedAll(b *Books, why map[string]int) bool {
	refused, all := 0, 0
	for _, n := range why {
		refused += n
	}
	for _, n := range b.nodes {
		if len(n.cards) > 0 {
			all++
		}
	}
	return refused >= all
}

// nodesText counts the nodes that refuse a pod, by what for.
func nodesText(b *Books, why map[string]int) string {
	all := 0
	for _, n := range b.nodes {
		if len(n.cards) > 0 {
			all++
		}
	}
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

// camel makes a reason of Kubernetes of the name of a code: gpus-taken is GpusTaken.
func camel(code string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(code, "-") {
		if word != "" {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}

// readable is the text of a note with the names of pods in the place of their UIDs.
// Those of other namespaces are nobody's business.
func (b *Books) readable(e *entry, n *colloc.Note) string {
	text := n.Text
	for _, id := range []string{n.ID, n.Partner, n.Slow} {
		if id != "" {
			text = strings.ReplaceAll(text, id, b.nameFor(e, types.UID(id)))
		}
	}
	return text
}

// nameFor is how a pod is called towards another.
func (b *Books) nameFor(e *entry, uid types.UID) string {
	other := b.tasks[uid]
	switch {
	case other == e:
		return "it"
	case other == nil || other.pod.Namespace != e.pod.Namespace:
		return "a pod of another namespace"
	default:
		return "pod " + other.pod.Name
	}
}
