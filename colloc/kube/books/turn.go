package books

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/kube/books/internal/brain"
	"example.com/colloc/colloc/kube/books/internal/cluster"
	"example.com/colloc/colloc/kube/books/internal/words"

	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/ledger"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// turn is one question to a Dispatcher.
type turn struct {
	books  *Books
	batch  []*cluster.Entry
	shapes []*cluster.Entry  // one pod of each shape
	of     map[types.UID]int // shape of a pod
	holder string            // for whom a card may be kept that it is shown
	shut   map[string]int    // how many cards of nodes that are open are shut for what

	refuses   []map[string]int // by shape: how many nodes refuse it for what
	residents map[string]int   // by card that is shown
	product   string           // of all cards that are shown; empty if they differ
	now       time.Duration    // since the first of them came
	faults    map[string]error // by task
}

// run asks once, and returns those that could be asked again because their node was full
// though the Dispatcher chose it.
func (t *turn) run(ctx context.Context, r *Round) (again []*cluster.Entry, err error) {
	b := t.books
	t.number()
	seen, err := t.offer()
	if err != nil {
		return nil, err
	}
	brain, err := t.brain(seen)
	if err != nil {
		return nil, fmt.Errorf("books: decide: %w", err)
	}
	actions, err := brain.Decide(ctx, t.now)
	if err != nil {
		return nil, fmt.Errorf("books: decide: %w", err)
	}
	company := map[string]int{}
	for i := range actions {
		company[actions[i].GPUs[0]]++
	}
	decided := len(r.Decisions)
	for i := range actions {
		a := &actions[i]
		e := b.cluster.Tasks[types.UID(a.Job)]
		if d, ok := t.reserve(e, a, company[a.GPUs[0]]-1); ok {
			r.Decisions = append(r.Decisions, d)
		} else {
			again = append(again, e)
		}
	}
	if len(r.Decisions) == decided {
		again = nil // nothing moves: they wait
	}
	t.refuse(brain, again, r)
	return again, nil
}

