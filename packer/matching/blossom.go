package matching

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

// solve matches. stop is asked once for each search; it returns false if it was
// told to stop, and the matching is then not maximal.
func (b *blossom) solve(stop func() bool) bool {
	b.pairUp()
	for v := range int32(b.n) {
		if !b.isOpen(v) {
			continue
		}
		if stop() {
			return false
		}
		b.search(v)
	}
	return true
}

// isOpen reports whether v has no mate and has not reached its floor.
func (b *blossom) isOpen(v int32) bool { return b.mate[v] == none && b.y[v] > b.floor[v] }

// open counts the vertices that solve would have to search from.
func (b *blossom) open() int {
	open := 0
	for v := range int32(b.n) {
		if b.isOpen(v) {
			open++
		}
	}
	return open
}

// pairUp matches open vertices along tight edges as they come.
func (b *blossom) pairUp() {
	for v := range int32(b.n) {
		if b.isOpen(v) {
			b.matchTight(v)
		}
	}
}

// matchTight matches v along a tight edge to another single vertex, if any.
func (b *blossom) matchTight(v int32) {
	for k := b.start[v]; k < b.start[v+1]; k++ {
		u := b.to[k]
		if b.mate[u] == none && b.y[u]+b.y[v] == b.wt[k] {
			b.mate[u], b.mate[v] = v, u
			return
		}
	}
}

// search grows a tree from the unmatched vertex root until the matching can be
// improved along a path: to another unmatched vertex, or to a vertex that may
// be left at its floor instead of root. Each event joins nodes to the
// tree, makes one of several, opens one, drops out, or comes again at a later time.
// Outer vertices stay outer, and only blossoms from before the search are opened:
// O(n) of the first three. Times are whole and end where the root is at its floor.
func (b *blossom) search(root int32) {
	b.now = 0
	b.queue = b.queue[:0]
	b.makeOuter(b.top[root], arc{none, none})
	done := false
	for !done && len(b.queue) > 0 {
		e := b.queue.pop()
		b.now = e.at
		switch e.head {
		case expandEvent:
			b.maybeExpand(e.tail)
		case floorEvent:
			done = b.maybeFloor(e.tail)
		default:
			done = b.reach(arc{e.tail, e.head}, e.w)
		}
	}
	if !done {
		b.now, b.short = b.limit, true
	}
	for _, node := range b.reached {
		b.settle(node)
	}
	b.reached = b.reached[:0]
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

// reach handles an edge that may have become tight: it grows the tree, closes
// a blossom or ends the search.
func (b *blossom) reach(a arc, w int64) bool {
	from, node := b.top[a.tail], b.top[a.head]
	if from == node || b.state[from] != outer || b.state[node] == inner {
		return false
	}
	slack := b.dual(a.tail) + b.dual(a.head) - w
	if b.state[node] == outer {
		slack /= 2
	}
	switch {
	case slack > 0: // the edge lost tightness while its end was inner
		b.expect(event{b.now + slack, w, a.tail, a.head})
	case b.state[node] == outer:
		b.shrink(a)
	case b.mate[b.base[node]] == none:
		b.setBase(node, a.head)
		b.mate[a.head] = a.tail
		b.augment(a.tail, a.head)
		return true
	default:
		b.makeInner(node, a)
		tail := b.base[node]
		b.makeOuter(b.top[b.mate[tail]], arc{tail, b.mate[tail]})
	}
	return false
}

// expect queues an event unless this search ends before.
func (b *blossom) expect(e event) {
	if e.at <= b.limit {
		b.queue.push(e)
	}
}

// maybeFloor ends the search at v if v may stay single in place of the root.
func (b *blossom) maybeFloor(v int32) bool {
	if b.state[b.top[v]] != outer || b.dual(v) != b.floor[v] {
		return false
	}
	b.augment(v, none)
	return true
}

// augment exchanges matched and unmatched edges from outer vertex v to the
// root; v gets the mate given, which already points at v. Each step is two nodes
// nearer to the root.
func (b *blossom) augment(v, mate int32) {
	for {
		node := b.top[v]
		in := b.entry[node]
		b.setBase(node, v)
		b.mate[v] = mate
		if in.tail == none {
			return
		}
		node = b.top[in.tail]
		up := b.entry[node]
		b.setBase(node, up.head)
		b.mate[up.head] = up.tail
		v, mate = up.tail, up.head
	}
}

// makeOuter labels an outermost node and scans its edges.
func (b *blossom) makeOuter(node int32, entry arc) {
	b.entry[node] = entry
	b.state[node] = outer
	b.reached = append(b.reached, node)
	if node >= int32(b.n) {
		b.z[node] -= 2 * b.now
	}
	b.eachVertex(node, func(v int32) { b.y[v] += b.now })
	b.eachVertex(node, b.scan)
}

// makeInner labels an outermost node.
func (b *blossom) makeInner(node int32, entry arc) {
	b.entry[node] = entry
	b.state[node] = inner
	b.reached = append(b.reached, node)
	b.eachVertex(node, func(v int32) { b.y[v] -= b.now })
	if node >= int32(b.n) {
		b.expect(event{b.now + b.z[node]/2, 0, node, expandEvent})
		b.z[node] += 2 * b.now
	}
}

// scan queues what may happen at outer vertex v: its floor and its edges.
func (b *blossom) scan(v int32) {
	here, y := b.top[v], b.dual(v)
	b.expect(event{b.now + y - b.floor[v], 0, v, floorEvent})
	for k := b.start[v]; k < b.start[v+1]; k++ {
		u := b.to[k]
		node := b.top[u]
		if node == here || b.state[node] == inner {
			continue
		}
		slack := y + b.dual(u) - b.wt[k]
		if b.state[node] == outer {
			slack /= 2
		}
		b.expect(event{b.now + slack, b.wt[k], v, u})
	}
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
