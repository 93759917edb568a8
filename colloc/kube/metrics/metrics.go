package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/colloc/profile"
)

// Card is what a card holds.
type Card struct {
	// Node and Device name it.
	Node, Device string
	// Tasks is how many run there, Reserved what is set aside for them.
	Tasks    int
	Reserved profile.Bytes
	// Over says in which way more is on it than it has; empty is that nothing is.
	Over string
}

// State is what is counted whenever somebody asks.
type State struct {
	// Cards are all cards, Pending the pods that wait.
	Cards   []Card
	Pending int
	// Plugins are the nodes with cards on which a device plugin hands out GPUs too.
	Plugins int
	// Drift counts decisions that pods came to carry and that the books had not made.
	Drift uint64
	// Idle is for how long no step has come to its end.
	Idle time.Duration
}

// Metrics are what collocd counts. Make them with [New]. Safe for concurrent use.
type Metrics struct {
	decisions   *prometheus.CounterVec
	seconds     prometheus.Histogram
	speed       *prometheus.HistogramVec
	writeErrors *prometheus.CounterVec
	alarms      *prometheus.CounterVec
	evictions   *prometheus.CounterVec
	leader      prometheus.Gauge
}

// New registers the metrics. state is asked at every scrape; it must be safe for
// concurrent use.
func New(r prometheus.Registerer, state func() State) (*Metrics, error) {
	m := &Metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colloc_decisions_total", Help: "Decisions by result (placed, waiting, shadow) and the code of the limit that binds.",
		}, []string{"result", "code"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "colloc_decision_seconds", Help: "Time to decide about one batch of pods.", Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		speed: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "colloc_task_speed_ratio", Help: "Speed of a task as a fraction of that alone: predicted when it was placed, or seen.", Buckets: prometheus.LinearBuckets(0.3, 0.1, 8),
		}, []string{"kind"}),
		writeErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colloc_write_errors_total", Help: "Writes to the API server that failed, by reason.",
		}, []string{"reason"}),
		alarms: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colloc_alarms_total", Help: "Promises that were seen broken, by reason (AboveReservation, TooSlow), one for each pod.",
		}, []string{"reason"}),
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colloc_evictions_total", Help: "Pods that were to be evicted, by reason and result (done, budget, limit, failed).",
		}, []string{"reason", "result"}),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{Name: "colloc_leader", Help: "1 while this replica decides."}),
	}
	m.speed.WithLabelValues("predicted")
	m.speed.WithLabelValues("seen")
	for _, c := range []prometheus.Collector{m.decisions, m.seconds, m.speed, m.writeErrors, m.alarms, m.evictions, m.leader, scrape{state}} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Decided counts one decision: result is placed, waiting or shadow.
func (m *Metrics) Decided(result, code string) { m.decisions.WithLabelValues(result, code).Inc() }

// Took counts the time of one batch.
func (m *Metrics) Took(d time.Duration) { m.seconds.Observe(d.Seconds()) }

// Predicted counts the predicted speed of a task.
func (m *Metrics) Predicted(speed float64) { m.speed.WithLabelValues("predicted").Observe(speed) }

// Seen counts the speed at which a task was seen to run.
func (m *Metrics) Seen(speed float64) { m.speed.WithLabelValues("seen").Observe(speed) }

// Alarm counts a pod of which something was seen that was not promised.
func (m *Metrics) Alarm(reason string) { m.alarms.WithLabelValues(reason).Inc() }

// Evicted counts a pod that was to be evicted: result is done, budget, limit or failed.
func (m *Metrics) Evicted(reason, result string) { m.evictions.WithLabelValues(reason, result).Inc() }

// WriteError counts a write that failed.
func (m *Metrics) WriteError(reason string) { m.writeErrors.WithLabelValues(reason).Inc() }

// Leads says whether this replica decides.
func (m *Metrics) Leads(yes bool) {
	m.leader.Set(0)
	if yes {
		m.leader.Set(1)
	}
}

// scrape asks for the state at every scrape.
type scrape struct{ state func() State }

//nolint:gochecknoglobals // descriptions that never change
var (
	pending = prometheus.NewDesc("colloc_pending_tasks", "Pods that wait for a decision.", nil, nil)
	cards   = prometheus.NewDesc("colloc_cards", "Cards by the number of tasks on them.", []string{"tasks"}, nil)
	bytes   = prometheus.NewDesc("colloc_reserved_bytes", "Memory set aside on a card that has tasks.", []string{"node", "gpu"}, nil)
	over    = prometheus.NewDesc("colloc_overcommitted_cards", "1 for a card on which more is than it has, and what: memory, tasks, or pods of others.", []string{"node", "gpu", "what"}, nil)
	plugins = prometheus.NewDesc("colloc_device_plugin_nodes", "Nodes with cards on which a device plugin hands out GPUs too.", nil, nil)
	idle    = prometheus.NewDesc("colloc_last_step_age_seconds", "Time since the replica that decides came to the end of a step; 0 of the others.", nil, nil)
	drift   = prometheus.NewDesc("colloc_books_drift_total", "Decisions that pods came to carry and that the books had not made.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (scrape) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pending, cards, bytes, over, plugins, idle, drift} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (s scrape) Collect(ch chan<- prometheus.Metric) {
	now := s.state()
	tasks := map[int]int{0: 0, 1: 0, 2: 0}
	for _, c := range now.Cards {
		tasks[c.Tasks]++
		if c.Over != "" {
			ch <- prometheus.MustNewConstMetric(over, prometheus.GaugeValue, 1, c.Node, c.Device, c.Over)
		}
		if c.Tasks > 0 {
			ch <- prometheus.MustNewConstMetric(bytes, prometheus.GaugeValue, float64(c.Reserved), c.Node, c.Device)
		}
	}
	for n, count := range tasks {
		ch <- prometheus.MustNewConstMetric(cards, prometheus.GaugeValue, float64(count), strconv.Itoa(n))
	}
	ch <- prometheus.MustNewConstMetric(pending, prometheus.GaugeValue, float64(now.Pending))
	ch <- prometheus.MustNewConstMetric(plugins, prometheus.GaugeValue, float64(now.Plugins))
	ch <- prometheus.MustNewConstMetric(idle, prometheus.GaugeValue, now.Idle.Seconds())
	ch <- prometheus.MustNewConstMetric(drift, prometheus.CounterValue, float64(now.Drift))
}
