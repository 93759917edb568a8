package books

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/profile"
)

// held is how many GPUs each namespace holds, a shared one counted for each pod.
func (b *Books) held() map[string]int {
	held := map[string]int{}
	for _, e := range b.cluster.Tasks {
		if e.State != cluster.Idle {
			held[e.Pod.Namespace] += 1 + strings.Count(e.At.Device, ",")
		}
	}
	return held
}

// entitle tells a Dispatcher, which knows who runs on the cards that are shown, what each namespace may have, and what it
// has on others.
func (t *turn) entitle(d *dispatch.Dispatcher) error {
	b := t.books
	var told []dispatch.Event
	for _, namespace := range slices.Sorted(maps.Keys(b.config.Limits)) {
		most := dispatch.Limits{GPUs: profile.Some(b.config.Limits[namespace])}
		if namespace == "*" {
			namespace = ""
		}
		told = append(told, dispatch.Allowed{User: namespace, Limits: most})
	}
	held, shown := b.held(), d.Accounts()
	for _, namespace := range slices.Sorted(maps.Keys(held)) {
		if n := held[namespace] - shown[namespace].GPUs; n > 0 {
			told = append(told, dispatch.Elsewhere{User: namespace, GPUs: n})
		}
	}
	return d.Tell(t.now, told...)
}

// order puts single pods in the order of priority, then of what their namespaces hold, then of age: the n-th pod of
// a namespace counts as if those before it ran. The first of them are asked about.
func order(all []*cluster.Entry, held map[string]int) {
	cluster.Sort(all)
	slices.SortStableFunc(all, func(x, y *cluster.Entry) int { return cmp.Compare(y.Task.Priority, x.Task.Priority) })
	ranks, turn := map[*cluster.Entry]int{}, maps.Clone(held)
	for _, e := range all {
		ranks[e] = turn[e.Pod.Namespace]
		turn[e.Pod.Namespace]++
	}
	slices.SortStableFunc(all, func(x, y *cluster.Entry) int {
		return cmp.Or(cmp.Compare(y.Task.Priority, x.Task.Priority), cmp.Compare(ranks[x], ranks[y]))
	})
}
