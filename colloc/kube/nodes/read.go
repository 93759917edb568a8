package nodes

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Cards returns the cards of a node in the order of their places. Slices of other
// nodes, drivers and old generations of a pool do not count; where none is left the
// labels do. notes say what is there and cannot be used, and why.
func (r *Reader) Cards(node *corev1.Node, all []*resourcev1.ResourceSlice) (cards []Card, notes []string) {
	if own := current(node.Name, all); len(own) > 0 {
		cards, notes = r.fromSlices(node, own)
	} else {
		cards, notes = r.fromLabels(node)
	}
	for i := range cards {
		cards[i].Limits = limits(node.Labels)
	}
	return cards, notes
}

// current are the slices of a node's GPUs, of the newest generation of each pool.
func current(node string, all []*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
	newest := map[string]int64{}
	for _, s := range all {
		if mine(s, node) {
			newest[s.Spec.Pool.Name] = max(newest[s.Spec.Pool.Name], s.Spec.Pool.Generation)
		}
	}
	var own []*resourcev1.ResourceSlice
	for _, s := range all {
		if mine(s, node) && s.Spec.Pool.Generation == newest[s.Spec.Pool.Name] {
			own = append(own, s)
		}
	}
	slices.SortFunc(own, func(a, b *resourcev1.ResourceSlice) int { return cmp.Compare(a.Name, b.Name) })
	return own
}

func mine(s *resourcev1.ResourceSlice, node string) bool {
	return s.Spec.Driver == Driver && s.Spec.NodeName != nil && *s.Spec.NodeName == node
}
