package matching

import "slices"

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

// shrink makes one outer node of the odd cycle that edge a closes in the tree.
func (b *blossom) shrink(a arc) {
	u, v := b.top[a.tail], b.top[a.head]
	root := b.meet(u, v)
	node := b.spare[len(b.spare)-1]
	b.spare = b.spare[:len(b.spare)-1]

	kids, link := b.kids[node][:0], b.link[node][:0]
	for x := u; x != root; x = b.top[b.entry[x].tail] {
		kids = append(kids, x)
		link = append(link, b.entry[x])
	}
	kids = append(kids, root)
	slices.Reverse(kids)
	slices.Reverse(link)
	link = append(link, a)
	for x := v; x != root; x = b.top[b.entry[x].tail] {
		kids = append(kids, x)
		link = append(link, arc{b.entry[x].head, b.entry[x].tail})
	}
	b.kids[node], b.link[node] = kids, link
	b.base[node] = b.base[root]
	b.entry[node] = b.entry[root]
	b.z[node] = -2 * b.now
	b.parent[node] = none
	b.state[node] = outer
	b.reached = append(b.reached, node)
	b.adopt(node)
}

// adopt puts the kids of a new outer blossom inside it. Those that were inner
// turn outer, so their vertices are scanned.
func (b *blossom) adopt(node int32) {
	for _, kid := range b.kids[node] {
		turned := b.state[kid] == inner
		if kid >= int32(b.n) {
			if turned {
				b.z[kid] -= 2 * b.now
			} else {
				b.z[kid] += 2 * b.now
			}
		}
		b.state[kid] = unreached
		b.parent[kid] = node
		b.eachVertex(kid, func(v int32) {
			b.top[v] = node
			if turned {
				b.y[v] += 2 * b.now
				b.stack = append(b.stack, v)
			}
		})
	}
	for _, v := range b.stack {
		b.scan(v)
	}
	b.stack = b.stack[:0]
}

// meet returns the lowest common ancestor of two outer nodes of the tree. There is
// one: the ways from both go to the one root.
func (b *blossom) meet(u, v int32) int32 {
	b.step++
	for {
		if u != none {
			if b.mark[u] == b.step {
				return u
			}
			b.mark[u] = b.step
			u = b.outerAbove(u)
		}
		u, v = v, u
	}
}

// outerAbove returns the next outer node towards the root, or none.
func (b *blossom) outerAbove(node int32) int32 {
	tail := b.entry[node].tail
	if tail == none {
		return none
	}
	return b.top[b.entry[b.top[tail]].tail]
}

// maybeExpand opens an inner blossom whose dual has reached zero. The kids on
// the even way from its entry to its base stay in the tree, the others leave.
func (b *blossom) maybeExpand(node int32) {
	if b.state[node] != inner || b.parent[node] != none || b.z[node]-2*b.now != 0 {
		return
	}
	in := b.entry[node]
	kids, link := b.kids[node], b.link[node]
	for _, kid := range kids {
		b.parent[kid] = none
		b.eachVertex(kid, func(v int32) { b.top[v] = kid; b.y[v] += b.now })
	}
	b.state[node] = unreached
	b.z[node] = 0

	i := slices.Index(kids, b.top[in.head])
	step := len(kids) - 1 // one back
	if i%2 == 1 {
		step = 1
	}
	for i != 0 {
		b.makeInner(kids[i], in)
		i, in = along(kids, link, i, step)
		b.makeOuter(kids[i], in)
		i, in = along(kids, link, i, step)
	}
	b.makeInner(kids[0], in)
	for _, kid := range kids {
		if b.state[kid] == unreached {
			b.eachVertex(kid, b.rescan)
		}
	}
	b.kids[node], b.link[node] = kids[:0], link[:0]
	b.spare = append(b.spare, node)
}

// rescan queues the edges from outer vertices to v, which has left the tree.
func (b *blossom) rescan(v int32) {
	for k := b.start[v]; k < b.start[v+1]; k++ {
		if u := b.to[k]; b.state[b.top[u]] == outer {
			slack := b.dual(u) + b.y[v] - b.wt[k]
			b.expect(event{b.now + slack, b.wt[k], u, v})
		}
	}
}
