package books

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/claims"
	"example.com/colloc/colloc/kube/nodes"
	"example.com/colloc/colloc/kube/pods"
	"example.com/colloc/colloc/ledger"
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
	// Tenancy says which namespaces share cards.
	Tenancy pods.Tenancy
	// Batch is the most pods that are decided about together; 0 means 64.
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
	// Preempt says that pods of a lower priority may be sent away for those that have no
	// room.
	Preempt bool
	// Patience is how long the scheduler may refuse a pod that is placed; 0 means a minute.
	// From then on that is more than a delay.
	Patience time.Duration
	// Now is the clock of the leases; required.
	Now func() time.Time
}

// DefaultBatch is the default of Config.Batch.
const DefaultBatch = 64

// leaseTime is how long a reservation holds whose write was never reported back: longer
// than any write takes with its tries.
const leaseTime = time.Hour

// Books are the state of a cluster. Make them with [New], tell them all there is, then
// [Books.Open] them. Safe for concurrent use.
type Books struct {
	config Config

	mu      sync.Mutex
	reader  nodes.Reader
	ledger  *ledger.Ledger // nil until opened
	nodes   map[string]*node
	slices  map[string]map[string]*resourcev1.ResourceSlice // by node, by name
	cards   map[string]*card                                // by ID
	order   []*card                                         // by node and place, nil where it has to be made anew
	tasks   map[types.UID]*entry
	others  map[types.UID]*other
	carry   map[string]map[types.UID]*entry      // by card, in the books or not: who carries a decision for it
	held    map[claims.Device]map[types.UID]bool // by claims of others
	holds   map[types.UID][]claims.Device
	apart   map[[2]types.UID]time.Time // owners that are kept apart, and until when
	classes map[string]int
	stuck   map[likeness]stuck
	// Pods that have run to their end, by UID, with the keys of their gangs.
	finished map[types.UID]string
	rooms    map[string][]string // cards that are kept for a pod or a gang while others leave them
	looked   time.Time           // when that was looked at last
	changed  uint64              // counts what may let a pod that waits be placed
	drift    uint64              // bookings that the API server told and the books did not expect
}

// node is a machine.
type node struct {
	name    string
	raw     *corev1.Node // nil while only pods or slices tell of it
	offer   *nodes.Node
	cards   []*card
	notes   []string
	used    nodes.Amounts
	foreign map[types.UID]string // pods of others that have GPUs of the device plugin
}

// card is a GPU.
type card struct {
	nodes.Card
	node  *node
	here  []*entry // in the books, the oldest pod first
	class int
}

// state is what became of a pod's decision.
type state int

const (
	idle    state = iota // none is under way: it waits, is held, or is none of ours
	writing              // reserved, being written
	unknown              // reserved, and nobody knows whether the write was done
	placed               // bound
)

// entry is a pod of ours.
type entry struct {
	pod     *corev1.Pod
	phase   pods.Phase
	state   state
	task    colloc.Task
	note    string // why it is alone though it does not ask for it
	fault   error  // why there is no task
	shape   *nodes.Shape
	gang    pods.Gang            // the zero Gang is none
	at      api.Placement        // decided or carried
	cards   []*card              // those of at that are there; others are not in the books
	lease   ledger.Lease         // of its own; a gang's is committed at once
	parted  bool                 // its task says from whom it is kept apart
	ended   bool                 // while its write is under way
	tried   uint64               // the change for which it was decided last
	fails   int                  // writes that the API server refused, one after the other
	until   time.Time            // it is not tried before
	shuns   map[string]time.Time // nodes that it is kept off, and until when
	left    api.Placement        // which it carries still and which counts no more
	since   time.Time            // when it became placed
	leaving time.Time            // until then it is taken to go, for its eviction was decided
	spared  time.Time            // until then it is not evicted for others
	on      *node                // where its requests count
	asks    nodes.Amounts        // those that count there
}

// other is a pod of somebody else.
type other struct {
	on   string
	asks nodes.Amounts
}

// New returns Books that are not open: events are taken in, nothing is decided.
func New(c Config) (*Books, error) {
	if c.Planner == nil || c.Now == nil || c.Batch < 0 || c.Patience < 0 {
		return nil, errors.New("books: config: want a Planner, a clock Now, and a Batch and Patience of 0 for the default or more")
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
	return &Books{
		config: c, changed: 1,
		nodes: map[string]*node{}, slices: map[string]map[string]*resourcev1.ResourceSlice{}, cards: map[string]*card{},
		tasks: map[types.UID]*entry{}, others: map[types.UID]*other{}, carry: map[string]map[types.UID]*entry{}, classes: map[string]int{},
		stuck: map[likeness]stuck{}, held: map[claims.Device]map[types.UID]bool{}, holds: map[types.UID][]claims.Device{}, apart: map[[2]types.UID]time.Time{},
		finished: map[types.UID]string{}, rooms: map[string][]string{},
	}, nil
}

// Open makes the books of all that was told: pods that carry a decision are booked on
// their cards. Opened again, the books are made anew, and writes under way are as
// unknown: [Books.Unknown] lists them.
func (b *Books) Open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	config := b.config.Planner.Config()
	c := ledger.Config{
		Headroom: config.Headroom, MaxSet: config.MaxSet, Together: b.config.Planner.Together(),
		LeaseTime: leaseTime, Now: b.config.Now,
	}
	for _, e := range b.tasks {
		e.cards = nil
	}
	for _, d := range b.inOrder() {
		d.here = nil
		b.settle(d)
		c.GPUs = append(c.GPUs, b.inhabited(d))
	}
	l, err := ledger.New(c)
	if err != nil {
		return fmt.Errorf("books: open: %w", err)
	}
	b.ledger = l
	clear(b.classes)
	for _, d := range b.order {
		b.classify(d)
	}
	b.changed++
	return nil
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
	b.config.Planner = p
}

