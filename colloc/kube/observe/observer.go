package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"example.com/colloc/colloc"
	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/metrics"
	"example.com/colloc/colloc/kube/seen"
)

// Policy is what follows from an alarm.
type Policy string

// The policies.
const (
	// Report tells of it and touches nobody.
	Report Policy = "report"
	// Evict evicts who is in the way, by the Eviction API.
	Evict Policy = "evict"
	// EvictCheckpointed evicts those alone that say that they write checkpoints, see
	// [api.AnnotationEvictable].
	EvictCheckpointed Policy = "evict-checkpointed"
)

// Config says how an Observer works. Fields without a default are required.
type Config struct {
	// Client evicts and writes annotations, Profiles writes what was measured; nil
	// Profiles measures nothing.
	Client   kubernetes.Interface
	Profiles dynamic.Interface
	// Books tell who shares, Planner learns.
	Books   *books.Books
	Planner *colloc.Planner
	// Prometheus is asked.
	Prometheus *seen.Prometheus
	// Metrics count, Events tell users, Log says what it does; nil is nowhere.
	Metrics *metrics.Metrics
	Events  record.EventRecorder
	Log     *slog.Logger
	// Policy is what follows from an alarm; empty is Report.
	Policy Policy
	// Window is for how long a set must have been the same before what is seen of it
	// counts; 0 means 5 minutes.
	Window time.Duration
	// Tolerance is the fraction of its reservation by which a card's tasks may exceed it
	// without an alarm; 0 means 0.05.
	Tolerance float64
	// Cooldown is how long a pair of which one was evicted is not formed again; 0 means
	// 24 hours.
	Cooldown time.Duration
	// Pause is how long after an eviction nobody else is evicted from that card; 0 means
	// 10 minutes.
	Pause time.Duration
	// Most is how many pods are evicted within a Pause, from all cards together, so that a
	// metric that is wrong everywhere does not cost every card a pod; 0 means 3.
	Most int
	// Now is the clock.
	Now func() time.Time
}

// Observer watches a cluster. Make one with [New]. Not safe for concurrent use.
type Observer struct {
	config Config
	sets   map[string]*watched // by card
	told   map[string]string   // alarm that a pod was told last, by UID and kind
	// When somebody was evicted from any card within the last Pause.
	evictions []time.Time
	// Observations that taught the Planner: all, and those since the last refit.
	taught, sinceFit int
	refits           chan error // that of the refit under way; nil is none
}

// watched is a set under watch.
type watched struct {
	members string // UIDs
	since   time.Time
	evicted time.Time         // when somebody was evicted from the card last
	over    int               // how often in a row it took more than was set aside
	slow    map[types.UID]int // how often in a row a pod's SLO query said that it is too slow
	taught  time.Time         // when it taught the Planner last
}

// Defaults of Config.
const (
	DefaultWindow    = 5 * time.Minute
	DefaultTolerance = 0.05
	DefaultCooldown  = 24 * time.Hour
	DefaultPause     = 10 * time.Minute
	DefaultMost      = 3
)

// slowTimes is how often in a row an alarm has to be seen before it counts.
const slowTimes = 2

// settleTime is how long a set must have run before its memory costs anybody his place:
// until then what is seen of the card may be of who was there before.
const settleTime = time.Minute

// refitAfter is after how many observations speeds are fitted anew.
const refitAfter = 100

// New returns an Observer that has seen nothing.
func New(c Config) (*Observer, error) {
	switch {
	case c.Client == nil || c.Books == nil || c.Planner == nil || c.Prometheus == nil || c.Now == nil:
		return nil, errors.New("observe: config: want a Client, Books, a Planner, a Prometheus and a clock Now")
	case c.Window < 0 || c.Tolerance < 0 || c.Cooldown < 0 || c.Pause < 0 || c.Most < 0:
		return nil, errors.New("observe: config: want times, a Tolerance and Most of 0 for the default or more")
	case !slices.Contains([]Policy{"", Report, Evict, EvictCheckpointed}, c.Policy):
		return nil, fmt.Errorf("observe: config: Policy is %q, want report, evict or evict-checkpointed", c.Policy)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	if c.Tolerance == 0 {
		c.Tolerance = DefaultTolerance
	}
	if c.Cooldown == 0 {
		c.Cooldown = DefaultCooldown
	}
	if c.Pause == 0 {
		c.Pause = DefaultPause
	}
	if c.Most == 0 {
		c.Most = DefaultMost
	}
	return &Observer{config: c, sets: map[string]*watched{}, told: map[string]string{}}, nil
}

// Step looks at all cards once. What cannot be asked or written is logged and tried again
// at the next Step; the error is that of ctx.
func (o *Observer) Step(ctx context.Context) error {
	now := o.config.Now()
	used, err := o.config.Prometheus.Ask(ctx, "DCGM_FI_DEV_FB_USED")
	if err != nil {
		o.config.Log.Warn("memory in use is not known", "err", err)
	}
	there := map[string]bool{}
	for _, s := range o.config.Books.Sets() {
		there[s.ID] = true
		w := o.watch(&s, now)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !running(&s) {
			w.since, w.over = now, 0
			continue
		}
		o.overrun(ctx, &s, w, used)
		o.slow(ctx, &s, w)
		if now.Sub(w.since) >= o.config.Window {
			o.learn(ctx, &s, w, now)
		}
	}
	for card, w := range o.sets {
		if !there[card] && now.Sub(w.evicted) > o.config.Pause {
			delete(o.sets, card)
		}
	}
	o.loosen(ctx)
	o.refit(ctx)
	return ctx.Err()
}

// watch returns what is remembered of a card, from now on if its pods have changed.
func (o *Observer) watch(s *books.Set, now time.Time) *watched {
	var key strings.Builder
	for i := range s.Members {
		fmt.Fprintf(&key, "%s ", s.Members[i].Pod.UID)
	}
	w := o.sets[s.ID]
	if w == nil {
		w = &watched{}
		o.sets[s.ID] = w
	}
	if w.members != key.String() {
		w.members, w.since, w.over, w.taught, w.slow = key.String(), now, 0, time.Time{}, map[types.UID]int{}
	}
	return w
}

// running reports whether all pods of a set run.
func running(s *books.Set) bool {
	return !slices.ContainsFunc(s.Members, func(m books.Member) bool {
		return m.Pod.Status.Phase != corev1.PodRunning || m.Pod.DeletionTimestamp != nil
	})
}

// Taught counts the observations that have taught the Planner something.
func (o *Observer) Taught() int { return o.taught }

// refit fits speeds anew in the background, now and then.
func (o *Observer) refit(ctx context.Context) {
	select {
	case err := <-o.refits:
		if o.refits = nil; err != nil {
			o.config.Log.Warn("refit", "err", err)
		}
	default:
	}
	if o.sinceFit < refitAfter || o.refits != nil {
		return
	}
	o.sinceFit = 0
	done := make(chan error, 1)
	o.refits = done
	go func() { done <- o.config.Planner.Refit(ctx) }()
}
