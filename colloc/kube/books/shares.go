package books

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/colloc/colloc/kube/books/internal/cluster"
)

// shares are what namespaces hold, and may.
type shares struct {
	limits map[string]int
	held   map[string]int // GPUs, a shared one counted for each pod
	next   map[string]int // with those that a round may add
	// changed is the change of this round.
	changed uint64
}

// shares counts what is held before a round.
func (b *Books) shares() *shares {
	s := &shares{limits: b.config.Limits, changed: b.cluster.Changed, held: map[string]int{}}
	for _, e := range b.cluster.Tasks {
		if e.State != cluster.Idle {
			s.held[e.Pod.Namespace] += 1 + strings.Count(e.At.Device, ",")
		}
	}
	s.next = maps.Clone(s.held)
	return s
}

// take adds GPUs to what a namespace holds, unless that is more than it may.
func (s *shares) take(namespace string, gpus int) bool {
	limit, set := s.limits[namespace]
	if !set {
		limit, set = s.limits["*"]
	}
	if set && s.next[namespace]+gpus > limit {
		return false
	}
	s.next[namespace] += gpus
	return true
}

// refuse says of pods of one namespace that they are over its limit. They are looked at once more where that is
// for others of the round, which may find no room.
func (s *shares) refuse(list []*cluster.Entry) []Refusal {
	refusals := make([]Refusal, len(list))
	for i, e := range list {
		ns := e.Pod.Namespace
		limit, set := s.limits[ns]
		if !set {
			limit = s.limits["*"]
		}
		if s.next[ns] == s.held[ns] {
			e.Tried = s.changed
		}
		refusals[i] = Refusal{e.Pod, OverLimit, fmt.Sprintf("namespace %s holds %d GPUs of the %d that it may, a shared one counted for each pod", ns, s.held[ns], limit)}
	}
	return refusals
}

// within drops those of a list that are over a limit. Who is so for the first time is told.
func (s *shares) within(list []*cluster.Entry, r *Round) []*cluster.Entry {
	return slices.DeleteFunc(list, func(e *cluster.Entry) bool {
		if s.take(e.Pod.Namespace, 1) {
			return false
		}
		if e.Tried != s.changed {
			r.Refusals = append(r.Refusals, s.refuse([]*cluster.Entry{e})...)
		}
		return true
	})
}

// order puts single pods in the order of priority, then of what their namespaces hold, then of age: the n-th pod of
// a namespace counts as if those before it ran.
func (s *shares) order(all []*cluster.Entry) {
	cluster.Sort(all)
	slices.SortStableFunc(all, func(x, y *cluster.Entry) int { return cmp.Compare(y.Task.Priority, x.Task.Priority) })
	ranks, turn := map[*cluster.Entry]int{}, maps.Clone(s.held)
	for _, e := range all {
		ranks[e] = turn[e.Pod.Namespace]
		turn[e.Pod.Namespace]++
	}
	slices.SortStableFunc(all, func(x, y *cluster.Entry) int {
		return cmp.Or(cmp.Compare(y.Task.Priority, x.Task.Priority), cmp.Compare(ranks[x], ranks[y]))
	})
}
