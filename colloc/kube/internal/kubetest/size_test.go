//go:build kube

package kubetest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// mostMemory is what the whole of collocd may take in the largest cluster that is tried.
const mostMemory = 500e6 / (1 << 20) // MiB

// All that collocd holds, with its informers and clients, stays below a bound when it starts where
// all wait, decides about them, and goes on with pods that fit nowhere and nodes that tell of
// themselves. COLLOC_KUBE_LARGE makes it 5,000 nodes of 8 GPUs and 10,000 pods, which takes
// minutes. No scheduler and no kubelet runs: it is collocd that is measured.
func TestSize(t *testing.T) {
	nodes, pods, stuck, rate, beats := 20, 60, 20, 17, 34
	if large {
		nodes, pods, stuck, beats = 5000, 10000, 2000, 17*30
	}
	program := collocd(t)
	c := kubetest.Start(t, kubetest.Options{})
	c.Pause("kube-scheduler", true)
	each := func(n int, do func(ctx context.Context, i int) error) {
		const some = 1000
		for from := 0; from < n; from += some {
			c.Many(min(some, n-from), func(ctx context.Context, i int) error { return do(ctx, from+i) })
		}
	}
	all := kubetest.Nodes(nodes, "gpu", a100)
	for from := 0; from < nodes; from += 1000 {
		c.AddNodes(all[from:min(nodes, from+1000)]...)
	}
	prepare(t, c, "default")
	create := func(n int, name, memory string) {
		each(n, func(ctx context.Context, i int) error {
			p := task("default", fmt.Sprintf("%s-%d", name, i), []string{"light", "heavy"}[i%2])
			if memory != "" {
				p.Annotations[api.AnnotationMemory] = memory
			}
			_, err := c.Client.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
			return err
		})
	}
	create(pods, "p", "")
	start := time.Now()
	d := c.Collocd(program, c.Kubeconfig())
	second := time.NewTicker(time.Second) // to ask costs collocd, too
	defer second.Stop()
	waiting := func(n int) func() bool {
		return func() bool {
			<-second.C
			m, ok := d.Metrics()
			return ok && m["colloc_leader"] == 1 && m["colloc_pending_tasks"] == float64(n)
		}
	}
	memory := func(when string) {
		t.Helper()
		mib, err := d.PeakMemory()
		if err != nil {
			t.Fatal(err)
		}
		cpu, err := d.CPU()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: at most %.0f MB, %.1f CPU s, %.0f s", when, mib*(1<<20)/1e6, cpu.Seconds(), time.Since(start).Seconds())
		if mib > mostMemory {
			t.Errorf("%s it has taken %.0f MiB, want %.0f at most", when, mib, mostMemory)
		}
	}
	c.Await("collocd has read all", func() bool {
		<-second.C
		m, ok := d.Metrics()
		return ok && m["colloc_leader"] == 1
	})
	memory("all is read")
	for range 3 { // on a machine that has other things to do
		if c.Try(waiting(0)) {
			break
		}
		memory("not yet decided about all")
	}
	c.Await("all is written", func() bool {
		<-second.C
		placed := 0
		for at := (metav1.ListOptions{Limit: 500}); ; {
			list, err := c.Client.CoreV1().Pods("default").List(t.Context(), at)
			if err != nil {
				return false
			}
			for i := range list.Items {
				if list.Items[i].Annotations[api.AnnotationGPU] != "" {
					placed++
				}
			}
			if at.Continue = list.Continue; at.Continue == "" {
				return placed == pods
			}
		}
	})
	memory(fmt.Sprintf("%d nodes of 8 GPUs, %d pods that waited", nodes, pods))
	create(stuck, "stuck", "60Gi")
	c.Await("the others wait", waiting(stuck))
	memory(fmt.Sprintf("%d more that fit nowhere", stuck))
	before, err := d.CPU()
	if err != nil {
		t.Fatal(err)
	}
	begin, tick := time.Now(), time.NewTicker(time.Second/time.Duration(rate))
	defer tick.Stop()
	for i := range beats {
		<-tick.C
		patch := fmt.Appendf(nil, `{"status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": %q}]}}`, time.Now().UTC().Format(time.RFC3339))
		if _, err := c.Client.CoreV1().Nodes().Patch(t.Context(), fmt.Sprintf("gpu-%d", i%nodes), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(begin)
	after, err := d.CPU()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d heartbeats in %.0f s: %.3f of a CPU", beats, took.Seconds(), (after-before).Seconds()/took.Seconds())
	memory("at the end")
}
