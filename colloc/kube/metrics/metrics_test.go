package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"example.com/colloc/colloc/kube/metrics"
	"example.com/colloc/profile"
)

func TestMetrics(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	state := metrics.State{
		Pending: 3, Plugins: 2, Drift: 1,
		Cards: []metrics.Card{{Node: "n1", Device: "gpu-0", Tasks: 2, Reserved: profile.GiB}, {Node: "n1", Device: "gpu-1"}},
	}
	m, err := metrics.New(r, func() metrics.State { return state })
	if err != nil {
		t.Fatal(err)
	}
	m.Decided("placed", "")
	m.Decided("waiting", "GpusTaken")
	m.Predicted(0.85)
	m.WriteError("Conflict")
	m.Leads(true)
	m.Took(time.Millisecond)
	const want = `
# HELP colloc_books_drift_total Decisions that pods came to carry and that the books had not made.
# TYPE colloc_books_drift_total counter
colloc_books_drift_total 1
# HELP colloc_cards Cards by the number of tasks on them.
# TYPE colloc_cards gauge
colloc_cards{tasks="0"} 1
colloc_cards{tasks="1"} 0
colloc_cards{tasks="2"} 1
# HELP colloc_decisions_total Decisions by result (placed, waiting, shadow) and the code of the limit that binds.
# TYPE colloc_decisions_total counter
colloc_decisions_total{code="",result="placed"} 1
colloc_decisions_total{code="GpusTaken",result="waiting"} 1
# HELP colloc_device_plugin_nodes Nodes with cards on which a device plugin hands out GPUs too.
# TYPE colloc_device_plugin_nodes gauge
colloc_device_plugin_nodes 2
# HELP colloc_leader 1 while this replica decides.
# TYPE colloc_leader gauge
colloc_leader 1
# HELP colloc_pending_tasks Pods that wait for a decision.
# TYPE colloc_pending_tasks gauge
colloc_pending_tasks 3
# HELP colloc_reserved_bytes Memory set aside on a card that has tasks.
# TYPE colloc_reserved_bytes gauge
colloc_reserved_bytes{gpu="gpu-0",node="n1"} 1.073741824e+09
# HELP colloc_write_errors_total Writes to the API server that failed, by reason.
# TYPE colloc_write_errors_total counter
colloc_write_errors_total{reason="Conflict"} 1
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "colloc_books_drift_total", "colloc_cards", "colloc_decisions_total", "colloc_device_plugin_nodes", "colloc_leader",
		"colloc_pending_tasks", "colloc_reserved_bytes", "colloc_write_errors_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(r, "colloc_task_speed_ratio", "colloc_decision_seconds"); err != nil || n != 3 {
		t.Errorf("%d histograms, want speed predicted and seen, and seconds; %v", n, err)
	}
	m.Leads(false)
	if problems, err := testutil.GatherAndLint(r); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	if _, err := metrics.New(r, func() metrics.State { return state }); err == nil {
		t.Error("registered twice without an error")
	}
}
