package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/slurm/site"
)

// steward keeps a sweep going until every task is over.
type steward struct {
	*program
	*desk

	retries int
	chatty  bool                        // what each job does is said
	taught  int                         // sets
	seen    map[site.JobID]site.JobInfo // all jobs of the sweep
	told    map[string]fate
	freed   map[site.JobID]int // how often a job was released that a node could not start
	planned bool
	version os.FileInfo     // of the sweep file
	wrong   string          // what was last said of it
	wronged map[string]int  // looks in which Slurm counted GPUs of a node as used that no job has
	recall  map[string]bool // tasks whose jobs are to be taken back if they wait
}

func newSteward(p *program, d *desk) *steward {
	d.patience = 3
	return &steward{program: p, desk: d, seen: make(map[site.JobID]site.JobInfo), freed: make(map[site.JobID]int), told: make(map[string]fate), recall: make(map[string]bool)}
}

// stay submits what is pending, and goes on until every task is over.
func (p *program) stay(ctx context.Context, d *desk, retries int) error {
	w := newSteward(p, d)
	w.keeps, w.retries = true, max(0, retries)
	err := w.loop(ctx, func(ctx context.Context) (changed, over bool, err error) {
		came := w.reread()
		changed, over, err = w.round(ctx)
		return changed || came, over && !w.reread(), err
	})
	if err != nil {
		return err
	}
	return w.end()
}

// loop looks until a round says that all is over, or the user has had enough: sooner again after one in which something
// changed.
func (w *steward) loop(ctx context.Context, round func(context.Context) (changed, over bool, err error)) error {
	every, slowest := cmp.Or(w.every, time.Second), cmp.Or(w.slowest, 30*time.Second)
	var bad failures
	for pause := every; ; pause = min(slowest, pause+pause/2) {
		changed, over, err := round(ctx)
		switch goOn := bad.bears(err); {
		case ctx.Err() != nil:
			return fmt.Errorf("%w: what was submitted stays in Slurm; the same command goes on with it", ctx.Err())
		case err != nil && goOn:
			fmt.Fprintf(w.stderr, "colloc slurm: %v: trying again\n", err)
		case err != nil || over:
			return err
		case changed:
			pause = every
		}
		rest(ctx, pause)
	}
}

// watch looks once, and learns.
func (w *steward) watch(ctx context.Context) (changed, over bool, err error) {
	_, h, err := w.look(ctx, w.desk)
	if err != nil {
		return false, false, err
	}
	changed, over = w.tell(h), true
	for _, f := range h.fates {
		over = over && f != active
	}
	n, err := w.learn(ctx, w.desk, w.seen)
	w.taught += n
	return changed, over, errors.Join(err, w.save()) // the ends of tasks: Slurm forgets them
}

// round looks once, and does what there is to do. It reports whether something
// changed, and whether nothing is left to wait for.
func (w *steward) round(ctx context.Context) (changed, over bool, err error) {
	state, h, err := w.look(ctx, w.desk)
	if err != nil {
		return false, false, err
	}
	if err := w.save(); err != nil { // the ends of tasks: Slurm forgets them
		return false, false, err
	}
	changed = w.tell(h)
	w.count(state)
	if err := cmp.Or(w.free(ctx, h), w.putBack(ctx, h)); err != nil {
		return changed, false, err
	}
	if _, err := w.learn(ctx, w.desk, w.seen); err != nil {
		return changed, false, err
	}
	marked, err := w.mark(ctx, state, h)
	if err != nil {
		return changed, false, err
	}
	if marked {
		if err := errors.Join(w.save(), w.withdraw(w.desk)); err != nil {
			return changed, false, err
		}
		if state, h, err = w.look(ctx, w.desk); err != nil {
			return changed, false, err
		}
	}
	waits, more, err := w.plan(ctx, state, h)
	if err != nil || more {
		return true, false, err
	}
	for _, e := range w.sweep.tasks {
		waits = waits || h.fates[e.ID] == active
	}
	return changed, !waits, nil
}

