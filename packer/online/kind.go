package online

import (
	"math"
	"math/bits"
	"slices"

	"example.com/colloc/packer"
)

const (
	// maxRowCells bounds the memory of all rows: 64 MiB.
	maxRowCells = 1 << 22
	// maxIdleKinds is how many kinds are remembered at least before those without
	// tasks are forgotten.
	maxIdleKinds = 1024
)

// kindOf returns the kind of t, which has one live job more.
func (s *Session) kindOf(t *packer.Task) *kind {
	key := kindKey{t.Kind, t.EffectiveWeight()}
	if t.Kind == "" {
		return s.newKind(key, t)
	}
	k := s.kinds[key]
	if k != nil && !k.like.Alike(t) {
		return s.newKind(key, t) // a broken promise costs time and nothing else
	}
	if k == nil {
		if len(s.kinds) >= maxIdleKinds || (len(s.kinds)+1)*len(s.cards) > maxRowCells {
			s.forget()
		}
		k = s.newKind(key, t)
		k.like = *t
		if (len(s.kinds)+1)*len(s.cards) <= maxRowCells {
			k.row = make([]cell, len(s.cards))
			s.kinds[key] = k
		}
		return k
	}
	k.live++
	return k
}

// newKind returns a kind with one live job. What such tasks add to a GPU counts in
// steps of 2^-20 of their weight, times the highest pace on a GPU that is there now,
// rounded up to a power of two: as a plan counts.
func (s *Session) newKind(key kindKey, t *packer.Task) *kind {
	var k *kind
	if n := len(s.spareKinds); n > 0 {
		k, s.spareKinds = s.spareKinds[n-1], s.spareKinds[:n-1]
		*k = kind{solo: k.solo[:0]}
	} else {
		k = &kind{}
	}
	k.key, k.live, k.scale = key, 1, 1
	k.solo = append(k.solo, make([]solo, len(s.classes))...)
	if !s.paced || len(s.classes) == 0 {
		return k
	}
	top := 0.0
	for c := range s.classes {
		if pace, err := s.pace(k, c, t); err == nil { // where the pace is needed the error comes again
			top = max(top, pace)
		}
	}
	if frac, exp := math.Frexp(top); top > 0 && frac == 0.5 {
		k.scale = top
	} else if top > 0 {
		k.scale = math.Ldexp(1, exp)
	}
	return k
}

// pace returns the pace on class c of t, which is of kind k.
func (s *Session) pace(k *kind, c int, t *packer.Task) (float64, error) {
	if !s.paced {
		return 1, nil
	}
	for len(k.solo) <= c {
		k.solo = append(k.solo, solo{})
	}
	if p := &k.solo[c].pace; *p == 0 {
		pace, err := packer.AskPace(s.p.Model, t, s.classes[c].gpu)
		if err != nil {
			return 0, err
		}
		*p = pace
	}
	return k.solo[c].pace, nil
}

// worthOn returns what a job at speed 1 on class c counts for.
func (s *Session) worthOn(j *job, c int32) (float64, error) {
	pace, err := s.pace(j.kind, int(c), &j.task)
	return j.task.EffectiveWeight() * pace, err
}

// release takes a job's leave from its kind.
func (s *Session) release(k *kind) {
	if k.live--; k.live == 0 && k.row == nil {
		s.spareKinds = append(s.spareKinds, k)
	}
}

// forget drops the kinds without tasks.
func (s *Session) forget() {
	for key, k := range s.kinds {
		if k.live == 0 {
			delete(s.kinds, key)
		}
	}
}

// rowOf returns the cells of k, one for each card.
func (s *Session) rowOf(k *kind) []cell {
	if k.row == nil {
		clear(s.scratch)
		s.scratch = append(s.scratch, make([]cell, len(s.cards)-len(s.scratch))...)
		return s.scratch
	}
	if n := len(s.cards) - len(k.row); n > 0 {
		k.row = append(k.row, make([]cell, n)...)
	}
	return k.row
}

