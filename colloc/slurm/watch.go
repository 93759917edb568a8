package slurm

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"example.com/colloc/colloc/slurm/site"
)

// Event is a change of one job.
type Event struct {
	// Job is the job as it is now. Was is the state that it was in before;
	// empty when it is seen for the first time.
	Job site.JobInfo  `json:"job"`
	Was site.JobState `json:"was,omitempty"`
}

// WatchOptions says how to watch. The zero value, or nil, is the documented
// default.
type WatchOptions struct {
	// Jobs are those to watch: Watch ends when all of them are over. None
	// watches every job, until the context ends.
	Jobs []site.JobID
	// Every is the time between two polls when something happens, 0 means 1 s;
	// Slowest the longest when nothing does, 0 means 30 s.
	Every, Slowest time.Duration
	// Wait waits; nil is the machine's clock. It returns ctx.Err() if that
	// comes first.
	Wait func(ctx context.Context, d time.Duration) error
}

// The defaults of [WatchOptions].
const (
	DefaultEvery   = time.Second
	DefaultSlowest = 30 * time.Second
)

// Watch polls the jobs and yields every change of state, restart or node, the
// jobs in Slurm's order; first each job as it is. The time between polls starts
// with Every and grows by half while nothing changes and while Slurm does not
// answer.
//
// A failed poll is yielded as an error with an empty Event; the loop decides:
// break, or go on, and the next poll comes later. A controller that restarts is
// [site.ErrNoCluster] for a moment and loses nothing. Watch ends with ctx.Err() as
// its last error when ctx ends.
//
// A job that Slurm no longer lists is looked for in the accounts; if there are
// none, or they do not know it, its state is [site.Forgotten]. That is the case for
// jobs that ended more than MinJobAge before the first poll.
func (c *Client) Watch(ctx context.Context, o *WatchOptions) iter.Seq2[Event, error] {
	w := watcher{client: c}
	if o != nil {
		w.WatchOptions = *o
	}
	if w.Every <= 0 {
		w.Every = DefaultEvery
	}
	w.Slowest = max(w.Slowest, w.Every)
	if o == nil || o.Slowest <= 0 {
		w.Slowest = max(DefaultSlowest, w.Every)
	}
	if w.Wait == nil {
		w.Wait = wait
	}
	return w.watch(ctx)
}

// wait is Wait of the machine's clock.
func wait(ctx context.Context, d time.Duration) error {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err()
}

type watcher struct {
	WatchOptions
	client *Client
}

func (w *watcher) watch(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var known []site.JobInfo
		pause := w.Every
		for {
			events, now, err := w.poll(ctx, known)
			if ctx.Err() != nil {
				break
			}
			if !report(yield, events, err) {
				return
			}
			if err == nil {
				known = now
			}
			if err == nil && w.done(known) {
				return
			}
			if len(events) > 0 {
				pause = w.Every
			}
			if w.Wait(ctx, pause) != nil {
				break
			}
			pause = min(w.Slowest, pause+pause/2)
		}
		yield(Event{}, ctx.Err())
	}
}

