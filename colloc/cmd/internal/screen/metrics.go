package screen

import (
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/colloc/colloc/cmd/internal/cli"
	"example.com/colloc/colloc/cmd/internal/joblog"
	"example.com/colloc/profile"
)

// collector shows the sweep to Prometheus as it is when it is asked.
type collector struct{ look func() *View }

// The metrics. A task that has no value has no series.
var (
	descTasks     = prometheus.NewDesc("colloc_sweep_tasks", "Tasks by state.", []string{"state"}, nil)
	descPlaced    = prometheus.NewDesc("colloc_sweep_gpu_tasks", "Tasks that run on a GPU.", []string{"gpu"}, nil)
	descReserved  = prometheus.NewDesc("colloc_sweep_gpu_reserved_bytes", "Memory that is reserved for tasks on a GPU.", []string{"gpu"}, nil)
	descUsable    = prometheus.NewDesc("colloc_sweep_gpu_usable_bytes", "Memory that a GPU offers to tasks.", []string{"gpu"}, nil)
	descUsed      = prometheus.NewDesc("colloc_sweep_gpu_used_bytes", "Memory that is in use on a GPU.", []string{"gpu"}, nil)
	descLost      = prometheus.NewDesc("colloc_sweep_gpu_lost", "1 if a GPU does not answer any more.", []string{"gpu"}, nil)
	descPredicted = prometheus.NewDesc("colloc_sweep_task_speed_predicted", "Predicted speed of a running task, as a fraction of its speed alone.", []string{"task", "gpu"}, nil)
	descSpeed     = prometheus.NewDesc("colloc_sweep_task_speed", "Measured speed of a running task, as a fraction of its speed alone.", []string{"task", "gpu"}, nil)
	descPeak      = prometheus.NewDesc("colloc_sweep_task_peak_bytes", "Most memory that a running task was seen to use.", []string{"task", "gpu"}, nil)
	descTask      = prometheus.NewDesc("colloc_sweep_task_reserved_bytes", "Memory that is reserved for a running task.", []string{"task", "gpu"}, nil)
	descSteps     = prometheus.NewDesc("colloc_sweep_task_steps", "Steps that a running task has done.", []string{"task", "gpu"}, nil)
	descRecovered = prometheus.NewDesc("colloc_sweep_recoveries_total", "Runs that ended for lack of memory and were queued again.", nil, nil)
	descRetried   = prometheus.NewDesc("colloc_sweep_retries_total", "Runs that failed and were queued again.", nil, nil)
	descWork      = prometheus.NewDesc("colloc_sweep_throughput", "Sum of the speeds of the running tasks.", nil, nil)
	descElapsed   = prometheus.NewDesc("colloc_sweep_elapsed_seconds", "Time since the sweep began.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, x float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, labels...)
	}
	v := c.look()
	for _, s := range []struct {
		state string
		n     int
	}{
		{"waiting", v.Count.Waiting},
		{"running", v.Count.Running},
		{joblog.StatusOK, v.Count.OK},
		{joblog.StatusFailed, v.Count.Failed},
		{joblog.StatusCancelled, v.Count.Cancelled},
	} {
		gauge(descTasks, float64(s.n), s.state)
	}
	for i := range v.GPUs {
		g := &v.GPUs[i]
		id := string(g.Device.ID)
		gauge(descPlaced, float64(len(g.Tasks)), id)
		gauge(descReserved, float64(g.Reserved), id)
		gauge(descUsable, float64(g.Usable), id)
		optional(gauge, descUsed, g.Used, id)
		lost := 0.0
		if g.Lost {
			lost = 1
		}
		gauge(descLost, lost, id)
	}
	for i := range v.Records {
		r := &v.Records[i]
		if joblog.StatusOf(r) != joblog.StatusRunning {
			continue
		}
		labels := []string{r.Task.ID, string(r.GPU)}
		if r.Predicted.Confidence > 0 {
			gauge(descPredicted, r.Predicted.Value, labels...)
		}
		optional(gauge, descSpeed, r.Speed, labels...)
		optional(gauge, descPeak, r.Peak, labels...)
		gauge(descTask, float64(r.Reserved), labels...)
		optional(gauge, descSteps, r.Step, labels...)
	}
	ch <- prometheus.MustNewConstMetric(descRecovered, prometheus.CounterValue, float64(v.Recoveries))
	ch <- prometheus.MustNewConstMetric(descRetried, prometheus.CounterValue, float64(v.Retries))
	gauge(descWork, v.Throughput)
	gauge(descElapsed, v.Elapsed.Seconds())
}

// optional passes on what is known.
func optional[T float64 | int64 | profile.Bytes](gauge func(*prometheus.Desc, float64, ...string), d *prometheus.Desc, o profile.Opt[T], labels ...string) {
	if x, ok := o.Get(); ok {
		gauge(d, float64(x), labels...)
	}
}

// ListenMetrics opens the address of the metrics; without a host it is this machine
// alone that can ask.
func ListenMetrics(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("-metrics %s: want HOST:PORT or :PORT: %w", addr, err)
	}
	if host == "" {
		host = "localhost"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("-metrics %s: %w", addr, err)
	}
	return l, nil
}

// ServeMetrics answers at /metrics until stop is called.
func ServeMetrics(l net.Listener, look func() *View) (stop func() error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{look})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return cli.Serve(l, mux, nil, nil)
}