// enqueue adds a job to those that wait.
func (s *Session) enqueue(j *job) {
	k := j.kind
	s.unlist(k)
	after := k.last
	for after != nil && after.arrival > j.arrival {
		after = after.prev
	}
	j.prev, j.gpu, j.speed = after, none, 0
	if after == nil {
		j.next, k.first = k.first, j
	} else {
		j.next, after.next = after.next, j
	}
	if j.next == nil {
		k.last = j
	} else {
		j.next.prev = j
	}
	s.queued++
	s.list(k)
}

// dequeue removes a job from those that wait.
func (s *Session) dequeue(j *job) {
	k := j.kind
	s.unlist(k)
	if j.prev == nil {
		k.first = j.next
	} else {
		j.prev.next = j.next
	}
	if j.next == nil {
		k.last = j.prev
	} else {
		j.next.prev = j.prev
	}
	j.prev, j.next = nil, nil
	s.queued--
	s.list(k)
}

// list puts a kind in its place among those that wait, if it has tasks there.
func (s *Session) list(k *kind) {
	if k.first == nil {
		return
	}
	at, _ := slices.BinarySearchFunc(s.waiting, k, earlier)
	s.waiting = slices.Insert(s.waiting, at, k)
}

func (s *Session) unlist(k *kind) {
	if k.first == nil {
		return
	}
	at, _ := slices.BinarySearchFunc(s.waiting, k, earlier)
	s.waiting = slices.Delete(s.waiting, at, at+1)
}

// earlier orders kinds by whose first waiting task is served first.
func earlier(a, b *kind) int {
	switch {
	case a.key.weight > b.key.weight, a.key.weight == b.key.weight && a.first.arrival < b.first.arrival:
		return -1
	case a.first == b.first:
		return 0
	}
	return 1
}

// gather makes an empty card stand for width cards of its class, the first empty
// ones.
func (s *Session) gather(gpu int32, width int) {
	c := &s.cards[gpu]
	c.more = c.more[:0]
	if width < 2 {
		return
	}
	s.freed = s.freed[:0]
	for g := range s.classes[c.class].members {
		if at := int32(s.classes[c.class].members[g]); at != gpu && s.isEmpty(at) && len(s.freed) < width-1 {
			s.freed = append(s.freed, at)
		}
	}
	for _, g := range s.freed {
		c.more = append(c.more, int(g))
		s.cards[g].lead = gpu
		s.touch(int(g))
	}
}

// isEmpty reports whether a card is empty and in service.
func (s *Session) isEmpty(gpu int32) bool {
	return s.empty[s.cards[gpu].class][gpu/64]>>(gpu%64)&1 == 1
}

// scatter gives back the cards for which an empty one stood and notes them in
// freed.
func (s *Session) scatter(c *card) {
	s.freed = s.freed[:0]
	for _, g := range c.more {
		s.cards[g].lead = none
		s.freed = append(s.freed, int32(g))
		s.touch(g)
	}
	c.more = c.more[:0]
}

// touch makes known that a card has changed.
func (s *Session) touch(gpu int) {
	c := &s.cards[gpu]
	s.version++
	s.open[gpu] = 0
	word, bit := &s.empty[c.class][gpu/64], uint64(1)<<(gpu%64)
	if *word&bit != 0 {
		*word &^= bit
		s.vacant[c.class]--
	}
	switch {
	case c.down || c.blind || c.lead != none:
	case len(c.set) == 0:
		*word |= bit
		s.vacant[c.class]++
	case len(c.set) < s.p.Limits.LargestSet() && len(s.classes[c.class].mechs) > 0 && !c.guarded():
		s.open[gpu] = s.version
	}
}

// guarded reports whether a task on c must be alone.
func (c *card) guarded() bool {
	return slices.ContainsFunc(c.set, func(j *job) bool { return j.task.Alone })
}

// firstEmpty returns the first empty GPU of class k, or none.
func (s *Session) firstEmpty(k int) int32 {
	for i, word := range s.empty[k] {
		if word != 0 {
			return int32(64*i + bits.TrailingZeros64(word))
		}
	}
	return none
}
