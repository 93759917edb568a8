package books

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/gangs"
)

// MakingRoom is the reason of a pod for which others are evicted.
const MakingRoom = "MakingRoom"

// Preemption is room to be made for a pod or a gang that waits.
type Preemption struct {
	// For is the pod, or one of the gang.
	For *corev1.Pod
	// Victims are the pods of lower priority that have to be evicted, all of them. Those
	// that could not be are told back by [Books.Stays].
	Victims []*corev1.Pod
	// Text says to a victim of any namespace why it goes.
	Text string
}

const (
	leaveTime = 30 * time.Second // within which a pod that is to be evicted is seen to go
	spareTime = time.Minute      // for which a pod that could not be evicted is left alone
)

// leaves reports whether a pod is about to go.
func (e *entry) leaves(now time.Time) bool {
	return e.pod.DeletionTimestamp != nil || now.Before(e.leaving)
}

// keptFor is the pod or the gang for which a card is kept; empty is nobody.
func (b *Books) keptFor(d *card) string {
	for key, ids := range b.rooms {
		if slices.Contains(ids, d.GPU.ID) {
			return key
		}
	}
	return ""
}

// Stays takes in that pods were not evicted: for a while nobody asks for that again.
func (b *Books) Stays(list []*corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, pod := range list {
		if e := b.tasks[pod.UID]; e != nil {
			e.leaving, e.spared = time.Time{}, b.config.Now().Add(spareTime)
		}
	}
	b.changed++
}

// makeRoom looks for room for those that wait, the most important first: it keeps what was
// found for somebody before, or finds it anew, and for one more says who has to go.
func (b *Books) makeRoom(r *Round, crowds []*crowd) error {
	if !b.config.Preempt || b.config.Shadow {
		return nil
	}
	asked := map[likeness]bool{}
	for _, a := range b.askers(r, crowds) {
		kept := len(b.rooms[a.key]) > 0
		if !kept && (len(r.Preemptions) > 0 || asked[a.first.like()]) {
			continue
		}
		asked[a.first.like()] = true
		delete(b.rooms, a.key)
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
	first *entry
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
			if next, _ := g.next(); waits[next[0].pod.UID] {
				alone := *c
				alone.gangs = []*band{g}
				list = append(list, asker{g.Key, next[0], &alone})
			}
		}
	}
	for i := range r.Refusals {
		if e := b.tasks[r.Refusals[i].Pod.UID]; e != nil && e.gang.Key == "" && waits[e.pod.UID] {
			list = append(list, asker{string(e.pod.UID), e, nil})
		}
	}
	list = slices.DeleteFunc(list, func(a asker) bool {
		p := a.first.pod.Spec.PreemptionPolicy
		return p != nil && *p == corev1.PreemptNever
	})
	slices.SortStableFunc(list, func(x, y asker) int { return cmp.Compare(y.first.task.Priority, x.first.task.Priority) })
	return list
}

// grant keeps cards for somebody and tells who has to go.
func (b *Books) grant(a asker, cards []string, victims []*entry, r *Round) {
	b.rooms[a.key] = cards
	until := b.config.Now().Add(leaveTime)
	p := Preemption{For: a.first.pod, Text: fmt.Sprintf("it makes room for a task of priority %d", a.first.task.Priority)}
	for _, e := range victims {
		e.leaving = until
		p.Victims = append(p.Victims, e.pod)
	}
	if len(victims) > 0 {
		r.Preemptions = append(r.Preemptions, p)
	}
	members := []*entry{a.first}
	if a.crowd != nil {
		members, _ = a.crowd.gangs[0].next()
	}
	for i := range r.Refusals {
		if f := &r.Refusals[i]; slices.ContainsFunc(members, func(e *entry) bool { return e.pod.UID == f.Pod.UID }) {
			f.Reason = MakingRoom
			f.Text = fmt.Sprintf("pods of lower priority are evicted for it, %d of them now; it waits until they have gone. Before: %s", len(victims), f.Text)
		}
	}
}

// roomFor finds cards on which somebody fits once others are gone, and who has to go that
// does not go by itself.
func (b *Books) roomFor(a asker) (cards []string, victims []*entry, err error) {
	if a.crowd != nil {
		return b.roomForGang(a)
	}
	return b.roomForPod(a)
}

// mayGo reports whether a pod may be sent away for somebody.
func (b *Books) mayGo(e *entry, a asker, now time.Time) bool {
	return e.state == placed && e.task.Priority < a.first.task.Priority && !now.Before(e.spared)
}