// brain is a Dispatcher that is told how things are, and of the batch.
func (t *turn) brain(seen []colloc.GPU) (*dispatch.Dispatcher, error) {
	b := t.books
	now := b.config.Now()
	runs := t.runs(seen, now)
	first := now
	for i := range runs {
		first = earlier(first, runs[i].Came)
	}
	for _, e := range t.batch {
		first = earlier(first, e.Pod.CreationTimestamp.Time)
	}
	for i := range runs {
		runs[i].Job.Came = profile.Some(runs[i].Came.Sub(first))
	}
	d, err := brain.New(b.config.Planner, seen, runs, first, now, b.looksAhead())
	if err != nil {
		return nil, err
	}
	t.now, t.faults = now.Sub(first), map[string]error{}
	for _, e := range t.batch {
		job := t.job(e)
		job.Came = profile.Some(earlier(now, e.Pod.CreationTimestamp.Time).Sub(first))
		if err := d.Tell(t.now, dispatch.Submitted{Job: job}); err != nil {
			t.faults[e.Task.ID] = err
		}
	}
	return d, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// runs are those on the cards that are shown: those that go on, and where it is looked ahead
// the newest of those that are over, which teach how long such tasks take. A pod that has several cards, of which not all
// may be shown, has one on each.
func (t *turn) runs(seen []colloc.GPU, now time.Time) []brain.Run {
	b := t.books
	var list []brain.Run
	for e, cards := range t.present(seen) {
		since, _ := pods.Ran(e.Pod)
		if since.IsZero() {
			since = e.Since
		}
		if since.IsZero() || since.After(now) {
			since = now
		}
		for _, id := range cards {
			l := brain.Run{Job: brain.Outlived(t.job(e), now.Sub(since)), Card: id, Came: earlier(since, e.Pod.CreationTimestamp.Time), Since: since}
			if l.Job.GPUs > 1 || e.Gang.Key != "" {
				l.Job.ID, l.Job.GPUs = l.Job.ID+"@"+id, 1
			}
			list = append(list, l)
		}
	}
	if b.looksAhead() {
		var over []brain.Run
		for _, f := range b.finished {
			if _, shown := t.residents[f.card]; shown && f.took > 0 && !f.since.Add(f.took).After(now) {
				over = append(over, brain.Run{Job: dispatch.Job{Task: t.alike(f.task), Fixed: true}, Card: f.card, Came: earlier(f.since, f.came), Since: f.since, Till: f.since.Add(f.took)})
			}
		}
		slices.SortFunc(over, func(x, y brain.Run) int { return cmp.Or(y.Till.Compare(x.Till), cmp.Compare(x.Job.ID, y.Job.ID)) })
		list = append(list, over[:min(len(over), mostOver)]...)
	}
	return list
}

// mostOver is of how many runs that are over it is told.
const mostOver = 256

// present are those on the cards that are shown, each with those that it has.
func (t *turn) present(seen []colloc.GPU) map[*cluster.Entry][]string {
	all := map[*cluster.Entry][]string{}
	t.residents = map[string]int{}
	for i := range seen {
		id := seen[i].ID
		switch name := seen[i].Model.Canonical(); {
		case i == 0:
			t.product = name
		case t.product != name:
			t.product = ""
		}
		here := t.books.cluster.Cards[id].Here
		t.residents[id] = len(here)
		for _, e := range here {
			all[e] = append(all[e], id)
		}
	}
	return all
}

// job is a task with how long it takes: as its annotation says, or else its owner's others. What is reserved for one
// that runs is what its annotation says, whatever is predicted. Of several Profiles it has the one of the cards that
// are shown, if they are of one product, and reserves what all of them tell.
func (t *turn) job(e *cluster.Entry) dispatch.Job {
	b := t.books
	j := dispatch.Job{Task: e.Task}
	switch {
	case e.State == cluster.Idle:
		shape := shapeLabel(t.of[e.Pod.UID])
		j.On, j.Kind = []string{shape}, j.Kind+"|"+shape
	case e.Gang.Key != "":
		j.Task, j.Fixed = b.cluster.Booked(e), true
	default:
		j.Task, j.Fixed = t.alike(e.Task), true
		j.Reserved = e.At.Reserved
	}
	if len(j.Elsewhere) > 0 {
		if _, reserve, err := b.config.Planner.Memory(j.Task); err == nil && j.Reserved == 0 {
			j.Reserved = reserve
		}
		for _, p := range j.Elsewhere {
			if p.GPU.Canonical() == t.product {
				j.Profile = p
			}
		}
		j.Elsewhere = nil
	}
	if d, err := api.ReadDemand(e.Pod.Annotations); err == nil && !d.Length.IsZero() {
		j.Left = d.Length
	} else if l := b.lengths[owner(e.Pod)]; l.pods > 0 {
		j.Left = profile.Some(l.sum / time.Duration(l.pods))
	}
	return j
}

// alike is a task that runs or ran, of the Kind of those that wait where they are of one shape.
func (t *turn) alike(task colloc.Task) colloc.Task {
	if task.Kind += "|" + shapeLabel(0); len(t.shapes) == 1 {
		task.On = []string{shapeLabel(0)}
	} else {
		task.Kind += "|runs"
	}
	return task
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
			t.refuses = append(t.refuses, map[string]int{})
		}
		t.of[e.Pod.UID] = n
	}
}

func shapeLabel(n int) string { return fmt.Sprintf("shape %d", n) }

// offer returns the cards that the Dispatcher is shown, labelled with the shapes that their
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
		if takes == "" || !b.looksAhead() && shown[g] >= len(t.batch) {
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
			t.refuses[i][why]++
			continue
		}
		list = append(list, shapeLabel(i))
		fmt.Fprintf(&key, "%d ", i)
	}
	labels[key.String()] = list
	return key.String()
}

