package rollout

// MaxSet is the largest set that is looked at.
const MaxSet = 4

// One is the rate of a task that does a millisecond's work in a millisecond.
const One = 1 << 20

// Any is every way to share.
const Any = -1

// Sets remembers how fast the tasks of a set are, by class of card and kind of task:
// a set is a number, and so is the set with one more. It asks about each set once.
// It is not safe for concurrent use.
type Sets struct {
	ask   Ask
	nodes []node
	known map[identity]int32
	next  table
	alone [][]int32 // by class and kind, the set of one task; 0 if nobody asked yet
	none  int32     // the set that is not allowed
}

// Ask fills rates with those of kinds together on a card of a class, in steps of
// 1/One, if they share by a mechanism, or in the best way if it is Any; it returns
// how they share. ok is false if they must not: rates then are those of tasks that
// run so all the same.
type Ask func(class int32, mech int, kinds []int32, rates []int64) (by int, ok bool)

// identity is what makes a set that set.
type identity struct {
	class, n int32
	mech     int
	kinds    [MaxSet]int32 // sorted
}

// node is a set of kinds on a class of cards.
type node struct {
	identity
	rates [MaxSet]int64
	total int64
	ok    bool
}

// NewSets returns the empty set on each class: set c is the one of class c.
func NewSets(classes int, ask Ask) *Sets {
	s := &Sets{ask: ask, known: map[identity]int32{}, next: table{keys: make([]uint64, 64), sets: make([]int32, 64)}}
	for c := range classes {
		s.nodes = append(s.nodes, node{identity: identity{class: int32(c), mech: Any}, ok: true})
	}
	s.alone, s.none = make([][]int32, classes), int32(len(s.nodes))
	s.nodes = append(s.nodes, node{})
	return s
}

// Len is how many sets are known.
func (s *Sets) Len() int { return len(s.nodes) }

// With returns a set plus one task of a kind. Who joins two or more shares as they do.
func (s *Sets) With(set, kind int32) int32 {
	if set < int32(len(s.alone)) {
		return s.onEmpty(set, kind)
	}
	key := uint64(set)<<32 | uint64(uint32(kind)) // never 0: the empty cards come first
	slot := s.next.find(key)
	if s.next.keys[slot] == key {
		return s.next.sets[slot]
	}
	to := s.none
	if n := s.nodes[set].identity; n.n < MaxSet {
		to = s.of(n.with(kind))
	}
	s.next.put(key, to)
	return to
}

// onEmpty returns one task of a kind on a card of a class, which is asked for most.
func (s *Sets) onEmpty(class, kind int32) int32 {
	row := s.alone[class]
	if kind < int32(len(row)) && row[kind] > 0 {
		return row[kind]
	}
	set := s.of(s.nodes[class].with(kind))
	for int32(len(row)) <= kind {
		row = append(row, 0)
	}
	row[kind] = set
	s.alone[class] = row
	return set
}

// with adds a member.
func (n identity) with(kind int32) identity {
	at := n.n
	for at > 0 && n.kinds[at-1] > kind {
		n.kinds[at] = n.kinds[at-1]
		at--
	}
	n.kinds[at] = kind
	if n.n++; n.n < 3 {
		n.mech = Any
	}
	return n
}

// of returns the number of a set.
func (s *Sets) of(id identity) int32 {
	if i, ok := s.known[id]; ok {
		return i
	}
	n := node{identity: id}
	n.mech, n.ok = s.ask(id.class, id.mech, id.kinds[:id.n], n.rates[:id.n])
	for _, r := range n.rates[:n.n] {
		n.total += r
		n.ok = n.ok && r > 0
	}
	i := int32(len(s.nodes))
	s.nodes = append(s.nodes, n)
	s.known[id], s.known[n.identity] = i, i // who shares in the best way shares so
	return i
}

// Running returns the set of kinds, sorted, that share a card by a mechanism.
func (s *Sets) Running(class int32, mech int, kinds []int32) int32 {
	switch len(kinds) {
	case 0:
		return class
	case 1:
		return s.With(class, kinds[0])
	}
	id := identity{class: class, mech: mech, n: int32(len(kinds))}
	copy(id.kinds[:], kinds)
	return s.of(id)
}

// OK reports whether a set is allowed.
func (s *Sets) OK(set int32) bool { return s.nodes[set].ok }

// Rates returns how fast the members of a set are, in the order of their kinds, and
// how they share. The slice belongs to s.
func (s *Sets) Rates(set int32) (rates []int64, mech int) {
	n := &s.nodes[set]
	return n.rates[:n.n], n.mech
}

// table is a hash table of sets by key; 0 is no key.
type table struct {
	keys []uint64
	sets []int32
	used int
}

// find returns the slot of a key, or the free one where it would be. At most half
// of the slots are used, so that it ends.
func (t *table) find(key uint64) int {
	mask := len(t.keys) - 1
	i := int((key*0x9e3779b97f4a7c15)>>32) & mask
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

func (t *table) put(key uint64, set int32) {
	if 2*(t.used+1) > len(t.keys) {
		old := *t
		t.keys, t.sets = make([]uint64, 2*len(old.keys)), make([]int32, 2*len(old.keys))
		for i, k := range old.keys {
			if k != 0 {
				slot := t.find(k)
				t.keys[slot], t.sets[slot] = k, old.sets[i]
			}
		}
	}
	slot := t.find(key)
	t.keys[slot], t.sets[slot] = key, set
	t.used++
}