// unit is who goes together with a pod: its gang, or nobody.
func (b *Books) unit(e *entry, all map[string]*band) []*entry {
	if g := all[e.gang.Key]; e.gang.Key != "" && g != nil {
		return g.placed
	}
	return []*entry{e}
}

// roomForGang asks package gangs.
func (b *Books) roomForGang(a asker) ([]string, []*entry, error) {
	now := b.config.Now()
	all := b.bands()
	var holders []gangs.Holder
	var units [][]*entry
	of := map[*entry]int{}
	hold := func(e *entry) (int, bool) {
		if at, known := of[e]; known {
			return at, at >= 0
		}
		unit := b.unit(e, all)
		at, class := len(holders), math.MinInt
		for _, o := range unit {
			if class = max(class, o.task.Priority); !b.mayGo(o, a, now) {
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
	nodes := b.offered(a.crowd, map[string]int{}, map[string]int{}, func(d *card) ([]int, bool) {
		var held []int
		for _, e := range d.here {
			if e.leaves(now) {
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
	var victims []*entry
	for _, at := range gone {
		victims = append(victims, units[at]...)
	}
	return site.Cards(), victims, nil
}

// bears reports whether a card would take one GPU's share of a gang if it were empty.
func (b *Books) bears(a asker, d *card) bool {
	v, err := b.config.Planner.Fit(a.crowd.whole(a.key), d.GPU)
	return err == nil && v.Fits
}

// roomForPod asks the Planner.
func (b *Books) roomForPod(a asker) ([]string, []*entry, error) {
	now := b.config.Now()
	all := b.bands()
	var ids []string
	for _, d := range b.inOrder() {
		if key := b.keptFor(d); refusal(d.node, a.first.shape) == "" && b.shut(d) == "" && (key == "" || key == a.key) {
			ids = append(ids, d.GPU.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil, nil
	}
	view, err := b.ledger.View(ids...)
	if err != nil {
		return nil, nil, fmt.Errorf("books: make room: %w", err)
	}
	units := map[string][]*entry{}
	for i := range view.GPUs {
		view.GPUs[i].Residents = b.movable(view.GPUs[i].Residents, a, all, units, now)
	}
	found, err := b.config.Planner.Preempt(a.first.task, view.GPUs)
	if err != nil {
		return nil, nil, fmt.Errorf("books: make room: %w", err)
	}
	var victims []*entry
	for _, id := range found.Victims {
		victims = append(victims, units[id]...)
	}
	return found.GPUs, victims, nil
}

// movable are the residents of a card as they count when room is made: those that go by
// themselves are gone, those of a gang go together, and those that may not go are of the
// highest priority.
func (b *Books) movable(residents []colloc.Task, a asker, all map[string]*band, units map[string][]*entry, now time.Time) []colloc.Task {
	var list []colloc.Task
	for _, t := range residents {
		e := b.tasks[types.UID(t.ID)]
		if e != nil && e.leaves(now) {
			continue
		}
		unit := []*entry{}
		if e != nil {
			unit = b.unit(e, all)
		}
		if len(unit) > 1 {
			t.ID, t.GPUs = e.gang.Key, 0
			for _, o := range unit {
				t.GPUs += len(o.cards)
			}
		}
		units[t.ID] = unit
		if e == nil || slices.ContainsFunc(unit, func(o *entry) bool { return !b.mayGo(o, a, now) }) {
			t.Priority = math.MaxInt
		}
		list = append(list, t)
	}
	return list
}

// expire lets rooms be looked for anew, for what was in the way may be gone or back: now
// and then, and when a pod that was not evicted may be asked for again.
func (b *Books) expire(now time.Time) {
	due := len(b.rooms) > 0 && now.Sub(b.looked) >= leaveTime
	for _, e := range b.tasks {
		if !e.spared.IsZero() && !now.Before(e.spared) {
			e.spared, due = time.Time{}, true
		}
	}
	if due {
		b.looked = now
		b.changed++
	}
}

// dropRoom takes back what was kept for a pod or its gang.
func (b *Books) dropRoom(e *entry) {
	delete(b.rooms, string(e.pod.UID))
	delete(b.rooms, e.gang.Key)
}

// keptText says why a card is not there for others.
const keptText = "it is kept for a pod of higher priority"

// keptAway notes that a card is kept for somebody else than a key.
func (b *Books) keptAway(d *card, key string, shut map[string]int) bool {
	if len(b.rooms) == 0 {
		return false
	}
	other := b.keptFor(d)
	if other == "" || other == key {
		return false
	}
	shut[keptText]++
	return true
}