// report yields the events of one poll, or its error, and reports whether the
// loop goes on.
func report(yield func(Event, error) bool, events []Event, err error) bool {
	if err != nil {
		return yield(Event{}, err)
	}
	for _, e := range events {
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// done reports whether all jobs that were asked for are over.
func (w *watcher) done(known []site.JobInfo) bool {
	if len(w.Jobs) == 0 {
		return false
	}
	for i := range known {
		if !known[i].State.Over() {
			return false
		}
	}
	return true
}

// poll asks once and compares with what was known.
func (w *watcher) poll(ctx context.Context, known []site.JobInfo) ([]Event, []site.JobInfo, error) {
	now, err := w.client.Jobs(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(w.Jobs) > 0 {
		now = slices.DeleteFunc(now, func(j site.JobInfo) bool {
			return !slices.Contains(w.Jobs, j.ID) && !slices.Contains(w.Jobs, j.Array)
		})
	}
	now = append(now, w.lost(ctx, known, now)...)
	before := byID(known)
	var events []Event
	for i := range now {
		j := &now[i]
		was := before[j.ID]
		switch {
		case was == nil:
			events = append(events, Event{Job: *j})
		case was.State != j.State || was.Restarts != j.Restarts || !slices.Equal(was.Nodes, j.Nodes):
			events = append(events, Event{Job: *j, Was: was.State})
		}
	}
	return events, now, nil
}

// byID returns where each job is.
func byID(jobs []site.JobInfo) map[site.JobID]*site.JobInfo {
	at := make(map[site.JobID]*site.JobInfo, len(jobs))
	for i := range jobs {
		at[jobs[i].ID] = &jobs[i]
	}
	return at
}

// lost finds what became of jobs that Slurm does not list any more.
func (w *watcher) lost(ctx context.Context, known, now []site.JobInfo) []site.JobInfo {
	var reported, lost []site.JobInfo
	before, listed := byID(known), byID(now)
	arrays := make(map[site.JobID]bool)
	for i := range now {
		arrays[now[i].Array] = true
	}
	for _, id := range w.Jobs {
		if listed[id] == nil && !arrays[id] && before[id] == nil {
			lost = append(lost, site.JobInfo{ID: id, State: site.Forgotten})
		}
	}
	for _, j := range known {
		switch {
		case listed[j.ID] != nil:
		case !j.State.Over():
			j.State = site.Forgotten
			lost = append(lost, j)
		case len(w.Jobs) > 0: // else nobody waits for it
			reported = append(reported, j)
		}
	}
	w.client.askAccounts(ctx, lost)
	return append(reported, lost...)
}

// Ended returns how jobs ended that the controller does not list any more, in the order of
// ids, as the accounts say: [site.Forgotten] where there are none, or where they know of
// no end. It asks once, and does not wait.
func (c *Client) Ended(ctx context.Context, ids ...site.JobID) []site.JobInfo {
	jobs := make([]site.JobInfo, len(ids))
	for i, id := range ids {
		jobs[i] = site.JobInfo{ID: id, State: site.Forgotten}
	}
	c.askAccounts(ctx, jobs)
	return jobs
}

// askAccounts replaces what is forgotten by what the accounts have, if they can
// be asked.
func (c *Client) askAccounts(ctx context.Context, lost []site.JobInfo) {
	if len(lost) == 0 {
		return
	}
	ids := make([]site.JobID, len(lost))
	for i := range lost {
		ids[i] = lost[i].ID
	}
	records, err := read(ctx, c, site.ParseAccounting, "sacct", "--json", "--jobs="+joined(ids))
	if err != nil {
		return // Forgotten is the answer then
	}
	recorded := byID(records)
	for i := range lost {
		j := &lost[i]
		r := recorded[j.ID]
		switch {
		case r == nil || !r.State.Over():
		case j.Submitted.IsZero():
			*j = *r // it was never seen
		default:
			j.State, j.Reason, j.Ended, j.Exit, j.Signal = r.State, r.Reason, r.Ended, r.Exit, r.Signal
		}
	}
}

// Wait watches jobs until all of them are over and returns them in the order of
// ids, those of a job array in the order of their indices. It goes on while the
// controller does not answer. When ctx ends, those that were seen come with
// ctx.Err().
func (c *Client) Wait(ctx context.Context, o *WatchOptions, ids ...site.JobID) ([]site.JobInfo, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var options WatchOptions
	if o != nil {
		options = *o
	}
	options.Jobs = ids
	seen := make(map[site.JobID]site.JobInfo, len(ids))
	var failed error
	for e, err := range c.Watch(ctx, &options) {
		switch {
		case err == nil:
			seen[e.Job.ID] = e.Job
		case ctx.Err() != nil:
			failed = ctx.Err()
		case !errors.Is(err, site.ErrNoCluster):
			return nil, err
		}
	}
	return inOrder(seen, ids), failed
}

// inOrder sorts jobs by the first of ids that names them or their array, and
// then by index.
func inOrder(seen map[site.JobID]site.JobInfo, ids []site.JobID) []site.JobInfo {
	places := make(map[site.JobID]int, len(ids))
	for i, id := range slices.Backward(ids) {
		places[id] = i
	}
	place := func(j *site.JobInfo) int {
		own, known := places[j.ID]
		array, whole := places[j.Array]
		if !known || whole && array < own {
			return array
		}
		return own
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b site.JobInfo) int {
		return cmp.Or(cmp.Compare(place(&a), place(&b)), cmp.Compare(a.Index.Or(0), b.Index.Or(0)), cmp.Compare(a.ID, b.ID))
	})
}
