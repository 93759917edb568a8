package books

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc/kube/books/internal/brain"
	"example.com/colloc/colloc/kube/books/internal/cluster"
	"example.com/colloc/colloc/kube/books/internal/words"

	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/packer"
	"example.com/colloc/profile"
)

// place asks a Dispatcher about units, again where a node was full though the Dispatcher chose it. Each turn places
// one at least, makes room for one, or leaves one out.
func (b *Books) place(ctx context.Context, batch []*unit, r *Round) error {
	for len(batch) > 0 {
		t := &turn{books: b, batch: batch, shut: map[string]int{}, bands: b.bands()}
		again, err := t.run(ctx, r)
		if err != nil {
			return err
		}
		batch = again
	}
	return nil
}

// run asks once, and returns those that are to be asked about again.
func (t *turn) run(ctx context.Context, r *Round) (again []*unit, err error) {
	t.sort()
	brain, err := t.brain(t.offer())
	if err != nil {
		return nil, fmt.Errorf("books: decide: %w", err)
	}
	actions, err := brain.Decide(ctx, t.now)
	if err != nil {
		return nil, fmt.Errorf("books: decide: %w", err)
	}
	starts, stops := t.starts(actions)
	if never := t.meek(starts, stops, r); len(never) > 0 {
		return t.without(never), nil
	}
	decided, rooms := len(r.Decisions), len(t.books.rooms)
	pods, gangs := t.makeRoom(starts, stops, r)
	failed := t.reserve(gangs, r) // at once, for they may share cards
	floor := math.MinInt          // nobody of a lower class starts in the place of who is asked about again
	for _, u := range failed {
		floor = max(floor, u.priority())
	}
	for i, s := range pods {
		if s.unit.priority() < floor {
			again = append(again, s.unit)
		} else {
			failed = append(failed, t.reserve(pods[i:i+1], r)...)
		}
	}
	if len(r.Decisions) > decided || len(t.books.rooms) > rooms {
		again = append(again, failed...)
	} else if len(failed) > 0 {
		again = t.without(failed) // nothing moves
	}
	t.refuse(brain, again, r)
	return again, nil
}

// starts sorts what is to be done: the starts of the batch, and by card the jobs that stop there.
func (t *turn) starts(actions []dispatch.Action) (list []start, stops map[string][]string) {
	stops, t.coming = map[string][]string{}, map[string]int{}
	for i := range actions {
		a := &actions[i]
		switch u := t.units[a.Job]; {
		case a.Verb == dispatch.Stop:
			for _, id := range a.GPUs {
				stops[id] = append(stops[id], a.Job)
			}
		case a.Verb == dispatch.Start && u != nil: // else one that stopped would go on elsewhere
			list = append(list, start{u, a})
			for _, id := range a.GPUs {
				t.coming[id]++
			}
		}
	}
	return list, stops
}

