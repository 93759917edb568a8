package books

import (
	"math"
	"slices"
	"time"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/profile"
)

// turn is one question to a Dispatcher.
type turn struct {
	books  *Books
	batch  []*unit
	units  map[string]*unit // the batch by job
	bands  map[string]*band
	shapes []*shape
	shut   map[string]int // how many cards of nodes that are open are shut for what

	residents map[string]int // by card that is shown
	coming    map[string]int // by card
	product   string         // of all cards that are shown; empty if they differ
	now       time.Duration  // since the first of them came
}

// shape is what all nodes say the same to.
type shape struct {
	unit    *unit          // one of those that have it
	bars    []string       // cards that are shown and that these may not have
	refuses map[string]int // how many nodes refuse them for what
}

// start is where the Dispatcher starts a unit.
type start struct {
	unit   *unit
	action *dispatch.Action
}

// sort finds the shapes of the batch.
func (t *turn) sort() {
	t.units = make(map[string]*unit, len(t.batch))
	type key struct {
		shape      string
		pods, gpus int
		only       string
		priority   int
	}
	known := map[key]*shape{}
	for _, u := range t.batch {
		k := key{shape: t.books.cluster.Key(u.first())}
		if u.gang != nil {
			k = key{k.shape, len(u.pods), u.each(), u.only(), u.priority()}
		}
		if known[k] == nil {
			known[k] = &shape{unit: u, refuses: map[string]int{}}
			t.shapes = append(t.shapes, known[k])
		}
		u.shape, u.fault, t.units[u.job] = known[k], nil, u
	}
}

// job is a task with how long it takes: as its annotation says, or else its owner's others. What is reserved for one
// that runs is what its annotation says, whatever is predicted. Of several Profiles it has the one of the cards that
// are shown, if they are of one product, and reserves what all of them tell.
func (t *turn) job(e *cluster.Entry) dispatch.Job {
	b := t.books
	j := dispatch.Job{Task: e.Task, User: e.Pod.Namespace}
	switch {
	case e.State == cluster.Idle:
	case e.Gang.Key != "":
		j.Task, j.Fixed = b.cluster.Booked(e), true
	default:
		j.Reserved, j.Fixed = e.At.Reserved, true
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
	if !e.Demand.Length.IsZero() {
		j.Left = e.Demand.Length
	} else if l := b.lengths[owner(e.Pod)]; l.pods > 0 {
		j.Left = profile.Some(l.sum / time.Duration(l.pods))
	}
	return j
}

func (b *Books) preempts() bool { return b.config.Preempt && !b.config.Shadow }

// keptText says why a card is not there for others.
const keptText = "it is kept for a pod of higher priority"

// members are who goes together with a pod: its gang, or nobody.
func (t *turn) members(e *cluster.Entry) []*cluster.Entry {
	if g := t.bands[e.Gang.Key]; e.Gang.Key != "" && g != nil {
		return g.placed
	}
	return []*cluster.Entry{e}
}

// yields reports whether a pod may be sent away for one of a higher priority: it and all of its gang say what a restart
// costs.
func (t *turn) yields(e *cluster.Entry) bool {
	if !t.books.preempts() {
		return false
	}
	now := t.books.config.Now()
	return !slices.ContainsFunc(t.members(e), func(o *cluster.Entry) bool {
		return o.State != cluster.Placed || now.Before(o.Spared) || o.Demand.Restart.IsZero()
	})
}

// staying are those on a card who do not go by themselves, or are not waited for.
func (t *turn) staying(d *cluster.Card) []*cluster.Entry {
	if !t.books.preempts() {
		return d.Here
	}
	now := t.books.config.Now()
	return slices.DeleteFunc(slices.Clone(d.Here), func(e *cluster.Entry) bool { return e.Leaves(now) })
}

// rank is the highest priority of those who would have to go before a card is empty, the lowest number if nobody
// would; false is that somebody stays.
func (t *turn) rank(d *cluster.Card) (int, bool) {
	rank := math.MinInt
	for _, e := range t.staying(d) {
		if !t.yields(e) {
			return 0, false
		}
		rank = max(rank, e.Task.Priority)
	}
	return rank, true
}
