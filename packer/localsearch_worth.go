package packer

import "slices"

// worth returns the value of tasks on class k, 0 if they are not allowed.
func (s *search) worth(k int, tasks []int32) (int64, error) {
	if len(tasks) == 0 {
		return s.in.classes[k].base, nil
	}
	if s.values != nil {
		return s.values.setValue(k, tasks, 0)
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
		*at = knownSet{key: key, value: v}
	}
	return v, err
}

// value asks the model what tasks are worth on class k.
func (s *search) value(k int, tasks []int32) (int64, error) {
	ref := s.in.classes[k].base
	for _, i := range tasks {
		if k >= s.in.free {
			break
		}
		v, err := s.alone(k, i)
		if err != nil || len(tasks) == 1 {
			return v, err
		}
		ref = max(ref, v)
	}
	v, err := s.together(&s.in.classes[k], tasks, ref)
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
		v, err := s.evaluator.alone(&s.in.classes[k], i)
		if err != nil {
			return 0, err
		}
		s.single[k][i] = v.units
	}
	return s.single[k][i], nil
}
