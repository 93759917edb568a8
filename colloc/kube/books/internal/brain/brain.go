package brain

import (
	"cmp"
	"slices"
	"time"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/profile"
)

// Run is a run of a job on its cards.
type Run struct {
	Job         dispatch.Job
	Cards       []string
	Came        time.Time // the job
	Since, Till time.Time // Till is zero while it runs
}

// recent is after how long GPU time counts half: what a user has counts, and next to nothing of what the user had, which
// is known only as long as the pods are there.
const recent = 100 * time.Millisecond

// New returns a Dispatcher that was told of cards and of all runs there in the order of time, so that speeds say how far those
// are that go on, and those that are over teach how long such take. Its clock is 0 at first. A card
// with more runs than it can be told of takes nobody. Without ahead those who wait start in their order.
func New(mind dispatch.Mind, cards []colloc.GPU, runs []Run, first, now time.Time, ahead bool) (*dispatch.Dispatcher, error) {
	o := dispatch.Options{AtOnce: true, HalfLife: recent}
	if !ahead {
		o.Scheduler.Budget = profile.Some(0)
	}
	d, err := dispatch.New(mind, &o)
	if err != nil {
		return nil, err
	}
	events := make([]dispatch.Event, len(cards))
	for i := range cards {
		events[i] = dispatch.GPUAdded{GPU: cards[i]}
	}
	if err := d.Tell(0, events...); err != nil {
		return nil, err
	}
	slices.SortFunc(runs, func(x, y Run) int {
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Job.ID, y.Job.ID))
	})
	var ends []int // by when
	for i := range runs {
		if !runs[i].Till.IsZero() {
			ends = append(ends, i)
		}
	}
	slices.SortStableFunc(ends, func(x, y int) int { return runs[x].Till.Compare(runs[y].Till) })
	until := func(at time.Time) {
		for ; len(ends) > 0 && !runs[ends[0]].Till.After(at); ends = ends[1:] {
			r := &runs[ends[0]]
			_ = d.Tell(r.Till.Sub(first), dispatch.Ended{Job: r.Job.ID, Run: uint64(ends[0]) + 1, How: dispatch.Done}) // one that could not be told of is unknown
		}
	}
	for i := range runs {
		r := &runs[i]
		until(r.Since)
		at := r.Since.Sub(first)
		if err := d.Tell(at, dispatch.Adopted{Job: r.Job, Run: uint64(i) + 1, GPUs: r.Cards}); err != nil && r.Till.IsZero() {
			for _, id := range r.Cards {
				_ = d.Tell(at, dispatch.Drained{GPU: id}) // once is enough
			}
		}
	}
	until(now)
	return d, nil
}

// Outlived doubles how long a job is taken to last as often as it has run for longer, at what it loses to company.
func Outlived(j dispatch.Job, ran time.Duration) dispatch.Job {
	const speed = .7
	length, told := j.Left.Get()
	for told && length > 0 && float64(length) < speed*float64(ran) {
		length *= 2
		j.Left = profile.Some(length)
	}
	return j
}
