package books

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/pods"
)

// Decision places one pod: its card is reserved until [Books.Finish].
type Decision struct {
	// Pod is the pod as it was read.
	Pod *corev1.Pod
	// At is where it goes, Left where an earlier decision had put it that counts no more;
	// the zero value is that there was none.
	At, Left api.Placement
	// Speed is its predicted speed there as a fraction of that alone.
	Speed float64
	// Company is how many others run on the card.
	Company int
	// Text says what was decided, for people.
	Text string
}

// Refusal says why a pod waits.
type Refusal struct {
	// Pod is the pod as it was read.
	Pod *corev1.Pod
	// Reason is a word such as GpusTaken, Text the sentence for people.
	Reason, Text string
}

// Reasons of a Refusal that packer.ReasonCode does not have.
const (
	// BadAnnotation: an annotation cannot be read.
	BadAnnotation = "BadAnnotation"
	// BadClaim: the pod's resourceClaims and collocd's binding do not go together.
	BadClaim = "BadClaim"
	// NoNode: no node that is open would take the pod.
	NoNode = "NoNode"
	// CardGone: the pod was placed, and its card left before it came to run.
	CardGone = "CardGone"
	// NodeRefuses: the pod was placed and is held to its node, and the scheduler does not
	// let it start there.
	NodeRefuses = "NodeRefuses"
	// Placed is no reason to wait: it is that of a condition that says True.
	Placed = "Placed"
	// Fault: the Planner found something wrong with the task or its Profile.
	Fault = "Fault"
)

// Round is what [Books.Decide] did.
type Round struct {
	// Decisions are to be written, each told back by [Books.Finish].
	Decisions []Decision
	// Refusals are pods that wait, with the reason.
	Refusals []Refusal
	// Preemptions say who has to be evicted for some of these.
	Preemptions []Preemption
	// More says that others wait that were not tried yet: decide again.
	More bool
}

// Decide decides about the pods that wait, those of highest priority first and of these
// gangs before others and the oldest first, up to a batch of single pods. A pod that cannot be placed is tried again when
// something changes. The error is that of the Planner, or of ctx; nothing is then
// decided.
//
// Of a gang all pods are placed in one step, or none; one of which some pods run already
// comes before everybody.
//
// Of cards that the Planner cannot tell apart it is shown as many as there are pods to
// place, which changes nothing that it could answer.
func (b *Books) Decide(ctx context.Context) (Round, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ledger == nil {
		return Round{}, nil
	}
	var r Round
	if err := b.decide(ctx, &r); err != nil {
		b.undo(&r)
		return Round{}, err
	}
	return r, nil
}

// decide goes from the gangs that have begun down from one priority to the next.
func (b *Books) decide(ctx context.Context, r *Round) error {
	batch := b.batch(r)
	least := math.MinInt
	if r.More {
		least = batch[len(batch)-1].task.Priority
	}
	waiting := b.crowds(b.gathered(r))
	for _, c := range waiting {
		class := c.first.task.Priority
		if class < least {
			break // pods that are more important wait for their batch
		}
		above := slices.IndexFunc(batch, func(e *entry) bool { return e.task.Priority <= class })
		if above < 0 {
			above = len(batch)
		}
		if len(c.gangs[0].placed) == 0 {
			if err := b.decideSingles(ctx, batch[:above], r); err != nil {
				return err
			}
			batch = batch[above:]
		}
		if err := b.decideGangs(ctx, c, r); err != nil {
			return err
		}
	}
	if err := b.decideSingles(ctx, batch, r); err != nil {
		return err
	}
	return b.makeRoom(r, waiting)
}

// decideSingles places what it can of single pods.
func (b *Books) decideSingles(ctx context.Context, batch []*entry, r *Round) error {
	rest := batch[:0:0]
	for _, e := range batch {
		if len(b.rooms[string(e.pod.UID)]) == 0 {
			rest = append(rest, e)
			continue
		}
		turn := &turn{books: b, batch: []*entry{e}, shut: map[string]int{}, holder: string(e.pod.UID)}
		if _, err := turn.run(ctx, r); err != nil {
			return err
		}
	}
	batch = rest
	for len(batch) > 0 { // each turn places one at least, or is the last
		turn := &turn{books: b, batch: batch, shut: map[string]int{}}
		again, err := turn.run(ctx, r)
		if err != nil {
			return err
		}
		batch = again
	}
	return nil
}

// undo gives back what a round reserved.
func (b *Books) undo(r *Round) {
	for i := range r.Decisions {
		if e := b.tasks[r.Decisions[i].Pod.UID]; e != nil {
			b.release(e)
		}
	}
}

// batch picks the pods of a round. Of those that differ in nothing a card could tell it
// takes no more once one of them could not be placed since the last change.
func (b *Books) batch(r *Round) []*entry {
	var all []*entry
	now := b.config.Now()
	for _, e := range b.tasks {
		switch {
		case e.state != idle || e.phase != pods.Waiting || e.tried == b.changed || now.Before(e.until):
		case e.fault != nil:
			e.tried = b.changed
			r.Refusals = append(r.Refusals, Refusal{e.pod, faultReason(e.fault), e.fault.Error()})
		case e.gang.Key != "":
		case b.stuck[e.like()].at == b.changed:
			e.tried = b.changed
			r.Refusals = append(r.Refusals, b.stuck[e.like()].refusal(e))
		default:
			all = append(all, e)
		}
	}
	slices.SortFunc(r.Refusals, func(x, y Refusal) int { return strings.Compare(string(x.Pod.UID), string(y.Pod.UID)) })
	slices.SortFunc(all, func(x, y *entry) int {
		return cmp.Or(cmp.Compare(y.task.Priority, x.task.Priority), x.pod.CreationTimestamp.Compare(y.pod.CreationTimestamp.Time),
			strings.Compare(string(x.pod.UID), string(y.pod.UID)))
	})
	r.More = len(all) > b.config.Batch
	return all[:min(len(all), b.config.Batch)]
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

// stuck is why one pod of many that are alike waits, and since which change.
type stuck struct {
	at           uint64
	reason, text string
}

func (s stuck) refusal(e *entry) Refusal { return Refusal{Pod: e.pod, Reason: s.reason, Text: s.text} }

// like is equal for pods of which one can be placed where the other can.
func (e *entry) like() likeness { return likeness{e.task.Kind, e.shape.Key, e.task.Priority} }

type likeness struct {
	kind, shape string
	priority    int
}

// maxStuck bounds the table of those that wait.
const maxStuck = 1 << 14
