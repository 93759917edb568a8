//go:build kube

package kubetest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// All pods of a burst come to run, no promise is broken, and what collocd says of its
// books is what the API says. What it costs is printed beside the stock scheduler's cost
// for as many plain pods.
func TestBurst(t *testing.T) {
	program := collocd(t)
	nodes, pods := 20, 200
	if large {
		nodes, pods = 100, 1000
	}
	c, k := withNodes(t, kubetest.Options{}, nodes, a100, "plain", "tasks")

	before, start := c.CPU(), time.Now()
	c.Many(pods, func(ctx context.Context, i int) error {
		p := plain(fmt.Sprintf("p-%d", i))
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}
		_, err := c.Client.CoreV1().Pods("plain").Create(ctx, p, metav1.CreateOptions{})
		return err
	})
	c.Await("all plain pods run", func() bool { return k.Running("plain") == pods })
	tell(t, c, fmt.Sprintf("%d plain pods, stock scheduler alone", pods), pods, before, start)
	if err := c.Client.CoreV1().Pods("plain").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Await("the plain pods are gone", func() bool { return k.Running("plain") == 0 })

	d := c.Collocd(program, c.Kubeconfig())
	c.Await("collocd answers", func() bool { _, ok := d.Metrics(); return ok })
	before, start = c.CPU(), time.Now()
	tasks(c, "tasks", 0, pods)
	if !c.Try(func() bool { return k.Running("tasks") == pods }) {
		t.Fatalf("%d of %d tasks run; the others: %s", k.Running("tasks"), pods, why(t, c))
	}
	tell(t, c, fmt.Sprintf("%d tasks, collocd beside the stock scheduler", pods), pods, before, start)
	report := settle(t, c, kubetest.Rules{}, pods)
	c.Await("each task was told where it is", func() bool {
		r, err := kubetest.Check(t.Context(), c.Client, kubetest.Rules{})
		return err == nil && len(r.Untold) == 0
	})
	mib, err := d.PeakMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cards by number of tasks: %v; collocd's memory at most %.0f MiB; faults: %d", report.Tasks(), mib, len(report.Faults))
	sameBooks(t, c, d, report)
}

// tell prints what something cost.
func tell(t *testing.T, c *kubetest.Cluster, what string, pods int, before map[string]float64, start time.Time) {
	t.Helper()
	wall := time.Since(start)
	var parts []string
	sum := 0.0
	after := c.CPU()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		used := after[name] - before[name]
		sum += used
		parts = append(parts, fmt.Sprintf("%s %.1f", name, used))
	}
	t.Logf("%s: %.1f CPU s (%s), %.0f pods/s", what, sum, strings.Join(parts, ", "), float64(pods)/wall.Seconds())
}

// sameBooks waits until collocd's metrics tell what a recount of the API's objects does.
func sameBooks(t *testing.T, c *kubetest.Cluster, d *kubetest.Collocd, report *kubetest.Report) {
	t.Helper()
	want := make(map[string]float64)
	for card, held := range report.Cards {
		want[card] = float64(held.Reserved)
	}
	var got map[string]float64
	ok := c.Try(func() bool {
		series, ok := d.Metrics()
		got = make(map[string]float64)
		for name, x := range series {
			if labels, is := strings.CutPrefix(name, "colloc_reserved_bytes{"); is && x != 0 {
				l := strings.Split(labels, `"`) // gpu="gpu-3",node="gpu-0"
				if len(l) == 5 {
					got[l[3]+"/"+l[1]] = x
				}
			}
		}
		return ok && maps.Equal(got, want)
	})
	if !ok {
		t.Errorf("collocd's books: %d cards, a recount finds %d:\n%v\n%v", len(got), len(want), got, want)
	}
}

// Pods of different namespaces share a card only where that was allowed.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	node := a100
	node.GPUs = 3
	c, _ := withNodes(t, kubetest.Options{}, 1, node, "a", "b")
	d := c.Collocd(program, c.Kubeconfig())
	tasks(c, "a", 0, 3)
	settle(t, c, kubetest.Rules{}, 3)
	tasks(c, "b", 0, 3)
	// a holds two or three cards; b gets what a has left and shares that alone.
	c.Await("each pod is placed or told why not", func() bool { return told(t, c) == 6 })
	report, err := kubetest.Check(t.Context(), c.Client, kubetest.Rules{})
	if err != nil || len(report.Faults) > 0 {
		t.Fatalf("%q, %v", report.Faults, err)
	}
	strict := report.Bound
	d.Kill()
	c.Collocd(program, c.Kubeconfig(), "--share=a+b")
	settle(t, c, kubetest.Rules{MayShare: func(string, string) bool { return true }}, 6)
	if strict == 6 {
		t.Error("all pods had a place without sharing: the test shows nothing")
	}
}

// told counts the tasks of which collocd has said what it decided.
func told(t *testing.T, c *kubetest.Cluster) int {
	t.Helper()
	list, err := c.Client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{LabelSelector: api.LabelTask + "=" + api.True})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range list.Items {
		if slices.ContainsFunc(list.Items[i].Status.Conditions, func(x corev1.PodCondition) bool { return x.Type == api.ConditionPlaced }) {
			n++
		}
	}
	return n
}

// A pod that Kueue holds back is left alone until Kueue lets it go.
func TestKueue(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c, k := withNodes(t, kubetest.Options{}, 1, a100, "default")
	c.Collocd(program, c.Kubeconfig())
	held := task("default", "held", "light")
	held.Spec.SchedulingGates = append(held.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "kueue.x-k8s.io/admission"})
	pods := c.Client.CoreV1().Pods("default")
	for _, p := range []*corev1.Pod{held, task("default", "free", "light")} {
		if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.Await("the other pod runs", func() bool { return k.Running("default") == 1 })
	p, err := pods.Get(t.Context(), "held", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Spec.SchedulingGates) != 2 || p.Annotations[api.AnnotationGPU] != "" {
		t.Errorf("Kueue's pod was decided: gates %q, card %q", gates(p), p.Annotations[api.AnnotationGPU])
	}
	patch := []byte(`{"spec": {"schedulingGates": [{"name": "` + api.Gate + `"}]}}`) // what Kueue does
	if _, err := pods.Patch(t.Context(), "held", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, kubetest.Rules{}, 2)
}
