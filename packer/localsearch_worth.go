package packer

import "slices"

const (
	maxKeyed = 7
	maxKnown = 1 << 16 // sets remembered: 2.5 MiB
)

// setKey names a set of up to maxKeyed tasks on a class; others are not kept.
type setKey struct {
	class int32
	tasks [maxKeyed]int32 // and one more; 0 is none
}

// knownSet is a set with its value.
type knownSet struct {
	key   setKey
	value int64
}

// knownSets remembers sets by hash; a set may displace another.
type knownSets []knownSet

// find returns the place of a set, with its key: it is known if the key there is
// the same. A nil place is that of a set too large to be kept.
func (s knownSets) find(k int, tasks []int32) (at *knownSet, key setKey) {
	if len(tasks) > maxKeyed {
		return nil, key
	}
	key.class = int32(k)
	for n, i := range tasks {
		key.tasks[n] = i + 1
	}
	return &s[key.hash()%uint64(len(s))], key
}

// hash spreads keys over the places.
func (k *setKey) hash() uint64 {
	h := uint64(k.class)
	for _, i := range k.tasks {
		h = (h ^ uint64(i)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// worth returns the value of tasks on class k, 0 if they are not allowed.
func (s *search) worth(k int, tasks []int32) (int64, error) {
	if len(tasks) == 0 {
		return s.in.classes[k].base, nil
	}
	if s.cat != nil {
		s.types = s.cat.typed(s.types, tasks)
		if g := s.cat.gain(k, s.types); g > 0 {
			return s.in.classes[k].base + g, nil
		}
		return 0, nil
	}
	if s.known == nil {
		s.known = make(knownSets, maxKnown)
	}
	at, key := s.known.find(k, tasks)
	if at != nil && at.key == key {
		return at.value, nil
	}
	v, err := s.value(k, tasks)
	if err == nil && at != nil {
		*at = knownSet{key, v}
	}
	return v, err
}

// value asks the model what tasks are worth on class k.
func (s *search) value(k int, tasks []int32) (int64, error) {
	s.joined = s.joined[:0]
	ref := s.in.classes[k].base
	for _, i := range tasks {
		s.joined = append(s.joined, s.in.tasks[i])
		if k >= s.in.free {
			continue
		}
		v, err := s.alone(k, i)
		if err != nil || len(tasks) == 1 {
			return v, err
		}
		ref = max(ref, v)
	}
	v, err := s.together(&s.in.classes[k], s.joined, ref)
	return v.units, err
}

// alone returns the value of task i on free class k.
func (s *search) alone(k int, i int32) (int64, error) {
	if len(s.single) == 0 {
		s.single = make([][]int64, s.in.free)
	}
	if s.single[k] == nil {
		s.single[k] = slices.Repeat([]int64{unknown}, len(s.in.tasks))
	}
	if s.single[k][i] == unknown {
		v, err := s.evaluator.alone(&s.in.classes[k], s.in.tasks[i])
		if err != nil {
			return 0, err
		}
		s.single[k][i] = v.units
	}
	return s.single[k][i], nil
}