// reserve books a task where the Dispatcher starts it, unless its node has become too full for
// it in this round.
func (t *turn) reserve(e *cluster.Entry, a *dispatch.Action, others int) (Decision, bool) {
	b, id := t.books, a.GPUs[0]
	d := b.cluster.Cards[id]
	if d == nil || b.cluster.Refuses(d.Node, e) != "" {
		return Decision{}, false
	}
	usable := colloc.Usable(d.GPU.Total(), b.config.Planner.Config().Headroom.Or(packer.DefaultHeadroom))
	at := api.Placement{Node: d.Node.Name, Device: d.Device, Address: d.Address, Reserved: usable}
	if _, whole, err := b.config.Planner.Memory(e.Task); err == nil && whole < usable {
		at.Reserved = min(a.Reserve, usable) // else it is the whole card
	}
	view, err := b.cluster.Ledger.View(id)
	if err != nil {
		return Decision{}, false
	}
	e.Lease, err = b.cluster.Ledger.Reserve(view.Version, ledger.Claim{Task: pods.Booked(e.Task, at.Reserved), GPU: id})
	if err != nil {
		return Decision{}, false
	}
	company := len(d.Here)
	e.State = cluster.Writing
	b.cluster.DropRoom(e)
	b.cluster.List(e, at)
	text := fmt.Sprintf("on %s %s: speed %.2f, reserves %v of %v", id, with(t.residents[id]+others), a.Speed, at.Reserved, usable)
	if e.Note != "" {
		text += "; " + e.Note
	}
	return Decision{Pod: e.Pod, At: at, Left: e.Left, Speed: a.Speed, Company: company, Text: text}, true
}

// with says with how many others a task shares its card.
func with(others int) string {
	switch others {
	case 0:
		return "alone"
	case 1:
		return "with one other task"
	}
	return fmt.Sprintf("with %d other tasks", others)
}

// refuse says why those wait that did not start, and that they were tried. What was said before is not said again.
func (t *turn) refuse(brain *dispatch.Dispatcher, again []*cluster.Entry, r *Round) {
	b := t.books
	if len(b.stuck) > maxStuck {
		clear(b.stuck)
	}
	asked := map[cluster.Likeness]stuck{}
	for _, e := range t.batch {
		if e.State != cluster.Idle || slices.Contains(again, e) || e.Tried == b.cluster.Changed {
			continue
		}
		e.Tried = b.cluster.Changed
		like := b.cluster.Like(e)
		said, known := asked[like]
		if fault := t.faults[e.Task.ID]; fault != nil {
			said = stuck{b.cluster.Changed, Fault, fault.Error()}
		} else if !known {
			said = t.why(brain, e)
			asked[like] = said
		}
		b.stuck[like] = said
		if e.Note != "" {
			said.text += "; " + e.Note
		}
		r.Refusals = append(r.Refusals, said.refusal(e))
	}
}

// why says why one of the batch waits.
func (t *turn) why(brain *dispatch.Dispatcher, e *cluster.Entry) stuck {
	b, nodes := t.books, t.refuses[t.of[e.Pod.UID]]
	said := stuck{b.cluster.Changed, NoNode, words.Nodes(b.cluster.Offering(), nodes)}
	if why, err := brain.Why(e.Task.ID); err == nil && why.Placing.Code != 0 && !words.Everywhere(b.cluster.Offering(), nodes) {
		said.reason, said.text = words.Reason(why.Placing.Code.String()), b.readable(e, &why.Placing)
	}
	said.text += words.Cards(t.shut)
	return said
}

// readable is the text of a reason with the names of pods in the place of their UIDs.
// Those of other namespaces are nobody's business.
func (b *Books) readable(e *cluster.Entry, n *packer.Reason) string {
	text := n.String()
	for _, id := range append([]string{n.ID, n.Partner, n.Slow}, n.Beside...) {
		if id != "" {
			uid, _, _ := strings.Cut(id, "@")
			text = strings.ReplaceAll(text, id, b.cluster.NameFor(e, types.UID(uid)))
		}
	}
	return text
}
