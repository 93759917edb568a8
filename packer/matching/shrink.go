package matching

import (
	"slices"
)

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

// along goes from kid i of a cycle one step on or back, and returns the edge.
func along(kids []int32, link []arc, i, step int) (int, arc) {
	j := (i + step) % len(kids)
	if step == 1 {
		return j, link[i]
	}
	return j, arc{link[j].head, link[j].tail}
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
