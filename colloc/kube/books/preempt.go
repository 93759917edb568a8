package books

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/gangs"
)

const (
	leaveTime = 30 * time.Second // within which a pod that is to be evicted is seen to go
	spareTime = time.Minute      // for which a pod that could not be evicted is left alone
)

// Stays takes in that pods were not evicted: for a while nobody asks for that again.
func (b *Books) Stays(list []*corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, pod := range list {
		if e := b.cluster.Tasks[pod.UID]; e != nil {
			e.Leaving, e.Spared = time.Time{}, b.config.Now().Add(spareTime)
		}
	}
	b.cluster.Changed++
}

// makeRoom looks for room for those that wait, the most important first: it keeps what was
// found for somebody before, or finds it anew, and for one more says who has to go.
func (b *Books) makeRoom(r *Round, crowds []*crowd) error {
	if !b.config.Preempt || b.config.Shadow {
		return nil
	}
	asked := map[cluster.Likeness]bool{}
	for _, a := range b.askers(r, crowds) {
		kept := len(b.cluster.Rooms[a.key]) > 0
		if !kept && (len(r.Preemptions) > 0 || asked[b.cluster.Like(a.first)]) {
			continue
		}
		asked[b.cluster.Like(a.first)] = true
		delete(b.cluster.Rooms, a.key)
		cards, victims, err := b.roomFor(a)
		if err != nil {
			return err
		}
		if len(cards) > 0 {
			b.grant(a, cards, victims, r)
		}
	}
	return nil
}

// asker is a pod or a gang that waits for room.
type asker struct {
	key   string
	first *cluster.Entry
	crowd *crowd // nil for a pod
}

// askers lists those that were refused in a round and may send others away, those of the
// highest priority first.
func (b *Books) askers(r *Round, crowds []*crowd) []asker {
	waits := map[types.UID]bool{}
	for i := range r.Refusals {
		waits[r.Refusals[i].Pod.UID] = !slices.Contains([]string{Gathering, GangFull, Fault, BadAnnotation, BadClaim}, r.Refusals[i].Reason)
	}
	var list []asker
	for _, c := range crowds {
		for _, g := range c.gangs {
			if next, _ := g.next(); waits[next[0].Pod.UID] {
				alone := *c
				alone.gangs = []*band{g}
				list = append(list, asker{g.Key, next[0], &alone})
			}
		}
	}
	for i := range r.Refusals {
		if e := b.cluster.Tasks[r.Refusals[i].Pod.UID]; e != nil && e.Gang.Key == "" && waits[e.Pod.UID] {
			list = append(list, asker{string(e.Pod.UID), e, nil})
		}
	}
	list = slices.DeleteFunc(list, func(a asker) bool {
		p := a.first.Pod.Spec.PreemptionPolicy
		return p != nil && *p == corev1.PreemptNever
	})
	slices.SortStableFunc(list, func(x, y asker) int { return cmp.Compare(y.first.Task.Priority, x.first.Task.Priority) })
	return list
}

// grant keeps cards for somebody and tells who has to go.
func (b *Books) grant(a asker, cards []string, victims []*cluster.Entry, r *Round) {
	b.cluster.Rooms[a.key] = cards
	until := b.config.Now().Add(leaveTime)
	p := Preemption{For: a.first.Pod, Text: fmt.Sprintf("it makes room for a task of priority %d", a.first.Task.Priority)}
	for _, e := range victims {
		e.Leaving = until
		p.Victims = append(p.Victims, e.Pod)
	}
	if len(victims) > 0 {
		r.Preemptions = append(r.Preemptions, p)
	}
	members := []*cluster.Entry{a.first}
	if a.crowd != nil {
		members, _ = a.crowd.gangs[0].next()
	}
	for i := range r.Refusals {
		if f := &r.Refusals[i]; slices.ContainsFunc(members, func(e *cluster.Entry) bool { return e.Pod.UID == f.Pod.UID }) {
			f.Reason = MakingRoom
			f.Text = fmt.Sprintf("pods of lower priority are evicted for it, %d of them now; it waits until they have gone. Before: %s", len(victims), f.Text)
		}
	}
}

// roomFor finds cards on which somebody fits once others are gone, and who has to go that
// does not go by itself.
func (b *Books) roomFor(a asker) (cards []string, victims []*cluster.Entry, err error) {
	if a.crowd != nil {
		return b.roomForGang(a)
	}
	return b.roomForPod(a)
}

// mayGo reports whether a pod may be sent away for somebody: it says what a restart costs.
func (b *Books) mayGo(e *cluster.Entry, a asker, now time.Time) bool {
	if e.State != cluster.Placed || e.Task.Priority >= a.first.Task.Priority || now.Before(e.Spared) {
		return false
	}
	d, err := api.ReadDemand(e.Pod.Annotations)
	return err == nil && !d.Restart.IsZero()
}

// unit is who goes together with a pod: its gang, or nobody.
func (b *Books) unit(e *cluster.Entry, all map[string]*band) []*cluster.Entry {
	if g := all[e.Gang.Key]; e.Gang.Key != "" && g != nil {
		return g.placed
	}
	return []*cluster.Entry{e}
}

