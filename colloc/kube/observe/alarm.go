package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/prom"
	"example.com/colloc/profile"
)

// Reasons of alarms, as Events and metrics name them.
const (
	// AboveReservation: the tasks of a card take more memory than was set aside.
	AboveReservation = "AboveReservation"
	// TooSlow: a task's own query says so, or one that serves is below its floor.
	TooSlow = "TooSlow"
)

// overrun tells of a card whose tasks take more than was set aside for them. Where they
// share, the youngest of the lowest rank is in the way; alone a task harms nobody.
// One look is not enough: it may still show who was there before.
func (o *Observer) overrun(ctx context.Context, s *books.Set, w *watched, used []prom.Point) {
	i := slices.IndexFunc(used, func(p prom.Point) bool { return p.Of(s.Node, s.Address) })
	if i < 0 || s.Slice {
		w.over = 0
		return
	}
	reserved := profile.Bytes(0)
	for k := range s.Members {
		reserved += s.Members[k].Reserved
	}
	takes := profile.Bytes(used[i].Value) * profile.MiB
	if float64(takes) <= float64(reserved)*(1+o.config.Tolerance) {
		w.over = 0
		for k := range s.Members {
			delete(o.told, alarm{AboveReservation, s.Members[k].Pod.UID})
		}
		return
	}
	if w.over++; w.over < slowTimes {
		return
	}
	text := fmt.Sprintf("the tasks on %s take %v, and %v are set aside", s.ID, takes, reserved)
	for k := range s.Members {
		o.tell(s.Members[k].Pod, AboveReservation, text)
	}
	if victim := last(s.Members); len(s.Members) > 1 && o.config.Now().Sub(w.since) >= settleTime {
		o.evict(ctx, s, w, victim, AboveReservation, text)
	}
}

// slow asks who of a set is too slow while asking is not over. Who is in the way is
// another: a task that is too slow alone is told, and has nobody to blame.
func (o *Observer) slow(ctx, asking context.Context, s *books.Set, w *watched) {
	for i := range s.Members {
		pod := s.Members[i].Pod
		why, err := o.tooSlow(asking, s, w, &s.Members[i])
		if err != nil {
			o.config.Log.Warn("SLO query", "pod", pod.Namespace+"/"+pod.Name, "err", err)
			continue
		}
		if why == "" {
			delete(w.slow, pod.UID)
			delete(o.told, alarm{TooSlow, pod.UID})
			continue
		}
		if w.slow[pod.UID]++; w.slow[pod.UID] < slowTimes {
			continue
		}
		o.tell(pod, TooSlow, fmt.Sprintf("it is too slow on %s: %s", s.ID, why))
		if len(s.Members) < 2 {
			continue
		}
		victim := last(slices.Delete(slices.Clone(s.Members), i, i+1))
		if rank(victim, pod) > 0 {
			continue // whoever runs a pod writes its query: it cannot cost a more important one its place
		}
		o.evict(ctx, s, w, victim, TooSlow, fmt.Sprintf("pod %s on the same GPU is too slow for its users", name(victim, pod)))
	}
}

// tooSlow says by what a pod is too slow, empty is by nothing: by its SLO query or, where
// it serves, by its speed, which must not be below that of the slowdown that it bears
// once its set has been the same for a Window. The error is that of the SLO query.
func (o *Observer) tooSlow(ctx context.Context, s *books.Set, w *watched, m *books.Member) (string, error) {
	if query := m.Pod.Annotations[api.AnnotationSLO]; query != "" {
		x, err := o.one(ctx, query)
		if err != nil {
			return "", err
		}
		if x.Or(0) > 0 {
			return fmt.Sprintf("its %s says %g", api.AnnotationSLO, x.Or(0)), nil
		}
	}
	demand, err := api.ReadDemand(m.Pod.Annotations)
	if err != nil || !demand.Serves || m.Profile == nil || s.Slice || o.config.Now().Sub(w.since) < o.config.Window {
		return "", nil //nolint:nilerr // the books tell the pod of it
	}
	floor := 1 / cmp.Or(demand.MaxSlowdown, o.config.Books.Planner().Config().MaxSlowdown)
	if x, known := o.speed(ctx, s, m).Get(); known && x < floor {
		return fmt.Sprintf("it runs at %.2f of its speed alone, below its floor of %.2f", x, floor), nil
	}
	return "", nil
}

// name is how a pod is called towards another: those of other namespaces are nobody's
// business.
func name(toward, pod *corev1.Pod) string {
	if toward.Namespace != pod.Namespace {
		return "of another namespace"
	}
	return pod.Name
}

// last is the youngest pod of the lowest rank.
func last(members []books.Member) *corev1.Pod {
	return slices.MinFunc(members, func(x, y books.Member) int {
		return cmp.Or(rank(x.Pod, y.Pod), y.Pod.CreationTimestamp.Compare(x.Pod.CreationTimestamp.Time), cmp.Compare(y.Pod.UID, x.Pod.UID))
	}).Pod
}

// rank compares what two pods count: by their priority, and of equals who serves counts
// more.
func rank(x, y *corev1.Pod) int {
	return cmp.Or(cmp.Compare(priority(x), priority(y)), cmp.Compare(serves(x), serves(y)))
}

// serves is 1 for a pod that serves.
func serves(pod *corev1.Pod) int {
	if pod.Annotations[api.AnnotationClass] == api.ClassInference {
		return 1
	}
	return 0
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// tell tells of an alarm, once until it is over.
func (o *Observer) tell(pod *corev1.Pod, reason, text string) {
	if o.told[alarm{reason, pod.UID}] {
		return
	}
	o.told[alarm{reason, pod.UID}] = true
	o.config.Log.Warn("alarm", "reason", reason, "pod", pod.Namespace+"/"+pod.Name, "text", text)
	if o.config.Metrics != nil {
		o.config.Metrics.Alarm(reason)
	}
	if o.config.Events != nil {
		o.config.Events.Event(pod, corev1.EventTypeWarning, reason, text)
	}
}

// evict evicts a pod by the Eviction API, which heeds disruption budgets, if the policy
// allows it, nobody was evicted from the card lately and not too many from all cards. It
// is not put beside those that stay again for a while.
func (o *Observer) evict(ctx context.Context, s *books.Set, w *watched, pod *corev1.Pod, reason, text string) {
	now := o.config.Now()
	switch {
	case o.config.Policy != Evict && (o.config.Policy != EvictCheckpointed || pod.Annotations[api.AnnotationEvictable] != api.True):
		return
	case !w.evicted.IsZero() && now.Sub(w.evicted) < o.config.Pause:
		return
	}
	if o.evictor.Evict(ctx, pod, reason, text) != nil {
		return // it is told; the next Step asks again
	}
	w.evicted = now
	for i := range s.Members {
		if other := s.Members[i].Pod; other.UID != pod.UID {
			o.config.Books.Part(pod.UID, other.UID, now.Add(o.config.Cooldown))
			o.learned++
		}
	}
}
