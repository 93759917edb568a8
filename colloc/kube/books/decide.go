package books

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/pods"
)

// Decide decides about the pods that wait, up to a batch of single pods: a Dispatcher says who starts where. Of single
// pods those of highest priority come into the batch, and among equals the namespace goes first
// that holds the fewest GPUs, and in one the oldest pod. A namespace is a user to the Dispatcher, with what it holds and may hold. A pod that cannot be placed is tried again when
// something changes. The error is that of the Planner, or of ctx; nothing is then
// decided.
//
// Of a gang all pods are placed in one step, or none; one of which some pods run already
// comes before everybody.
//
// Once a round had nothing to do, the next leaves at once until something is told that matters to a pod that waits: a node
// that says that it lives is not. Where it is looked ahead, those who wait are asked about again after a minute: what they wait
// for may be late.
//
// Of cards that the Planner cannot tell apart it is shown as many as there are GPUs to
// give, which changes nothing that it could answer.
func (b *Books) Decide(ctx context.Context) (Round, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.cluster.Opened {
		return Round{}, nil
	}
	if b.idle == b.cluster.Changed && (b.due.IsZero() || b.config.Now().Before(b.due)) {
		return Round{}, nil
	}
	var r Round
	if err := b.decide(ctx, &r); err != nil {
		b.undo(&r)
		return Round{}, err
	}
	if b.idle = 0; len(r.Decisions)+len(r.Refusals)+len(r.Preemptions) == 0 && !r.More {
		b.idle = b.cluster.Changed
	}
	return r, nil
}

// decide asks about the gangs that have begun, then about all others at once.
func (b *Books) decide(ctx context.Context, r *Round) error {
	b.promised = map[string]bool{}
	for _, job := range b.rooms {
		b.promised[job] = true
	}
	clear(b.rooms)
	singles := b.batch(r)
	least := math.MinInt
	if r.More {
		least = singles[len(singles)-1].Task.Priority
	}
	var batch []*unit
	for _, u := range b.gathered(r) {
		if len(u.gang.placed) > 0 {
			if err := b.place(ctx, []*unit{u}, r); err != nil {
				return err
			}
		} else if u.priority() >= least { // else pods that are more important wait for their batch
			batch = append(batch, u)
		}
	}
	for _, e := range singles {
		batch = append(batch, &unit{job: job(e), pods: []*cluster.Entry{e}})
	}
	return b.place(ctx, batch, r)
}

// undo gives back what a round reserved.
func (b *Books) undo(r *Round) {
	for i := range r.Decisions {
		if e := b.cluster.Tasks[r.Decisions[i].Pod.UID]; e != nil {
			b.cluster.Release(e)
		}
	}
}

// batch picks the pods of a round. Of those that differ in nothing a card could tell it
// takes no more once one of them could not be placed since the last change. Where it is looked ahead, those that
// were tried before fill it up: none of the others passes one that waits for a better place. They are asked about again when
// againTime is over, too.
func (b *Books) batch(r *Round) []*cluster.Entry {
	var fresh, tried []*cluster.Entry
	now := b.config.Now()
	b.due = time.Time{}
	for _, e := range b.cluster.Tasks {
		old := e.Tried == b.cluster.Changed && !b.promised[string(e.Pod.UID)]
		switch {
		case e.State != cluster.Idle || e.Phase != pods.Waiting:
		case now.Before(e.Until):
			if b.due.IsZero() || e.Until.Before(b.due) {
				b.due = e.Until
			}
		case e.Fault != nil:
			if !old {
				e.Tried = b.cluster.Changed
				r.Refusals = append(r.Refusals, Refusal{e.Pod, faultReason(e.Fault), e.Fault.Error()})
			}
		case e.Gang.Key != "":
		case old:
			tried = append(tried, e)
		default:
			if s := b.stuck[b.cluster.Like(e)]; s.at == b.cluster.Changed && (s.reason == OverLimit || !b.looksAhead()) {
				e.Tried = b.cluster.Changed
				r.Refusals = append(r.Refusals, s.refusal(e))
				continue
			}
			fresh = append(fresh, e)
		}
	}
	slices.SortFunc(r.Refusals, func(x, y Refusal) int { return strings.Compare(string(x.Pod.UID), string(y.Pod.UID)) })
	held := b.held()
	order(fresh, held)
	r.More = len(fresh) > b.config.Batch
	all := fresh[:min(len(fresh), b.config.Batch)]
	if !b.looksAhead() {
		return all
	}
	if len(all) > 0 || !now.Before(b.again) {
		order(tried, held)
		all = append(all, tried[:min(len(tried), b.config.Batch-len(all))]...)
		order(all, held)
		b.again = now.Add(againTime)
	}
	if b.due.IsZero() || b.again.Before(b.due) {
		b.due = b.again
	}
	return all
}

// faultReason is the reason for a fault of a pod.
func faultReason(err error) string {
	if _, claim := errors.AsType[claims.Error](err); claim {
		return BadClaim
	}
	if errors.Is(err, pods.ErrNoGroup) {
		return Gathering
	}
	return BadAnnotation
}
