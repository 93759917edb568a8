package search

import (
	"slices"

	"example.com/colloc/packer/internal/instance"
)

// unknown stands for a value that was not asked for yet.
const unknown = -1 << 62

// worth returns the value of tasks on class k, 0 if they are not allowed.
func (s *Search) worth(k int, tasks []int32) (int64, error) {
	if len(tasks) == 0 {
		return s.In.Classes[k].Base, nil
	}
	if s.Values != nil {
		return s.Values.SetValue(k, tasks, 0)
	}
	if s.known == nil {
		s.known = make(instance.KnownSets, instance.MaxKnown)
	}
	at, key := s.known.Find(k, tasks)
	if at != nil && at.Key == key {
		return at.Value, nil
	}
	v, err := s.value(k, tasks)
	if err == nil && at != nil {
		*at = instance.KnownSet{Key: key, Value: v}
	}
	return v, err
}

// value asks the model what tasks are worth on class k.
func (s *Search) value(k int, tasks []int32) (int64, error) {
	ref := s.In.Classes[k].Base
	for _, i := range tasks {
		if k >= s.In.Free {
			break
		}
		v, err := s.alone(k, i)
		if err != nil || len(tasks) == 1 {
			return v, err
		}
		ref = max(ref, v)
	}
	v, err := s.Together(&s.In.Classes[k], tasks, ref)
	return v.Units, err
}

// alone returns the value of task i on free class k.
func (s *Search) alone(k int, i int32) (int64, error) {
	if len(s.single) == 0 {
		s.single = make([][]int64, s.In.Free)
	}
	if s.single[k] == nil {
		s.single[k] = slices.Repeat([]int64{unknown}, len(s.In.Tasks))
	}
	if s.single[k][i] == unknown {
		v, err := s.Evaluator.Alone(&s.In.Classes[k], i)
		if err != nil {
			return 0, err
		}
		s.single[k][i] = v.Units
	}
	return s.single[k][i], nil
}
