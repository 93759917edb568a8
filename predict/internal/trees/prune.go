package trees

import "math"

// Rest holds the columns that pruned trees still ask about, at most eight.
type Rest [8]float64

// Pruned are trees in which everything is decided that depends on the leading
// columns of a row. They answer for many rows that share those.
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

// Prune decides once what depends on the leading columns alone. O(nodes).
func (p *Pruned) Prune(t *Ensemble, own []float64) {
	p.base, p.first, p.depth, p.nodes = t.Base, p.first[:0], p.depth[:0], p.nodes[:0]
	for _, root := range t.Roots {
		at := int32(len(p.nodes))
		if depth := p.keep(t, root, own); depth > 0 {
			p.first, p.depth = append(p.first, at), append(p.depth, depth)
			continue
		}
		p.base += p.nodes[at].value // nothing left to decide
		p.nodes = p.nodes[:at]
	}
}

// keep appends the subtree at a node without decisions about the leading columns
// and returns its depth.
func (p *Pruned) keep(t *Ensemble, at int32, own []float64) int {
	n := t.Nodes[at]
	for n.Feature >= 0 && int(n.Feature) < len(own) {
		if own[n.Feature] > n.Threshold {
			at = n.Right
		} else {
			at++
		}
		n = t.Nodes[at]
	}
	here := int32(len(p.nodes))
	if n.Feature < 0 {
		p.nodes = append(p.nodes, prunedNode{threshold: math.Inf(1), value: n.Threshold, left: here, right: here})
		return 0
	}
	p.nodes = append(p.nodes, prunedNode{threshold: n.Threshold, column: n.Feature - int32(len(own)), left: here + 1})
	left := p.keep(t, at+1, own)
	p.nodes[here].right = int32(len(p.nodes))
	return 1 + max(left, p.keep(t, n.Right, own))
}

// Predict sums the trees for every neighbour: dst[j] for asked[j]. Tree by tree,
// so that one stays in the cache, and every walk of the same length, so that no
// branch is guessed wrong. O(neighbours × trees × depth).
func (p *Pruned) Predict(asked []Rest, dst []float64) {
	for j := range dst {
		dst[j] = p.base
	}
	for k, first := range p.first {
		nodes, depth := p.nodes, p.depth[k]
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
