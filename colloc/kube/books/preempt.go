package books

import (
	"fmt"
	"slices"
	"time"

	"example.com/colloc/colloc/kube/books/internal/words"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/packer"
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

// meek are those of some starts that are for nobody's stop: their pods never preempt. They wait.
func (t *turn) meek(starts []start, stops map[string][]string, r *Round) []*unit {
	var list []*unit
	for _, s := range starts {
		policy := s.unit.first().Pod.Spec.PreemptionPolicy
		if policy != nil && *policy == corev1.PreemptNever && slices.ContainsFunc(s.action.GPUs, func(id string) bool { return stops[id] != nil }) {
			list = append(list, s.unit)
			t.books.wait(r, s.unit.pods, words.Reason(packer.GPUsTaken.String()), "all GPUs that would take it are taken, and it never preempts")
		}
	}
	return list
}

// makeRoom says who has to go for some starts, and keeps their cards until these have gone. It returns the others.
func (t *turn) makeRoom(starts []start, stops map[string][]string, r *Round) (pods, gangs []start) {
	b := t.books
	now := b.config.Now()
	for _, s := range starts {
		waits := false
		p := Preemption{For: s.unit.first().Pod, Text: fmt.Sprintf("it makes room for a task of priority %d", s.unit.priority())}
		for _, id := range s.action.GPUs {
			for _, e := range b.cluster.Cards[id].Here {
				going := slices.Contains(stops[id], job(e))
				if waits = waits || going || b.preempts() && e.Leaves(now); !going || e.Leaves(now) {
					continue
				}
				for _, o := range t.members(e) {
					o.Leaving = now.Add(leaveTime)
					p.Victims = append(p.Victims, o.Pod)
				}
			}
		}
		switch {
		case !waits && s.unit.gang == nil:
			pods = append(pods, s)
			continue
		case !waits:
			gangs = append(gangs, s)
			continue
		case len(p.Victims) > 0:
			r.Preemptions = append(r.Preemptions, p)
		}
		for _, id := range s.action.GPUs {
			b.rooms[id] = s.unit.job
			t.shut[keptText]++
		}
		b.wait(r, s.unit.pods, MakingRoom, fmt.Sprintf("pods of lower priority are evicted for it, %d of them now; it waits until they have gone", len(p.Victims)))
	}
	return pods, gangs
}

// expire lets it be decided anew who goes when one that was to go is still there, and when one that was not evicted may
// be asked for again.
func (b *Books) expire(now time.Time) {
	for _, e := range b.cluster.Tasks {
		for _, until := range []*time.Time{&e.Leaving, &e.Spared} {
			if !until.IsZero() && !now.Before(*until) {
				*until = time.Time{}
				b.cluster.Changed++
			}
		}
	}
}
