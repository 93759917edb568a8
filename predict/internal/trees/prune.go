package trees

import "math"

// Rest holds the columns that pruned trees still ask about, at most eight.
type Rest [8]float64

// Pruned are trees in which everything is decided that depends on some columns of a
// row. They answer for many rows that share those.
type Pruned struct {
	base  float64
	first []int32 // node of each tree
	depth []int   // steps from there to any leaf, at most
	nodes []prunedNode
}

// prunedNode is a decision, or a leaf that leads to itself.
type prunedNode struct {
	threshold   float64
	value       float64 // of a leaf
	column      int32
	left, right int32
}

// Prune decides once what depends on the columns of known alone, which stand in a row
// from column at on: first, or after all of the rest. O(nodes).
func (p *Pruned) Prune(t *Ensemble, known []float64, at int) {
	p.base, p.first, p.depth, p.nodes = t.Base, p.first[:0], p.depth[:0], p.nodes[:0]
	for _, root := range t.Roots {
		p.first = append(p.first, int32(len(p.nodes)))
		p.depth = append(p.depth, p.keep(t, root, known, at))
	}
}

// keep appends the subtree at a node without decisions about what is known and returns
// its depth.
func (p *Pruned) keep(t *Ensemble, node int32, known []float64, at int) int {
	n := &t.Nodes[node]
	for k := int(n.Feature) - at; n.Feature >= 0 && k >= 0 && k < len(known); k = int(n.Feature) - at {
		if known[k] > n.Threshold {
			node = n.Right
		} else {
			node++
		}
		n = &t.Nodes[node]
	}
	here := int32(len(p.nodes))
	if n.Feature < 0 {
		p.nodes = append(p.nodes, prunedNode{threshold: math.Inf(1), value: n.Threshold, left: here, right: here})
		return 0
	}
	column := n.Feature
	if at == 0 {
		column -= int32(len(known))
	}
	p.nodes = append(p.nodes, prunedNode{threshold: n.Threshold, column: column, left: here + 1})
	left := p.keep(t, node+1, known, at)
	p.nodes[here].right = int32(len(p.nodes))
	return 1 + max(left, p.keep(t, n.Right, known, at))
}

// Predict sums the trees for every neighbour: dst[j] for asked[j], the bits that
// [Ensemble.Predict] gives. Tree by tree, so that one stays in the cache, and every walk
// of the same length, so that no branch is guessed wrong. O(neighbours × trees × depth).
func (p *Pruned) Predict(asked []Rest, dst []float64) {
	for j := range dst {
		dst[j] = p.base
	}
	for k, first := range p.first {
		nodes, depth := p.nodes, p.depth[k]
		if depth == 0 {
			value := nodes[first].value
			for j := range dst {
				dst[j] += value
			}
			continue
		}
		for j := range asked {
			x := &asked[j]
			n := &nodes[first]
			for range depth {
				next, right := n.left, n.right
				if x[n.column&7] > n.threshold {
					next = right
				}
				n = &nodes[next]
			}
			dst[j] += n.value
		}
	}
}