// roomForGang asks package gangs.
func (b *Books) roomForGang(a asker) ([]string, []*cluster.Entry, error) {
	now := b.config.Now()
	all := b.bands()
	var holders []gangs.Holder
	var units [][]*cluster.Entry
	of := map[*cluster.Entry]int{}
	hold := func(e *cluster.Entry) (int, bool) {
		if at, known := of[e]; known {
			return at, at >= 0
		}
		unit := b.unit(e, all)
		at, class := len(holders), math.MinInt
		for _, o := range unit {
			if class = max(class, o.Task.Priority); !b.mayGo(o, a, now) {
				at = -1
			}
		}
		if at >= 0 {
			holders, units = append(holders, gangs.Holder{Priority: class, Pods: len(unit)}), append(units, unit)
		}
		for _, o := range unit {
			of[o] = at
		}
		return at, at >= 0
	}
	nodes := b.offered(a.crowd, map[string]int{}, map[string]int{}, func(d *cluster.Card) ([]int, bool) {
		var held []int
		for _, e := range d.Here {
			if e.Leaves(now) {
				continue
			}
			at, ok := hold(e)
			if !ok {
				return nil, false
			}
			if !slices.Contains(held, at) {
				held = append(held, at)
			}
		}
		return held, b.bears(a, d)
	})
	if sites := gangs.Sites(nodes, a.crowd.ask, 1); len(sites) > 0 {
		return sites[0].Cards(), nil, nil
	}
	site, gone, ok := gangs.Room(nodes, a.crowd.ask, holders)
	if !ok {
		return nil, nil, nil
	}
	var victims []*cluster.Entry
	for _, at := range gone {
		victims = append(victims, units[at]...)
	}
	return site.Cards(), victims, nil
}

// bears reports whether a card would take one GPU's share of a gang if it were empty.
func (b *Books) bears(a asker, d *cluster.Card) bool {
	v, err := b.config.Planner.Fit(a.crowd.whole(a.key), d.GPU)
	return err == nil && v.Fits
}

// roomForPod asks the Planner.
func (b *Books) roomForPod(a asker) ([]string, []*cluster.Entry, error) {
	now := b.config.Now()
	all := b.bands()
	var ids []string
	for _, d := range b.cluster.InOrder() {
		if key := b.cluster.KeptFor(d); b.cluster.Refuses(d.Node, a.first) == "" && b.cluster.Shut(d) == "" && (key == "" || key == a.key) {
			ids = append(ids, d.GPU.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil, nil
	}
	view, err := b.cluster.Ledger.View(ids...)
	if err != nil {
		return nil, nil, fmt.Errorf("books: make room: %w", err)
	}
	units := map[string][]*cluster.Entry{}
	for i := range view.GPUs {
		view.GPUs[i].Residents = b.movable(view.GPUs[i].Residents, a, all, units, now)
	}
	found, err := b.config.Planner.Preempt(a.first.Task, view.GPUs)
	if err != nil {
		return nil, nil, fmt.Errorf("books: make room: %w", err)
	}
	if len(found.Victims) == 0 && !slices.ContainsFunc(found.GPUs, func(id string) bool {
		return slices.ContainsFunc(b.cluster.Cards[id].Here, func(e *cluster.Entry) bool { return e.Leaves(now) })
	}) {
		return nil, nil, nil // it fits now, and waits for a better place
	}
	var victims []*cluster.Entry
	for _, id := range found.Victims {
		victims = append(victims, units[id]...)
	}
	return found.GPUs, victims, nil
}

// movable are the residents of a card as they count when room is made: those that go by
// themselves are gone, those of a gang go together, and those that may not go are of the
// highest priority.
func (b *Books) movable(residents []colloc.Task, a asker, all map[string]*band, units map[string][]*cluster.Entry, now time.Time) []colloc.Task {
	var list []colloc.Task
	for _, t := range residents {
		e := b.cluster.Tasks[types.UID(t.ID)]
		if e != nil && e.Leaves(now) {
			continue
		}
		unit := []*cluster.Entry{}
		if e != nil {
			unit = b.unit(e, all)
		}
		if len(unit) > 1 {
			t.ID, t.GPUs = e.Gang.Key, 0
			for _, o := range unit {
				t.GPUs += len(o.Cards)
			}
		}
		units[t.ID] = unit
		if e == nil || slices.ContainsFunc(unit, func(o *cluster.Entry) bool { return !b.mayGo(o, a, now) }) {
			t.Priority = math.MaxInt
		}
		list = append(list, t)
	}
	return list
}

// expire lets rooms be looked for anew, for what was in the way may be gone or back: now
// and then, and when a pod that was not evicted may be asked for again.
func (b *Books) expire(now time.Time) {
	due := len(b.cluster.Rooms) > 0 && now.Sub(b.looked) >= leaveTime
	for _, e := range b.cluster.Tasks {
		if !e.Spared.IsZero() && !now.Before(e.Spared) {
			e.Spared, due = time.Time{}, true
		}
	}
	if due {
		b.looked = now
		b.cluster.Changed++
	}
}
