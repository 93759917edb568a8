package books

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc/kube/books/internal/words"

	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/ledger"
)

// turn is one question to the Planner.
type turn struct {
	books  *Books
	batch  []*cluster.Entry
	shapes []*cluster.Entry  // one pod of each shape
	of     map[types.UID]int // shape of a pod
	why    []map[string]int  // by shape: how many nodes refuse it for what
	holder string            // for whom a card may be kept that it is shown
	shut   map[string]int    // how many cards of nodes that are open are shut for what
}

// run asks once, and returns those that could be asked again because their node was full
// though the Planner chose it.
func (t *turn) run(ctx context.Context, r *Round) (again []*cluster.Entry, err error) {
	b := t.books
	t.number()
	seen, err := t.offer()
	if err != nil {
		return nil, err
	}
	tasks := make([]colloc.Task, len(t.batch))
	byID := make(map[string]*cluster.Entry, len(t.batch))
	for i, e := range t.batch {
		tasks[i] = e.Task
		tasks[i].On = []string{shapeLabel(t.of[e.Pod.UID])}
		byID[e.Task.ID] = e
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
				delete(byID, e.Task.ID)
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
		key := t.books.cluster.Key(e)
		n, seen := known[key]
		if !seen {
			n = len(t.shapes)
			known[key] = n
			t.shapes = append(t.shapes, e)
			t.why = append(t.why, map[string]int{})
		}
		t.of[e.Pod.UID] = n
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
	taken := map[*cluster.Node]string{}
	var ids []string
	var carry [][]string
	for _, d := range b.cluster.InOrder() {
		takes, asked := taken[d.Node]
		if !asked {
			takes = t.takes(d.Node, labels)
			taken[d.Node] = takes
		}
		g := group{d.Class, takes}
		if takes == "" || shown[g] >= len(t.batch) {
			continue
		}
		if why := b.cluster.Shut(d); why != "" {
			t.shut[why]++
			continue
		}
		if b.cluster.KeptAway(d, t.holder, t.shut) {
			continue
		}
		shown[g]++
		ids = append(ids, d.GPU.ID)
		carry = append(carry, labels[takes])
	}
	view, err := b.cluster.Ledger.View(ids...)
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
func (t *turn) takes(n *cluster.Node, labels map[string][]string) string {
	var key strings.Builder
	var list []string
	for i, s := range t.shapes {
		if why := t.books.cluster.Refuses(n, s); why != "" {
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
func (t *turn) reserve(e *cluster.Entry, p *colloc.Placement, member int) (Decision, bool) {
	b := t.books
	d := b.cluster.Cards[p.GPU]
	if d == nil || b.cluster.Refuses(d.Node, e) != "" {
		return Decision{}, false
	}
	m := &p.Members[member]
	at := api.Placement{Node: d.Node.Name, Device: d.Device, Address: d.Address, Reserved: m.Reserved}
	view, err := b.cluster.Ledger.View(p.GPU)
	if err != nil {
		return Decision{}, false
	}
	e.Lease, err = b.cluster.Ledger.Reserve(view.Version, ledger.Claim{Task: pods.Booked(e.Task, m.Reserved), GPU: p.GPU})
	if err != nil {
		return Decision{}, false
	}
	company := len(d.Here)
	e.State = cluster.Writing
	b.cluster.DropRoom(e)
	b.cluster.List(e, at)
	return Decision{Pod: e.Pod, At: at, Left: e.Left, Speed: m.Speed.Value, Company: company, Text: placedText(e, p, m, len(p.Members)-1)}, true
}

// placedText says what was decided.
func placedText(e *cluster.Entry, p *colloc.Placement, m *colloc.Member, company int) string {
	text := fmt.Sprintf("on %s alone", p.GPU)
	if company == 1 {
		text = fmt.Sprintf("on %s with one other task", p.GPU)
	} else if company > 1 {
		text = fmt.Sprintf("on %s with %d other tasks", p.GPU, company)
	}
	text += fmt.Sprintf(": speed %.2f, reserves %v of %v", m.Speed.Value, m.Reserved, p.Usable)
	if e.Note != "" {
		text += "; " + e.Note
	}
	return text
}

// refuse says why those wait that were not placed, and that they were tried.
func (t *turn) refuse(plan *colloc.Plan, left map[string]*cluster.Entry, again []*cluster.Entry, r *Round) {
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
		if left[e.Task.ID] == nil && (e.State != cluster.Idle || slices.Contains(again, e)) {
			continue
		}
		e.Tried = b.cluster.Changed
		why := t.why[t.of[e.Pod.UID]]
		refusal := Refusal{Pod: e.Pod, Reason: NoNode, Text: words.Nodes(b.cluster.Offering(), why)}
		if n := notes[e.Task.ID]; n != nil && !words.Everywhere(b.cluster.Offering(), why) {
			refusal.Reason, refusal.Text = words.Reason(n.Code.String()), b.readable(e, n)
		}
		if f := faults[e.Task.ID]; f != nil {
			refusal.Reason, refusal.Text = Fault, f.Error()
		}
		refusal.Text += words.Cards(t.shut)
		if e.Note != "" {
			refusal.Text += "; " + e.Note
		}
		r.Refusals = append(r.Refusals, refusal)
		b.stuck[b.cluster.Like(e)] = stuck{b.cluster.Changed, refusal.Reason, refusal.Text}
	}
}

// readable is the text of a note with the names of pods in the place of their UIDs.
// Those of other namespaces are nobody's business.
func (b *Books) readable(e *cluster.Entry, n *colloc.Note) string {
	text := n.Text
	for _, id := range []string{n.ID, n.Partner, n.Slow} {
		if id != "" {
			text = strings.ReplaceAll(text, id, b.cluster.NameFor(e, types.UID(id)))
		}
	}
	return text
}