// without are the units of the batch but for some.
func (t *turn) without(some []*unit) []*unit {
	return slices.DeleteFunc(slices.Clone(t.batch), func(u *unit) bool { return slices.Contains(some, u) })
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
	for _, u := range t.batch {
		first = earlier(first, u.first().Pod.CreationTimestamp.Time)
	}
	for i := range runs {
		runs[i].Job.Came = profile.Some(runs[i].Came.Sub(first))
	}
	d, err := brain.New(b.config.Planner, seen, runs, first, now, b.looksAhead())
	if err != nil {
		return nil, err
	}
	t.now = now.Sub(first)
	if err := t.entitle(d); err != nil {
		return nil, err
	}
	for _, u := range t.batch {
		job := t.job(u.first())
		if u.gang != nil {
			job.Task = t.asGang(u, &job.Task)
		}
		job.Came = profile.Some(earlier(now, u.first().Pod.CreationTimestamp.Time).Sub(first))
		u.fault = d.Tell(t.now, dispatch.Submitted{Job: job})
		if bars := u.shape.bars; u.fault == nil && len(bars) > 0 {
			u.fault = d.Tell(t.now, dispatch.Barred{Job: u.job, GPUs: bars})
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
// the newest of those that are over, which teach how long such tasks take. A gang of which not all cards
// are shown has one on each.
func (t *turn) runs(seen []colloc.GPU, now time.Time) []brain.Run {
	b := t.books
	var list []brain.Run
	at := map[string]int{} // by job
	for e, cards := range t.present(seen) {
		since, _ := pods.Ran(e.Pod)
		if since.IsZero() {
			since = e.Since
		}
		if since.IsZero() || since.After(now) {
			since = now
		}
		l := brain.Run{Job: brain.Outlived(t.job(e), now.Sub(since)), Cards: cards, Came: earlier(since, e.Pod.CreationTimestamp.Time), Since: since}
		if t.yields(e) {
			l.Job.Restart = profile.Some(dear)
		}
		l.Job.ID = job(e)
		if i, known := at[l.Job.ID]; !known {
			at[l.Job.ID] = len(list)
			list = append(list, l)
		} else {
			r := &list[i]
			r.Cards, r.Came = append(r.Cards, cards...), earlier(r.Came, l.Came)
			if r.Since.Before(l.Since) {
				r.Since = l.Since
			}
		}
	}
	list = t.split(list)
	if b.looksAhead() {
		var over []brain.Run
		for _, f := range b.finished {
			if _, shown := t.residents[f.card]; shown && f.took > 0 && !f.since.Add(f.took).After(now) {
				over = append(over, brain.Run{Job: dispatch.Job{Task: f.task, User: f.user, Fixed: true}, Cards: []string{f.card}, Came: earlier(f.since, f.came), Since: f.since, Till: f.since.Add(f.took)})
			}
		}
		slices.SortFunc(over, func(x, y brain.Run) int { return cmp.Or(y.Till.Compare(x.Till), cmp.Compare(x.Job.ID, y.Job.ID)) })
		list = append(list, over[:min(len(over), mostOver)]...)
	}
	return list
}

// dear is what a restart costs, so that nobody stops for what the rest of the day gains, but only for a higher class.
const dear = 365 * 24 * time.Hour

// split gives a gang of which not all cards are shown a run on each, which does not stop.
func (t *turn) split(runs []brain.Run) []brain.Run {
	var list []brain.Run
	for _, l := range runs {
		g := t.bands[l.Job.ID]
		if g == nil {
			list = append(list, l)
			continue
		}
		slices.Sort(l.Cards)
		all := 0
		for _, e := range g.placed {
			all += len(e.At.GPUs())
		}
		if l.Job.GPUs = len(l.Cards); l.Job.GPUs == all {
			list = append(list, l)
			continue
		}
		for _, id := range l.Cards {
			one := l
			one.Job.ID, one.Job.GPUs, one.Cards, one.Job.Restart = l.Job.ID+"@"+id, 1, []string{id}, profile.Opt[time.Duration]{}
			list = append(list, one)
		}
	}
	return list
}

// mostOver is of how many runs that are over it is told.
const mostOver = 256

// present are those on the cards that are shown and do not go, each with those that it has.
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
		here := t.staying(t.books.cluster.Cards[id])
		t.residents[id] = len(here)
		for _, e := range here {
			all[e] = append(all[e], id)
		}
	}
	return all
}

// refuse says why those wait that did not start, and that they were tried. What was said before is not said again.
func (t *turn) refuse(brain *dispatch.Dispatcher, again []*unit, r *Round) {
	b := t.books
	if len(b.stuck) > maxStuck {
		clear(b.stuck)
	}
	asked := map[cluster.Likeness]stuck{}
	for _, u := range t.batch {
		e := u.first()
		if e.State != cluster.Idle || slices.Contains(again, u) || e.Tried == b.cluster.Changed {
			continue
		}
		like := b.cluster.Like(e)
		said, known := asked[like]
		if u.fault != nil {
			said = stuck{b.cluster.Changed, Fault, u.fault.Error()}
		} else if !known || u.gang != nil {
			said = t.why(brain, u)
		}
		if u.gang != nil {
			b.wait(r, u.pods, said.reason, u.gang.String()+": "+said.text)
			continue
		}
		asked[like], b.stuck[like] = said, said
		if e.Note != "" {
			said.text += "; " + e.Note
		}
		b.wait(r, u.pods, said.reason, said.text)
	}
}

// why says why one of the batch waits.
func (t *turn) why(brain *dispatch.Dispatcher, u *unit) stuck {
	b, nodes := t.books, u.shape.refuses
	said := stuck{b.cluster.Changed, NoNode, words.Nodes(b.cluster.Offering(), nodes)}
	why, err := brain.Why(u.job)
	if err == nil && why.Code == dispatch.OverLimit {
		said.reason = OverLimit
		said.text = fmt.Sprintf("namespace %s holds %d GPUs of the %d that it may, a shared one counted for each pod", why.Name, why.GPUs, why.Limits.GPUs.Or(0))
		return said
	}
	if err == nil && why.Placing.Code != 0 && !words.Everywhere(b.cluster.Offering(), nodes) {
		text := b.readable(u, &why.Placing)
		if said.reason = words.Reason(why.Placing.Code.String()); u.gang != nil {
			text += "; " + said.text
		}
		said.text = text
	}
	said.text += words.Cards(t.shut)
	return said
}

// readable is the text of a reason with the names of pods in the place of their UIDs, and
// without that of the gang. Those of other namespaces are nobody's business.
func (b *Books) readable(u *unit, n *packer.Reason) string {
	text := n.String()
	for _, id := range append([]string{n.ID, n.Partner, n.Slow}, n.Beside...) {
		if id == "" {
			continue
		}
		uid, _, _ := strings.Cut(id, "@")
		name := "it"
		if uid != u.job {
			name = b.cluster.NameFor(u.first(), types.UID(uid))
		}
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}
