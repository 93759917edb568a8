//go:build kube

package kubetest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// large is whether the large forms of the tests run, and a100 what their nodes are.
var (
	large = os.Getenv("COLLOC_KUBE_LARGE") != ""
	a100  = kubetest.Node{Product: "NVIDIA-A100-SXM4-40GB", MiB: 40960, GPUs: 8}
)

// built is the folder of the programs that the tests build; TestMain takes it away.
var built = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "collocd") })

// build builds collocd once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := built()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "collocd")
	out, err := exec.Command("go", "build", "-o", program, "../../cmd/collocd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

func collocd(t *testing.T) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// kinds are Profiles of a light and a heavy task.
var kinds = map[string]string{
	"light": `{"model": {"name": "small"}, "training": {"batch_size": 32}, "measured": [{"gpu": "A100-40GB", "sample": {"sm_active": 0.2, "gpu_busy": 0.3, "dram_active": 0.1, "mem_used": "4GiB"}}]}`,
	"heavy": `{"model": {"name": "big"}, "training": {"batch_size": 32}, "measured": [{"gpu": "A100-40GB", "sample": {"sm_active": 0.8, "gpu_busy": 0.95, "dram_active": 0.5, "mem_used": "12GiB"}}]}`,
}

// withNodes starts a cluster of nodes with a kubelet and Profiles in some namespaces; of
// none it knows no Profiles yet.
func withNodes(t *testing.T, o kubetest.Options, nodes int, like kubetest.Node, namespaces ...string) (*kubetest.Cluster, *kubetest.Kubelet) {
	t.Helper()
	c := kubetest.Start(t, o)
	c.AddNodes(kubetest.Nodes(nodes, "gpu", like)...)
	if len(namespaces) > 0 {
		prepare(t, c, namespaces...)
	}
	return c, c.RunKubelet(nil)
}

// prepare makes a cluster know Profiles, in namespaces that it makes too.
func prepare(t *testing.T, c *kubetest.Cluster, namespaces ...string) {
	t.Helper()
	if _, err := c.Client.Discovery().ServerResourcesForGroupVersion(api.ProfileGroup + "/" + api.ProfileVersion); err != nil {
		c.Apply(deploy + "base/profiles.yaml")
	}
	for _, ns := range namespaces {
		if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil && ns != "default" {
			t.Fatal(err)
		}
		for name, spec := range kinds {
			o := newProfile(t, name, spec)
			o.SetNamespace(ns)
			c.Await("Profiles are taken", func() bool { return c.Create(o) == nil })
		}
	}
}

// task returns the pod of a task.
func task(namespace, name, profile string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{api.LabelTask: api.True}, Annotations: map[string]string{
			api.AnnotationProfile: profile, api.AnnotationMemory: "14Gi", api.AnnotationMaxSlowdown: "inf",
		}},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: api.Gate}},
			Containers:      follows(),
		},
	}
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	return p
}

// tasks creates tasks p-from to p-(to-1), light and heavy by turns.
func tasks(c *kubetest.Cluster, namespace string, from, to int) {
	c.Many(to-from, func(ctx context.Context, i int) error {
		profile := []string{"light", "heavy"}[i%2]
		_, err := c.Client.CoreV1().Pods(namespace).Create(ctx, task(namespace, fmt.Sprintf("p-%d", from+i), profile), metav1.CreateOptions{})
		return err
	})
}

// settle waits until a check finds as many pods bound as wanted and no fault, which
// there may be while something is written.
func settle(t *testing.T, c *kubetest.Cluster, rules kubetest.Rules, bound int) *kubetest.Report {
	t.Helper()
	var report *kubetest.Report
	ok := c.Try(func() bool {
		r, err := kubetest.Check(t.Context(), c.Client, rules)
		if err != nil {
			t.Fatal(err)
		}
		report = r
		return r.Bound == bound && len(r.Faults) == 0
	})
	if !ok {
		t.Fatalf("%d pods are bound and %d wait, want %d bound; %d faults: %q\n%s", report.Bound, report.Waiting, bound, len(report.Faults), report.Faults[:min(10, len(report.Faults))], why(t, c))
	}
	return report
}

// why returns what the conditions of pods that wait say, with how many say it.
func why(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	list, err := c.Client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{LabelSelector: api.LabelTask + "=" + api.True})
	if err != nil {
		t.Fatal(err)
	}
	says := make(map[string]int)
	for i := range list.Items {
		text := "nothing"
		for _, x := range list.Items[i].Status.Conditions {
			if x.Type == api.ConditionPlaced {
				text = x.Reason + ": " + x.Message
			}
		}
		if list.Items[i].Spec.NodeName == "" {
			says[text]++
		}
	}
	return fmt.Sprint(says)
}
