package books

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/colloc/colloc/kube/books/internal/cluster"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/dispatch"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/packer"
)

// Config says how Books decide.
type Config struct {
	// Planner decides; required.
	Planner *colloc.Planner
	// Profile finds the Profile of a pod by namespace and name; nil finds none. It is
	// called while the Books are locked and must not call them.
	Profile func(namespace, name string) pods.Known
	// Groups finds PodGroups, in the same way; nil finds none.
	Groups pods.Groups
	// Volumes says why the volumes of a pod's claims keep it off a node, in the same way; nil is that none do.
	Volumes func(namespace string, claims []string, node *corev1.Node) string
	// Tenancy says which namespaces share cards.
	Tenancy pods.Tenancy
	// Batch is the most pods that are decided about together; 0 means 512.
	Batch int
	// Shadow says that decisions are recorded and bind nobody: pods wait whatever their
	// gates say, and what they ask of nodes is not heeded.
	Shadow bool
	// Claims says that pods are bound by ResourceClaims: those that do not ask for one
	// wait, and only cards that a DRA driver offers to several claims are used.
	Claims bool
	// Unpinned says that a pod that the scheduler refuses can be decided again: only its
	// claim, which can be made anew, holds it to its node.
	Unpinned bool
	// Limits are how many GPUs the pods of a namespace may hold, a shared one counted for each
	// pod; "*" is every namespace that is not named. One without a limit may hold any.
	Limits map[string]int
	// Preempt says that pods of a lower priority may be sent away for those that have no
	// room.
	Preempt bool
	// Patience is how long the scheduler may refuse a pod that is placed; 0 means a minute.
	// From then on that is more than a delay.
	Patience time.Duration
	// Now is the clock of the leases; required.
	Now func() time.Time
}

// Defaults of Config.
const (
	DefaultBatch    = 512
	DefaultPatience = time.Minute
)

// Books are the state of a cluster. Make them with [New], tell them all there is, then
// [Books.Open] them. Safe for concurrent use.
type Books struct {
	config Config

	mu       sync.Mutex
	cluster  *cluster.Cluster
	apart    map[[2]Owner]time.Time // owners that are kept apart, and until when
	stuck    map[cluster.Likeness]stuck
	shuns    map[Owner]map[string]time.Time // by owner: nodes that its pods are kept off, and until when
	finished map[types.UID]finished         // pods that have run to their end and are still there
	lengths  map[Owner]lengths              // of them, by owner
	rooms    map[string]string              // by card: the job that waits until who is there has gone
	promised map[string]bool                // jobs that had such cards in the round before
	idle     uint64                         // the change at which a round had nothing to do; 0 is that something was told since
	due      time.Time                      // when somebody is to be asked about though nothing was told; zero is never
	again    time.Time                      // when all who wait are, where it is looked ahead
}

// New returns Books that are not open: events are taken in, nothing is decided.
func New(c Config) (*Books, error) {
	if c.Planner == nil || c.Now == nil || c.Batch < 0 || c.Patience < 0 {
		return nil, errors.New("books: config: want a Planner, a clock Now, and a Batch and Patience of 0 for the default or more")
	}
	for namespace, n := range c.Limits {
		if n < 0 {
			return nil, fmt.Errorf("books: config: the limit of namespace %q is %d GPUs; want 0 or more", namespace, n)
		}
	}
	if most := c.Planner.Config().MaxSet; most > dispatch.MostOnGPU {
		return nil, fmt.Errorf("books: config: Planner lets %d tasks share a GPU; want %d at most", most, dispatch.MostOnGPU)
	}
	if c.Batch == 0 {
		c.Batch = DefaultBatch
	}
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	if c.Profile == nil {
		c.Profile = func(string, string) pods.Known { return pods.Known{} }
	}
	if c.Groups == nil {
		c.Groups = func(string, string) (int, bool) { return 0, false }
	}
	if c.Volumes == nil {
		c.Volumes = func(string, []string, *corev1.Node) string { return "" }
	}
	return &Books{
		config: c, cluster: cluster.New(bounds(c.Planner), c.Claims, c.Volumes),
		apart: map[[2]Owner]time.Time{}, stuck: map[cluster.Likeness]stuck{}, shuns: map[Owner]map[string]time.Time{}, finished: map[types.UID]finished{}, lengths: map[Owner]lengths{},
		rooms: map[string]string{},
	}, nil
}

// mostAhead is up to how many cards it is looked ahead; above, those who wait start in their order.
const mostAhead = 256

// againTime is after how long it is asked again about those who wait for a better place, which may not come.
const againTime = time.Minute

func (b *Books) looksAhead() bool { return len(b.cluster.Cards) <= mostAhead }

// Open lets it be decided. Pods that carry a decision have their cards since they were told of.
// Opened again, writes under way are as unknown: [Books.Unclear] lists them.
func (b *Books) Open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cluster.Open()
}

// bounds are those that a Planner goes by.
func bounds(p *colloc.Planner) cluster.Bounds {
	c := p.Config()
	return cluster.Bounds{Headroom: c.Headroom.Or(packer.DefaultHeadroom), Together: p.Together(), MaxSet: c.MaxSet}
}

// Planner is what decides.
func (b *Books) Planner() *colloc.Planner {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.config.Planner
}

// Use lets another Planner decide, for example one that knows what an earlier leader has
// learned. Call it before [Books.Open].
func (b *Books) Use(p *colloc.Planner) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config.Planner, b.cluster.Bounds = p, bounds(p)
}

// those are the pods that a condition holds for, the oldest first.
func (b *Books) those(holds func(*cluster.Entry) bool) []*cluster.Entry {
	var all []*cluster.Entry
	for _, e := range b.cluster.Tasks {
		if holds(e) {
			all = append(all, e)
		}
	}
	cluster.Sort(all)
	return all
}

// placed are those that are placed, too; in shadow mode nobody is.
func (b *Books) placed(holds func(*cluster.Entry) bool) []*cluster.Entry {
	return b.those(func(e *cluster.Entry) bool { return e.State == cluster.Placed && !b.config.Shadow && holds(e) })
}

// anew describes those who wait anew that a condition holds for, so that they are tried again.
func (b *Books) anew(holds func(*cluster.Entry) bool) {
	for _, e := range b.cluster.Tasks {
		if e.State == cluster.Idle && holds(e) {
			b.describe(e)
			e.Tried = 0
		}
	}
}

// stuck is why one pod of many that are alike waits, and since which change.
type stuck struct {
	at           uint64
	reason, text string
}

func (s stuck) refusal(e *cluster.Entry) Refusal {
	return Refusal{Pod: e.Pod, Reason: s.reason, Text: s.text}
}

// maxStuck bounds the table of those that wait.
const maxStuck = 1 << 14
