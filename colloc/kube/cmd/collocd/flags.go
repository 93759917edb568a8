package main

import (
	"time"

	"github.com/spf13/pflag"

	"example.com/colloc/colloc/kube/books"
	"example.com/colloc/colloc/kube/observe"
)

// flags are what the command line says.
type flags struct {
	kubeconfig     string
	binding        string
	pin            bool
	patience       time.Duration
	prometheus     string
	observeEvery   time.Duration
	observeWindow  time.Duration
	queryTime      time.Duration
	alarm          string
	evictMost      int
	preempt        int
	evictPause     time.Duration
	state          string
	shadow         bool
	leaderElect    bool
	leaseNamespace string
	identity       string
	metricsAddr    string
	window         time.Duration
	batch          int
	maxSet         int
	share          []string
	gpus           map[string]int
	writers        int
}

// defaultPreempt is as many pods as a gang of two nodes may find.
const defaultPreempt = 32

// defaultMaxSet is as many as docs/policies.md shows to pay.
const defaultMaxSet = 4

const (
	maxSetUsage     = "how many tasks share a GPU at most, 1 to 4"
	kubeconfigUsage = "`FILE` with the API server's address; empty is $KUBECONFIG, the home's, or the pod's own account"
	bindingUsage    = "`HOW` a decision is bound: annotate, or claim, by a ResourceClaim that the scheduler counts"
	shareUsage      = "`NAMESPACES` whose pods may share a GPU, as a+b; repeat for more groups, * is all; without it each shares within itself"
)

func (f *flags) register(s *pflag.FlagSet) {
	s.StringVar(&f.kubeconfig, "kubeconfig", "", kubeconfigUsage)
	s.StringVar(&f.binding, "binding", "annotate", bindingUsage)
	s.BoolVar(&f.pin, "pin", true, "hold a pod to its node; false lets claims alone do that, and a pod that the scheduler refuses is decided again")
	s.DurationVar(&f.patience, "patience", books.DefaultPatience, "how long the scheduler may refuse a pod that is placed")
	s.BoolVar(&f.shadow, "shadow", false, "decide and record, but take away no gate and bind nothing")
	s.BoolVar(&f.leaderElect, "leader-elect", false, "decide only while holding the Lease, for several replicas")
	s.StringVar(&f.leaseNamespace, "lease-namespace", "colloc-system", "namespace of the Lease")
	s.StringVar(&f.identity, "identity", "", "name of this replica in the Lease; empty is the host's name")
	s.StringVar(&f.metricsAddr, "metrics-addr", ":9090", "address of /metrics and /healthz; empty serves none")
	s.StringVar(&f.prometheus, "prometheus", "", "`URL` of the Prometheus that scrapes dcgm-exporter; empty looks at nothing that runs")
	s.DurationVar(&f.observeEvery, "observe-every", 30*time.Second, "how often to look at what runs")
	s.DurationVar(&f.observeWindow, "observe-window", observe.DefaultWindow, "how long pods must have shared a GPU, or had it alone, before that is measured")
	s.StringVar(&f.alarm, "alarm", string(observe.Report), "what follows when a pod is too slow or takes too much: report, evict, or evict-checkpointed, only pods that say they are evictable")
	s.DurationVar(&f.queryTime, "query-time", observe.DefaultQueryTime, "how long the queries of one look may take together, and one of them a quarter of it")
	s.IntVar(&f.evictMost, "evict-most", observe.DefaultMost, "how many pods are evicted from all GPUs within evict-pause at most")
	s.IntVar(&f.preempt, "preempt", defaultPreempt, "how many pods of lower priority are evicted within evict-pause at most for pods that have no room; 0 is none")
	s.DurationVar(&f.evictPause, "evict-pause", observe.DefaultPause, "how long after an eviction nobody else is evicted from that GPU")
	s.StringVar(&f.state, "state", "", "`FILE` that keeps what was learned of speeds, and with .pairs behind its name who is kept apart; empty forgets both at the end")
	s.DurationVar(&f.window, "window", 100*time.Millisecond, "how long to wait for more pods before deciding about them together")
	s.IntVar(&f.batch, "batch", books.DefaultBatch, "how many pods to decide about together at most")
	s.IntVar(&f.maxSet, "max-set", defaultMaxSet, maxSetUsage)
	s.StringSliceVar(&f.share, "share", nil, shareUsage)
	s.StringToIntVar(&f.gpus, "gpus", nil, "how many GPUs the pods of a `NAMESPACE=N` may hold, a shared one counted for each pod; *=N is of each that is not named")
	s.IntVar(&f.writers, "writers", 16, "how many pods are written at the same time")
}
