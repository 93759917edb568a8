package packer

import "context"

// descend exchanges tasks between two groups, or a group and the queue, moves
// them from one to another, as long as that gains anything: what is quick to
// find before the search takes whole groups apart. O(tasks²) sets for each pass.
const descents = 2

func (s *search) descend(ctx context.Context) error {
	better := true
	for pass := 0; pass < descents && better && ctx.Err() == nil; pass++ {
		better = false
		for g := range s.groups {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // a cancelled run has a plan; the caller asks ctx
			}
			for h := range g {
				found, err := s.trade(h, g)
				if err != nil {
					return err
				}
				better = better || found
			}
			found, err := s.fetch(g)
			if err != nil {
				return err
			}
			better = better || found
		}
	}
	return nil
}

// valueOn returns the value of tasks on the GPU of group g, with what members
// save that stay; negative if they may not.
func (s *search) valueOn(g int, tasks []int32) (int64, error) {
	to := &s.groups[g]
	if len(tasks)+len(s.in.classes[to.class].residents) > s.in.maxSet {
		return -1, nil
	}
	v, err := s.worth(to.class, tasks)
	if err != nil || v == 0 && len(tasks) > 0 {
		return -1, err
	}
	return v + s.in.bonus(int(to.gpu), tasks), nil
}

// trade makes the first exchange or move of a task between groups g and h that
// gains.
func (s *search) trade(g, h int) (bool, error) {
	for m := -1; m < len(s.groups[g].tasks); m++ {
		for n := -1; n < len(s.groups[h].tasks); n++ {
			if m < 0 && n < 0 {
				continue
			}
			if found, err := s.swap(g, h, m, n); found || err != nil {
				return found, err
			}
		}
	}
	return false, nil
}

// swap exchanges the m-th task of group g and the n-th of group h, each of which
// may be none, if that gains.
func (s *search) swap(g, h, m, n int) (bool, error) {
	a, b := &s.groups[g], &s.groups[h]
	s.mine, s.other = without(s.mine, a.tasks, m), without(s.other, b.tasks, n)
	if m >= 0 {
		s.other = insert(s.other, a.tasks[m])
	}
	if n >= 0 {
		s.mine = insert(s.mine, b.tasks[n])
	}
	v, err := s.valueOn(g, s.mine)
	if err != nil || v < 0 {
		return false, err
	}
	w, err := s.valueOn(h, s.other)
	if err != nil || w < 0 || v+w <= a.value+b.value {
		return false, err
	}
	a.tasks, a.value = append(a.tasks[:0], s.mine...), v
	b.tasks, b.value = append(b.tasks[:0], s.other...), w
	return true, nil
}

// fetch makes the first exchange of a task of group g for one that waits, or the
// first addition of one, that gains.
func (s *search) fetch(g int) (bool, error) {
	a := &s.groups[g]
	for n, w := range s.waiting {
		for m := -1; m < len(a.tasks); m++ {
			s.mine = insert(without(s.mine, a.tasks, m), w)
			v, err := s.valueOn(g, s.mine)
			if err != nil {
				return false, err
			}
			if v <= a.value {
				continue
			}
			if m < 0 {
				s.waiting[n] = s.waiting[len(s.waiting)-1]
				s.waiting = s.waiting[:len(s.waiting)-1]
			} else {
				s.waiting[n] = a.tasks[m]
			}
			a.tasks, a.value = append(a.tasks[:0], s.mine...), v
			return true, nil
		}
	}
	return false, nil
}

// without writes tasks without the n-th, or all if n is negative, to dst and
// returns it.
func without(dst, tasks []int32, n int) []int32 {
	dst = append(dst[:0], tasks...)
	if n >= 0 {
		dst = append(dst[:n], dst[n+1:]...)
	}
	return dst
}

// insert puts i in its place among ascending tasks.
func insert(tasks []int32, i int32) []int32 {
	tasks = append(tasks, i)
	n := len(tasks) - 1
	for ; n > 0 && tasks[n-1] > i; n-- {
		tasks[n] = tasks[n-1]
	}
	tasks[n] = i
	return tasks
}