// settle puts those who carry a decision for a card there. The lease of one whose write is
// under way is gone.
func (b *Books) settle(d *card) {
	for _, e := range b.carry[d.GPU.ID] {
		if e.state == writing {
			e.state = unknown
		}
		e.cards = append(e.cards, d)
		d.here = append(d.here, e)
	}
	sortEntries(d.here)
}

// inhabited is a card with those who are there.
func (b *Books) inhabited(d *card) colloc.GPU {
	g := d.GPU
	for _, e := range d.here {
		g.Residents = append(g.Residents, b.booked(e))
	}
	return g
}

// booked is the task of an entry as it stands in the books. Nobody joins a gang but those
// that came with it.
func (b *Books) booked(e *entry) colloc.Task {
	t := pods.Booked(e.task, e.at.Reserved)
	if t.GPUs = max(1, len(e.at.GPUs())); e.gang.Key == "" {
		return t
	}
	own := gangLabel(e.gang)
	t.Labels, t.Only = append(slices.Clip(t.Labels), own), []string{own}
	for _, id := range e.at.GPUs() {
		for _, o := range b.carry[id] {
			if label := gangLabel(o.gang); o.gang.Key != "" && !slices.Contains(t.Only, label) {
				t.Only = append(t.Only, label)
			}
		}
	}
	slices.Sort(t.Only)
	t.Kind += "|" + strings.Join(t.Only, "|")
	return t
}

func gangLabel(g pods.Gang) string { return "gang:" + g.Key }

// entered are the claims of an entry on its cards.
func (b *Books) entered(e *entry) []ledger.Claim {
	list := make([]ledger.Claim, len(e.cards))
	for i, d := range e.cards {
		list[i] = ledger.Claim{Task: b.booked(e), GPU: d.GPU.ID}
	}
	return list
}

// lost reports whether a card of a pod that is placed is gone.
func (e *entry) lost() bool { return len(e.cards) < len(e.at.GPUs()) }

// release takes a pod's task out of the books, wherever its decision stands.
func (b *Books) release(e *entry) {
	if len(e.cards) > 0 && b.ledger != nil {
		if e.state == writing && e.gang.Key == "" {
			_ = b.ledger.Rollback(e.lease) // what is over is over
		} else {
			_ = b.ledger.Release(e.task.ID)
		}
	}
	b.unlist(e)
	e.state, e.lease, e.at = idle, ledger.Lease{}, api.Placement{}
	b.changed++
}

// list notes that a pod carries a decision for a card.
func (b *Books) list(e *entry, at api.Placement) {
	e.at = at
	for _, id := range at.GPUs() {
		if b.carry[id] == nil {
			b.carry[id] = map[types.UID]*entry{}
		}
		b.carry[id][e.pod.UID] = e
		if d := b.cards[id]; d != nil {
			e.cards = append(e.cards, d)
			d.here = append(d.here, e)
			sortEntries(d.here)
			b.classify(d)
		}
	}
	b.count(e, at.Node)
}

// unlist is the opposite of list.
func (b *Books) unlist(e *entry) {
	for _, id := range e.at.GPUs() {
		delete(b.carry[id], e.pod.UID)
		if len(b.carry[id]) == 0 {
			delete(b.carry, id)
		}
	}
	for _, d := range e.cards {
		d.here = without(d.here, e)
		b.classify(d)
	}
	e.cards = nil
	b.count(e, e.pod.Spec.NodeName)
}

// count moves what a pod asks for to the node where it counts; empty is nowhere.
func (b *Books) count(e *entry, name string) {
	if e.on != nil {
		e.on.used.Add(e.asks, -1)
		e.on = nil
	}
	if name != "" {
		e.on, e.asks = b.node(name), e.shape.Requests
		e.on.used.Add(e.asks, 1)
	}
}

// node returns what is known of a node, which may be nothing but what pods there ask for.
func (b *Books) node(name string) *node {
	n := b.nodes[name]
	if n == nil {
		n = &node{name: name, used: nodes.Amounts{}, foreign: map[types.UID]string{}}
		b.nodes[name] = n
	}
	return n
}
