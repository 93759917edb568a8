package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/evict"
	"example.com/colloc/colloc/kube/metrics"
	"example.com/colloc/colloc/kube/prom"
	"example.com/colloc/profile"
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
	// Books tell who shares; their Planner learns.
	Books *books.Books
	// Prometheus is asked.
	Prometheus *prom.Server
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
	// Most is how many pods are evicted within a Pause, from all cards together; 0 means 3.
	// A metric that is wrong everywhere does not cost every card a pod.
	Most int
	// QueryTime is how long the queries of pods and the measurements may take in one Step,
	// all together, and one query a quarter of it; 0 means 15 seconds. What is not reached
	// is the next Step's first.
	QueryTime time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Observer watches a cluster. Make one with [New]. Not safe for concurrent use.
type Observer struct {
	config   Config
	sets     map[string]*watched // by card
	told     map[alarm]bool      // until they are over
	evictor  *evict.Evictor
	turn     int        // set that the next Step begins with
	learned  int        // what is to be kept: observations, refits and pairs that were parted
	sinceFit int        // observations since the last refit
	refits   chan error // that of the refit under way; nil is none
}

// alarm is one that a pod was told.
type alarm struct {
	reason string
	pod    types.UID
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
	DefaultPause     = evict.DefaultPause
	DefaultMost      = evict.DefaultMost
	DefaultQueryTime = 15 * time.Second
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
	case c.Client == nil || c.Books == nil || c.Prometheus == nil || c.Now == nil:
		return nil, errors.New("observe: config: want a Client, Books, a Prometheus and a clock Now")
	case c.Window < 0 || c.Tolerance < 0 || c.Cooldown < 0 || c.Pause < 0 || c.Most < 0 || c.QueryTime < 0:
		return nil, errors.New("observe: config: want times, a Tolerance and Most of 0 for the default or more")
	case !slices.Contains([]Policy{"", Report, Evict, EvictCheckpointed}, c.Policy):
		return nil, fmt.Errorf("observe: config: Policy is %q, want report, evict or evict-checkpointed", c.Policy)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Window, c.Tolerance = cmp.Or(c.Window, DefaultWindow), cmp.Or(c.Tolerance, DefaultTolerance)
	c.Cooldown, c.Pause, c.QueryTime = cmp.Or(c.Cooldown, DefaultCooldown), cmp.Or(c.Pause, DefaultPause), cmp.Or(c.QueryTime, DefaultQueryTime)
	evictor, err := evict.New(evict.Config{Client: c.Client, Metrics: c.Metrics, Events: c.Events, Log: c.Log, Most: c.Most, Pause: c.Pause, Now: c.Now})
	if err != nil {
		return nil, fmt.Errorf("observe: config: %w", err)
	}
	return &Observer{config: c, sets: map[string]*watched{}, told: map[alarm]bool{}, evictor: evictor}, nil
}

// one is what a pod's query says. It has a quarter of QueryTime, so that a neighbour's
// that is never answered leaves it its turn.
func (o *Observer) one(ctx context.Context, query string) (profile.Opt[float64], error) {
	ctx, cancel := context.WithTimeout(ctx, o.config.QueryTime/4)
	defer cancel()
	return o.config.Prometheus.One(ctx, query)
}

// forget drops what is remembered of cards and pods that are gone.
func (o *Observer) forget(sets []books.Set, now time.Time) {
	cards, pods := map[string]bool{}, map[types.UID]bool{}
	for i := range sets {
		cards[sets[i].ID] = true
		for k := range sets[i].Members {
			pods[sets[i].Members[k].Pod.UID] = true
		}
	}
	maps.DeleteFunc(o.sets, func(card string, w *watched) bool { return !cards[card] && now.Sub(w.evicted) > o.config.Pause })
	maps.DeleteFunc(o.told, func(a alarm, _ bool) bool { return !pods[a.pod] })
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

// Learned counts what has been learned so far and should outlive the process:
// observations and refits, which the Planner has, and pairs that the Books keep apart.
func (o *Observer) Learned() int { return o.learned }

// refit fits speeds anew in the background, now and then.
func (o *Observer) refit(ctx context.Context) {
	select {
	case err := <-o.refits:
		o.refits = nil
		o.learned++
		if err != nil {
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
	go func() { done <- o.config.Books.Planner().Refit(ctx) }()
}