// tell says what changed since the last round.
func (w *steward) tell(h *past) bool {
	changed := false
	ours := w.record.tasks()
	for id, j := range h.all {
		if was := w.seen[id]; ours[id] != nil || w.sweep.mine(j) {
			moved := was.State != j.State || was.Restarts != j.Restarts
			changed = changed || moved
			if moved && w.chatty {
				fmt.Fprintf(w.stdout, "job %d %s: %s %v %s\n", j.ID, j.Name, j.State, j.Nodes, j.Reason)
			}
			if ours[id] != nil && was.Reason != j.Reason && !ordinary(j) {
				fmt.Fprintf(w.stdout, "job %d of %q waits in Slurm: %s\n", id, ours[id], j.Reason)
			}
			keep(w.seen, *j)
		}
	}
	for _, e := range w.sweep.tasks {
		f := h.fates[e.ID]
		if f == w.told[e.ID] {
			continue
		}
		changed = true
		w.told[e.ID] = f
		word := strings.TrimSuffix(f.String(), ": planned again")
		if f != fresh && f != active {
			fmt.Fprintf(w.stdout, "%q: %s (job %d)\n", e.ID, word, h.jobs[e.ID])
		}
	}
	return changed
}

// ordinary reports whether a job runs, is over, or waits for what comes by itself.
func ordinary(j *site.JobInfo) bool {
	switch j.Reason {
	case "", "Resources", "Priority", "Dependency", "BeginTime", "Licenses":
		return true
	default:
		return j.State.Holds() || j.State.Over()
	}
}

// free releases jobs that Slurm put back and holds because their node could not start them:
// nobody else would. Where that happens again and again it is left to people.
func (w *steward) free(ctx context.Context, h *past) error {
	const most = 3
	for id := range w.record.tasks() {
		j := h.all[id]
		if j == nil || j.State.Holds() || j.State.Over() || !strings.Contains(strings.ReplaceAll(j.Reason, "_", " "), "launch failed requeued held") || w.freed[id] >= most {
			continue
		}
		w.freed[id]++
		if err := w.client.Release(ctx, id); errors.Is(err, site.ErrNoCluster) {
			return err
		}
	}
	return nil
}

// count says once of each node that Slurm counts GPUs wrongly, when it does so in two looks.
func (w *steward) count(state *site.State) {
	was := w.wronged
	w.wronged = make(map[string]int)
	for _, node := range state.Miscounted() {
		if w.wronged[node] = was[node] + 1; was[node] == 1 {
			fmt.Fprintf(w.stderr, "colloc slurm submit: %s\n", miscounted(node))
		}
	}
}

// putBack puts jobs that go to any GPU and got none back into the queue, in the place that they had: a job submitted
// anew would stand behind all that came since. A slurmctld that began gives GPUs away twice until its nodes have told
// what they have, so they wait for that.
func (w *steward) putBack(ctx context.Context, h *past) error {
	const told = 10 * time.Second
	for _, id := range h.again {
		err := w.client.Requeue(ctx, id, told)
		if errors.Is(err, site.ErrNoCluster) {
			return err
		}
		w.placeless[id] = err != nil
		if err == nil {
			fmt.Fprintf(w.stdout, "job %d got no GPU from Slurm: it is back in its place in the queue\n", id)
		}
	}
	return nil
}

// wanted are the tasks to plan, but for those of which nothing more is to be hoped.
func (w *steward) wanted(h *past) []colloc.Task {
	return slices.DeleteFunc(w.pending(h), func(t colloc.Task) bool {
		if n := h.tries[t.ID]; n > w.retries {
			w.impossible[t.ID] = fmt.Sprintf("failed %d times, and -retries is %d: a larger one runs it again", n, w.retries)
		}
		return h.turned[t.ID] > mostTurned || h.lost[t.ID] > mostLost || w.impossible[t.ID] != ""
	})
}

// plan submits what is pending. It reports whether something waits outside Slurm, and
// whether something was submitted.
func (w *steward) plan(ctx context.Context, state *site.State, h *past) (waits, submitted bool, err error) {
	pending := w.wanted(h)
	if len(pending) == 0 {
		return false, false, nil
	}
	out, err := w.arrange(ctx, state, pending)
	if err != nil {
		return false, false, err
	}
	if !w.planned {
		w.planned = true
		if err := w.explain(out, false); err != nil {
			return false, false, err
		}
	}
	for _, r := range out.refused {
		w.impossible[r.task] = r.why
	}
	for i := range out.plan.Waits {
		if r := &out.plan.Waits[i]; vain(r) {
			w.impossible[r.Job] = "fits no GPU of the cluster, however empty: " + r.String()
		}
	}
	if len(out.jobs) == 0 {
		return slices.ContainsFunc(pending, func(t colloc.Task) bool { return w.impossible[t.ID] == "" }), false, nil
	}
	before := len(w.record.Sets)
	err = w.submitJobs(ctx, w.desk, out)
	submitted = len(w.record.Sets) > before
	if err != nil && !errors.Is(err, site.ErrNoCluster) && !errors.Is(err, site.ErrPermission) && ctx.Err() == nil { // such as a limit on submitted jobs
		fmt.Fprintf(w.stderr, "colloc slurm submit: %v\n", err)
		err = nil
	}
	return true, submitted, err
}

