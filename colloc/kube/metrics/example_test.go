package metrics_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"example.com/colloc/colloc/kube/metrics"
)

func ExampleNew() {
	r := prometheus.NewRegistry()
	m, err := metrics.New(r, func() metrics.State { return metrics.State{Pending: 2} })
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Decided("placed", "")
	n, err := testutil.GatherAndCount(r, "colloc_decisions_total", "colloc_pending_tasks")
	fmt.Println(n, err)
	// Output: 2 <nil>
}
