package books

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/ledger"
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

// turn is one question to the Planner.
type turn struct {
	books  *Books
	batch  []*entry
	shapes []*nodes.Shape
	of     map[types.UID]int // shape of a pod
	why    []map[string]int  // by shape: how many nodes refuse it for what
	holder string            // for whom a card may be kept that it is shown
	shut   map[string]int    // how many cards of nodes that are open are shut for what
}

// run asks once, and returns those that could be asked again because their node was full
// though the Planner chose it.
func (t *turn) run(ctx context.Context, r *Round) (again []*entry, err error) {
	b := t.books
	t.number()
	seen, err := t.offer()
	if err != nil {
		return nil, err
	}
	tasks := make([]colloc.Task, len(t.batch))
	byID := make(map[string]*entry, len(t.batch))
	for i, e := range t.batch {
		tasks[i] = e.task
		tasks[i].On = []string{shapeLabel(t.of[e.pod.UID])}
		byID[e.task.ID] = e
	}
	plan, err := b.config.Planner.Plan(ctx, tasks, seen)
	if err != nil {
		return nil, fmt.Errorf("books: decide: %w", err)
	}
	decided := len(r.Decisions)
	for i := range plan.Placements {
		p := &plan.Placements[i]
		for k := range p.Members {
			if e := byID[p.Members[k].Task]; e != nil && !p.Members[k].Resident {
				if d, ok := t.reserve(e, p, k); ok {
					r.Decisions = append(r.Decisions, d)
				} else {
					again = append(again, e)
				}
				delete(byID, e.task.ID)
			}
		}
	}
	if len(r.Decisions) == decided {
		again = nil // nothing moves: they wait
	}
	t.refuse(plan, byID, again, r)
	return again, nil
}

// number gives each shape of the batch a number.
func (t *turn) number() {
	t.of = make(map[types.UID]int, len(t.batch))
	known := map[string]int{}
	for _, e := range t.batch {
		n, seen := known[e.shape.Key]
		if !seen {
			n = len(t.shapes)
			known[e.shape.Key] = n
			t.shapes = append(t.shapes, e.shape)
			t.why = append(t.why, map[string]int{})
		}
		t.of[e.pod.UID] = n
	}
}

func shapeLabel(n int) string { return fmt.Sprintf("shape %d", n) }

// offer returns the cards that the Planner is shown, labelled with the shapes that their
// nodes take.
func (t *turn) offer() ([]colloc.GPU, error) {
	b := t.books
	type group struct {
		class int
		takes string
	}
	shown := map[group]int{}
	labels := map[string][]string{}
	taken := map[*node]string{}
	var ids []string
	var carry [][]string
	for _, d := range b.inOrder() {
		takes, asked := taken[d.node]
		if !asked {
			takes = t.takes(d.node, labels)
			taken[d.node] = takes
		}
		g := group{d.class, takes}
		if takes == "" || shown[g] >= len(t.batch) {
			continue
		}
		if why := b.shut(d); why != "" {
			t.shut[why]++
			continue
		}
		if b.keptAway(d, t.holder, t.shut) {
			continue
		}
		shown[g]++
		ids = append(ids, d.GPU.ID)
		carry = append(carry, labels[takes])
	}
	view, err := b.ledger.View(ids...)
	if err != nil {
		return nil, fmt.Errorf("books: decide: %w", err)
	}
	for i := range view.GPUs {
		view.GPUs[i].Labels = carry[i]
	}
	return view.GPUs, nil
}

// takes returns the shapes that a node takes as the key of a list of labels; empty is
// none.
func (t *turn) takes(n *node, labels map[string][]string) string {
	var key strings.Builder
	var list []string
	for i, s := range t.shapes {
		if why := refusal(n, s); why != "" {
			t.why[i][why]++
			continue
		}
		list = append(list, shapeLabel(i))
		fmt.Fprintf(&key, "%d ", i)
	}
	labels[key.String()] = list
	return key.String()
}

// reserve books a task that the Planner placed, unless its node has become too full for
// it in this round.
func (t *turn) reserve(e *entry, p *colloc.Placement, member int) (Decision, bool) {
	b := t.books
	d := b.cards[p.GPU]
	if d == nil || d.node.offer.Refuses(e.shape, d.node.used) != "" {
		return Decision{}, false
	}
	m := &p.Members[member]
	at := api.Placement{Node: d.node.name, Device: d.Device, Address: d.Address, Reserved: m.Reserved}
	view, err := b.ledger.View(p.GPU)
	if err != nil {
		return Decision{}, false
	}
	e.lease, err = b.ledger.Reserve(view.Version, ledger.Claim{Task: pods.Booked(e.task, m.Reserved), GPU: p.GPU})
	if err != nil {
		return Decision{}, false
	}
	company := len(d.here)
	e.state = writing
	b.dropRoom(e)
	b.list(e, at)
	return Decision{Pod: e.pod, At: at, Left: e.left, Speed: m.Speed.Value, Company: company, Text: placedText(e, p, m, len(p.Members)-1)}, true
}

// placedText says what was decided.
func placedText(e *entry, p *colloc.Placement, m *colloc.Member, company int) string {
	text := fmt.Sprintf("on %s alone", p.GPU)
	if company == 1 {
		text = fmt.Sprintf("on %s with one other task", p.GPU)
	} else if company > 1 {
		text = fmt.Sprintf("on %s with %d other tasks", p.GPU, company)
	}
	text += fmt.Sprintf(": speed %.2f, reserves %v of %v", m.Speed.Value, m.Reserved, p.Usable)
	if e.note != "" {
		text += "; " + e.note
	}
	return text
}

// refuse says why those wait that were not placed, and that they were tried.
func (t *turn) refuse(plan *colloc.Plan, left map[string]*entry, again []*entry, r *Round) {
	b := t.books
	if len(b.stuck) > maxStuck {
		clear(b.stuck)
	}
	notes := map[string]*colloc.Note{}
	for i := range plan.Notes {
		notes[plan.Notes[i].ID] = &plan.Notes[i]
	}
	faults := map[string]error{}
	for _, f := range plan.LeftOut {
		faults[f.Task] = f
	}
	for _, e := range t.batch {
		if left[e.task.ID] == nil && (e.state != idle || slices.Contains(again, e)) {
			continue
		}
		e.tried = b.changed
		why := t.why[t.of[e.pod.UID]]
		refusal := Refusal{Pod: e.pod, Reason: NoNode, Text: nodesText(b, why)}
		if n := notes[e.task.ID]; n != nil && !refusedAll(b, why) {
			refusal.Reason, refusal.Text = camel(n.Code.String()), b.readable(e, n)
		}
		if f := faults[e.task.ID]; f != nil {
			refusal.Reason, refusal.Text = Fault, f.Error()
		}
		refusal.Text += shutText(t.shut)
		if e.note != "" {
			refusal.Text += "; " + e.note
		}
		r.Refusals = append(r.Refusals, refusal)
		b.stuck[e.like()] = stuck{b.changed, refusal.Reason, refusal.Text}
	}
}