// lease is for how long Slurm may look at a job before it counts as one that waits.
const lease = 5 * time.Second

// mark marks in the record the jobs that wait in vain, or that could run now beside
// tasks of the sweep: jobs bound to a node that takes none, and those whose tasks would
// start where shares of a GPU are free. An empty GPU is left to Slurm's queue, in
// which others may stand before us; but a job that is bound to a GPU which somebody
// else took goes to any.
func (w *steward) mark(ctx context.Context, state *site.State, h *past) (bool, error) {
	var wait []colloc.Task
	bound := make(map[string]bool) // of tasks in jobs that wait: whether to a GPU
	again := make(map[site.JobID]bool)
	marked := false
	for m := range w.record.members() {
		j, e := h.all[m.Job], w.sweep.byID[m.Task]
		_, twice := bound[m.Task]
		marked = marked || m.Taken
		switch {
		case j == nil || j.State != site.Pending || j.Restarts > 0:
		case w.recall[m.Task]:
			again[m.Job] = true
		case strings.HasPrefix(j.Reason, "JobHeld") || j.Reason == "Dependency" || e == nil || w.sweep.ownGPUs(e):
		case slices.ContainsFunc(j.Required, func(node string) bool { n := state.Node(node); return n == nil || !n.Up() }):
			again[m.Job] = true
		case w.now().Sub(j.Submitted) > lease && !twice:
			bound[m.Task] = len(j.Required) > 0
			wait = append(wait, e.task)
		}
	}
	clear(w.recall)
	sooner, err := w.sooner(ctx, state, h, wait, bound)
	if err != nil {
		return false, err
	}
	for _, task := range sooner {
		again[h.jobs[task]] = true
	}
	for m := range w.record.members() {
		if again[m.Job] {
			m.Taken, marked = true, true
		}
	}
	return marked, nil
}

// sooner are tasks of jobs that wait which could start now, beside those that have no job yet.
func (w *steward) sooner(ctx context.Context, state *site.State, h *past, wait []colloc.Task, bound map[string]bool) (tasks []string, err error) {
	if len(wait) == 0 {
		return nil, nil
	}
	all := make(map[string]colloc.Task)
	for _, t := range slices.Concat(wait, w.wanted(h)) {
		all[t.ID] = t
	}
	var inTurn []colloc.Task // as they will be planned
	for _, e := range w.sweep.tasks {
		if t, waits := all[e.ID]; waits && !w.sweep.ownGPUs(e) {
			inTurn = append(inTurn, t)
		}
	}
	m, err := w.ask(newOutline(w.sweep), state, inTurn)
	if err != nil {
		return nil, err
	}
	for _, g := range m.gpus {
		if len(g.Residents) > 0 {
			continue
		}
		for _, t := range wait {
			if !bound[t.ID] {
				m.bars[t.ID] = append(m.bars[t.ID], g.ID)
			}
		}
	}
	for id, gpus := range m.bars {
		if _, asked := m.tasks[id]; !asked {
			continue
		}
		if err := m.Tell(0, dispatch.Barred{Job: id, GPUs: gpus}); err != nil {
			return nil, err
		}
	}
	starts, err := m.start(ctx, newOutline(w.sweep))
	for _, a := range starts {
		if _, waits := bound[a.Job]; waits {
			tasks = append(tasks, a.Job)
		}
	}
	return tasks, err
}

// end says how it went: nil if every task ended well.
func (w *steward) end() error {
	var bad []string
	for _, e := range w.sweep.tasks {
		if w.told[e.ID] == done {
			continue
		}
		bad = append(bad, fmt.Sprintf("%q", e.ID))
		if why := w.impossible[e.ID]; why != "" {
			fmt.Fprintf(w.stdout, "no job: %q %s\n", e.ID, why)
		}
	}
	fmt.Fprintf(w.stdout, "%d of %d tasks are done\n", len(w.sweep.tasks)-len(bad), len(w.sweep.tasks))
	if len(bad) == 0 {
		return nil
	}
	_ = w.failures(w.sweep, w.record, w.seen) // prints what they said last; more is known here
	return fmt.Errorf("did not end well: %s", strings.Join(bad, ", "))
}
