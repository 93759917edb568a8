package matching

import "slices"

// none marks the absence of a vertex, node or edge.
const none = -1

// label says what part a node plays in the search under way.
type label int8

const (
	unreached label = iota
	outer           // even distance from the root: its dual falls
	inner           // odd distance: its dual rises
)

// arc is an edge with a direction: from vertex tail to vertex head.
type arc struct{ tail, head int32 }

// blossom finds a maximum-weight matching in a graph whose vertices may stay
// unmatched for a price:
//
//	max  Σ w(e)·x(e) + Σ floor(v)·(1 - x(δ(v)))
//	min  Σ y(v) + Σ z(B)·⌊|B|/2⌋
//	     y(v) + y(u) + Σ z(B: u, v ∈ B) >= w(uv),  y(v) >= floor(v),  z >= 0
//
// It is Edmonds' primal-dual algorithm, one search tree for each vertex that is
// unmatched above its floor, with events (an edge becomes tight, a blossom must
// open, a vertex reaches its floor) in a heap. It starts from any y that is
// feasible for the edges, so good duals from elsewhere save nearly all of its
// work. All numbers are integers and weights are even, which keeps every dual
// an integer. A search costs O(m log m), all of them O(n m log m).
//
// Nodes are the vertices 0..n-1 and, above, blossoms: odd sets of nodes that
// act as one vertex.
type blossom struct {
	n     int
	start []int32 // adjacency of v: arcs start[v]..start[v+1]
	to    []int32
	wt    []int64
	floor []int64

	y      []int64 // see dual
	z      []int64 // see settle; vertices have 0
	mate   []int32 // of vertices
	top    []int32 // of vertices: the outermost node around it
	parent []int32 // of nodes: the blossom that holds it, or none
	base   []int32 // of nodes: the vertex that is matched outwards
	state  []label // of outermost nodes
	entry  []arc   // of labelled nodes: the tree edge from the parent
	kids   [][]int32
	link   [][]arc // link[b][k] joins kids[b][k] to kids[b][k+1]
	spare  []int32

	limit int64 // searches end when the dual change reaches it
	short bool  // a search ended that way

	now     int64 // sum of the dual changes in this search
	queue   eventHeap
	reached []int32 // nodes labelled in this search
	stack   []int32
	mark    []int32 // of nodes: search step in which the way to the root passed
	step    int32
}

// noLimit is beyond every dual change.
const noLimit = 1 << 60

// newBlossom prepares for n vertices with the given floors. y is the start:
// feasible for all edges and not below floor; blossom keeps it.
func newBlossom(n int, floor, y []int64) *blossom {
	b := &blossom{n: n, floor: floor, y: y, limit: noLimit}
	nodes := n + n/2 + 1
	b.z = make([]int64, nodes)
	b.mate = make([]int32, n)
	b.top = make([]int32, n)
	b.parent = make([]int32, nodes)
	b.base = make([]int32, nodes)
	b.state = make([]label, nodes)
	b.entry = make([]arc, nodes)
	b.kids = make([][]int32, nodes)
	b.link = make([][]arc, nodes)
	b.mark = make([]int32, nodes)
	for v := range n {
		b.mate[v] = none
		b.top[v] = int32(v)
		b.base[v] = int32(v)
	}
	for i := range b.parent {
		b.parent[i] = none
	}
	for i := nodes - 1; i >= n; i-- {
		b.spare = append(b.spare, int32(i))
	}
	return b
}

// edge is an undirected edge with an even weight.
type edge struct {
	u, v int32
	w    int64
}

// setEdges installs the graph. O(n + m).
func (b *blossom) setEdges(edges []edge) {
	b.start = make([]int32, b.n+1)
	for _, e := range edges {
		b.start[e.u]++
		b.start[e.v]++
	}
	sum := int32(0)
	for v := range b.start {
		sum += b.start[v]
		b.start[v] = sum
	}
	b.to = make([]int32, sum)
	b.wt = make([]int64, sum)
	for _, e := range edges {
		for _, a := range [2]arc{{e.u, e.v}, {e.v, e.u}} {
			b.start[a.tail]--
			b.to[b.start[a.tail]] = a.head
			b.wt[b.start[a.tail]] = e.w
		}
	}
}

// slacken makes the edges tight that lack at most near.
func (b *blossom) slacken(near int64) {
	for v := range int32(b.n) {
		for k := b.start[v]; k < b.start[v+1]; k++ {
			if sum := b.y[v] + b.y[b.to[k]]; sum <= b.wt[k]+near {
				b.wt[k] = sum
			}
		}
	}
}

// dual returns y(v) now: duals of outer vertices are kept plus now, those of
// inner vertices minus now, so that a dual change touches nobody.
func (b *blossom) dual(v int32) int64 {
	switch b.state[b.top[v]] {
	case outer:
		return b.y[v] - b.now
	case inner:
		return b.y[v] + b.now
	default:
		return b.y[v]
	}
}

// settle ends the part of a node in the search and writes its duals out.
func (b *blossom) settle(node int32) {
	s := b.state[node]
	if s == unreached || b.parent[node] != none {
		return
	}
	b.state[node] = unreached
	sign := int64(1)
	if s == outer {
		sign = -1
	}
	b.eachVertex(node, func(v int32) { b.y[v] += sign * b.now })
	if node >= int32(b.n) {
		b.z[node] -= 2 * sign * b.now
		b.dissolve(node)
	}
}

// dissolve takes apart outermost blossoms whose dual is zero, so that they do
// not pile up.
func (b *blossom) dissolve(node int32) {
	if node < int32(b.n) || b.z[node] != 0 {
		return
	}
	for _, kid := range b.kids[node] {
		b.parent[kid] = none
		b.eachVertex(kid, func(v int32) { b.top[v] = kid })
		b.dissolve(kid)
	}
	b.spare = append(b.spare, node)
}

// eachVertex calls f for the vertices inside node, in a fixed order.
func (b *blossom) eachVertex(node int32, f func(v int32)) {
	if node < int32(b.n) {
		f(node)
		return
	}
	for _, kid := range b.kids[node] {
		b.eachVertex(kid, f)
	}
}

// setBase rearranges the matched edges inside node so that v is the vertex
// that may be matched outwards.
func (b *blossom) setBase(node, v int32) {
	if node < int32(b.n) || b.base[node] == v {
		return
	}
	kids, link := b.kids[node], b.link[node]
	i := slices.Index(kids, b.kidOf(node, v))
	b.setBase(kids[i], v)
	step := len(kids) - 1
	if i%2 == 1 {
		step = 1
	}
	for j := i; j != 0; {
		j, _ = along(kids, link, j, step)
		next, a := along(kids, link, j, step)
		b.setBase(kids[j], a.tail)
		b.setBase(kids[next], a.head)
		b.mate[a.tail], b.mate[a.head] = a.head, a.tail
		j = next
	}
	b.kids[node] = append(slices.Clone(kids[i:]), kids[:i]...)
	b.link[node] = append(slices.Clone(link[i:]), link[:i]...)
	b.base[node] = v
}

// kidOf returns the direct kid of node that contains vertex v.
func (b *blossom) kidOf(node, v int32) int32 {
	for b.parent[v] != node {
		v = b.parent[v]
	}
	return v
}

// along goes from kid i of a cycle one step on or back, and returns the edge.
func along(kids []int32, link []arc, i, step int) (int, arc) {
	j := (i + step) % len(kids)
	if step == 1 {
		return j, link[i]
	}
	return j, arc{link[j].head, link[j].tail}
}
