package controller

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/evict"
	"example.com/colloc/colloc/kube/metrics"
)

// Config says how a Controller works. Fields without a default are required.
type Config struct {
	// Client writes and reads.
	Client kubernetes.Interface
	// Books decide; they are not open yet.
	Books *books.Books
	// Metrics count; nil counts nothing.
	Metrics *metrics.Metrics
	// Events tell users; nil tells nobody.
	Events record.EventRecorder
	// Log is where it says what it does; nil is nowhere.
	Log *slog.Logger
	// Shadow decides and records, and binds nothing. The Books must be in shadow too.
	Shadow bool
	// Claims binds by ResourceClaims. The Books must do so too.
	Claims bool
	// Unpinned leaves the node of a pod to its claim alone. The scheduler then looks at
	// every node, and a pod that it refuses is decided again. Only with Claims, and the
	// Books must know it.
	Unpinned bool
	// Window is how long it waits for more pods once one waits; 0 means not at all.
	Window time.Duration
	// Writers is how many pods are written at the same time; 0 means 16.
	Writers int
	// Begin is called when this replica begins to decide, before the Books are opened; its
	// error ends that. Nil does nothing.
	Begin func(ctx context.Context) error
	// Observe looks at what became of decisions, every ObserveEvery while this replica
	// decides; nil does not.
	Observe      func(ctx context.Context) error
	ObserveEvery time.Duration
	// Evictor sends pods away for those that have no room; nil does not. The Books must
	// preempt too.
	Evictor *evict.Evictor
	// Pause is how long it waits before it tries a write again, for the n-th time; nil
	// doubles from 100 ms up to 2 s.
	Pause func(ctx context.Context, n int)
	// Now is the clock of what it measures; required.
	Now func() time.Time
}

// Defaults of Config.
const (
	DefaultWriters = 16
	maxTries       = 4
	requestTime    = 4 * time.Second // of one write: less than what a Lease leaves between two leaders
	tickTime       = time.Second     // how often it looks after writes of which nobody knows
)

// Controller is collocd's loop. Make one with [New].
type Controller struct {
	config Config
	wake   chan struct{}
	slots  chan struct{} // of writes under way
	writes sync.WaitGroup
	under  sync.Map // UIDs of pods with which mend is at work
	said   sync.Map // UID of a pod to the reason that its condition has
	// UID of a pod to the name of its claim, which it may not be seen to point to yet.
	claimed sync.Map
	retries sync.Map           // UID of a pod to the retry of its claim
	broken  map[types.UID]bool // pods that were told that their gang lacks others
	filled  atomic.Bool        // the caches have all there is
	stepped atomic.Int64       // when the last step ended or the last write began, in ns of Unix; 0 while this replica does not decide
}

// New returns a Controller.
func New(c Config) (*Controller, error) {
	if c.Client == nil || c.Books == nil || c.Now == nil || c.Writers < 0 || c.Window < 0 {
		return nil, errors.New("controller: config: want a Client, Books, a clock Now, and a Window and Writers of 0 or more")
	}
	if c.Unpinned && !c.Claims {
		return nil, errors.New("controller: config: Unpinned needs Claims: without a claim nothing else holds a pod to its node")
	}
	if c.Observe != nil && c.ObserveEvery <= 0 {
		return nil, errors.New("controller: config: Observe needs ObserveEvery above 0")
	}
	if c.Writers == 0 {
		c.Writers = DefaultWriters
	}
	if c.Pause == nil {
		c.Pause = pause
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Controller{config: c, wake: make(chan struct{}, 1), slots: make(chan struct{}, c.Writers)}, nil
}

// pause waits for 100 ms times 2^n, at most 2 s.
func pause(ctx context.Context, n int) {
	timer := time.NewTimer(min(100*time.Millisecond<<min(n, 8), 2*time.Second))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Ready reports whether it knows all that there is, so that it could decide.
func (c *Controller) Ready() bool { return c.filled.Load() }

// Idle is for how long it has neither come to the end of a step nor begun a write; 0 while another replica
// decides.
func (c *Controller) Idle() time.Duration {
	at := c.stepped.Load()
	if at == 0 {
		return 0
	}
	return c.config.Now().Sub(time.Unix(0, at))
}

// Wake says that something changed.
func (c *Controller) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// start writes for a pod in the background once a slot is free.
func (c *Controller) start(uid types.UID, write func()) {
	c.slots <- struct{}{}                // every write gives its slot back
	if at := c.stepped.Load(); at != 0 { // a slot that came free is progress, however long the step
		c.stepped.CompareAndSwap(at, c.config.Now().UnixNano())
	}
	c.writes.Go(func() {
		defer func() { <-c.slots }()
		write()
		if !c.config.Books.Has(uid) { // its end was told meanwhile, or the pod has ended
			c.forget(uid)
		}
	})
}

// forget drops what is noted of a pod.
func (c *Controller) forget(uid types.UID) {
	c.said.Delete(uid)
	c.claimed.Delete(uid)
	c.retries.Delete(uid)
}
