//go:build kube

package kubetest_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// A task of which nothing is known runs alone and is measured in Prometheus; then another
// of its kind joins it. When the first one's own query says that it is too slow, the other
// is evicted once, a disruption budget permitting, and what its owner makes in its place
// is put elsewhere, by a collocd that was killed and started again too. All of it takes no
// more than the rights of the manifests.
func TestObserve(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	one := a100
	one.GPUs = 1
	c, _ := withNodes(t, kubetest.Options{RBAC: true}, 1, one)
	kubeconfig := account(t, c, c.Server, "evict", "observe/rbac.yaml")
	prepare(t, c, "default")
	if err := c.Create(newProfile(t, "fresh", `{"model": {"name": "fresh"}, "training": {"batch_size": 32}}`)); err != nil {
		t.Fatal(err)
	}
	exporter, url := c.Prometheus()
	card := `{Hostname="gpu-0",gpu="0"}`
	exporter.Set(map[string]float64{"DCGM_FI_DEV_GPU_UTIL" + card: 20, "DCGM_FI_PROF_SM_ACTIVE" + card: 0.15, "DCGM_FI_DEV_FB_USED" + card: 4096, "late": 0, "steps": 10})
	state := t.TempDir() + "/learned"
	flags := []string{"--prometheus=" + url, "--observe-every=300ms", "--observe-window=3s", "--alarm=evict", "--state=" + state}
	d := c.Collocd(program, kubeconfig, flags...)
	served := create(t, c, "served", map[string]string{api.AnnotationClass: api.ClassInference, api.AnnotationSLO: "late", api.AnnotationRate: "steps"})
	settle(t, c, kubetest.Rules{}, 1)
	batch := create(t, c, "batch", map[string]string{api.AnnotationRate: "steps"})
	settle(t, c, kubetest.Rules{}, 2) // there is one card
	measured := func() string {
		o, err := c.Dynamic.Resource(profiles).Namespace("default").Get(t.Context(), "fresh", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}()
	for _, want := range []string{`"gpu":"A100-40GB"`, `"gpu_busy":0.2`, `"step_time":100000000`} {
		if !strings.Contains(measured, want) {
			t.Errorf("%s is not in the Profile: %s", want, measured)
		}
	}
	c.Await("how fast they are together is learned", func() bool {
		m, ok := d.Metrics()
		return ok && m[`colloc_task_speed_ratio_count{kind="seen"}`] >= 2
	})

	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: &intstr.IntOrString{}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{api.LabelTask: api.True}},
	}}
	if _, err := c.Client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), budget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	exporter.Set(map[string]float64{"late": 1})
	c.Await("the budget is heeded", func() bool {
		m, ok := d.Metrics()
		return ok && m[`colloc_evictions_total{reason="TooSlow",result="budget"}`] >= 1
	})
	if err := c.Client.PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "all", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Await("the other one is evicted", func() bool {
		list, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 1 && list.Items[0].UID == served.UID
	})
	exporter.Set(map[string]float64{"late": 0})
	again := create(t, c, "again", nil, *metav1.GetControllerOf(batch))
	c.Await("the pair is not formed again", func() bool { return told(t, c) == 2 })
	if p, err := c.Client.CoreV1().Pods("default").Get(t.Context(), "again", metav1.GetOptions{}); err != nil || len(gates(p)) == 0 {
		t.Errorf("it is placed: %v, %v", p.Annotations, err)
	}
	if m, ok := d.Metrics(); !ok || m[`colloc_evictions_total{reason="TooSlow",result="done"}`] != 1 {
		t.Errorf("evicted %v times, want once", m[`colloc_evictions_total{reason="TooSlow",result="done"}`])
	}
	c.Await("the pair is kept in a file", func() bool {
		text, err := os.ReadFile(state + ".pairs")
		return err == nil && strings.Contains(string(text), string(metav1.GetControllerOf(batch).UID))
	})
	d.Kill()
	c.Collocd(program, kubeconfig, flags...)
	create(t, c, "third", nil)
	settle(t, c, kubetest.Rules{}, 2) // the third joins, though again came before it
	if p, err := c.Client.CoreV1().Pods("default").Get(t.Context(), "again", metav1.GetOptions{}); err != nil || len(gates(p)) == 0 {
		t.Errorf("after a restart it is placed: %v, %v", p.Annotations, err)
	}
	c.AddNodes(kubetest.Nodes(1, "more", one)...)
	report := settle(t, c, kubetest.Rules{}, 3)
	if cards := report.Tasks(); cards[1] != 1 || cards[2] != 1 {
		t.Errorf("cards by number of tasks: %v, want %s apart", cards, again.Name)
	}
	exporter.Set(map[string]float64{"DCGM_FI_DEV_FB_USED" + card: 39000})
	c.Await("what takes more than was set aside is told", func() bool {
		list, err := c.Client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.Reason == "AboveReservation" && e.InvolvedObject.Name == "served" })
	})
	rights(t, c)
}

// create creates a task of the Profile fresh with more annotations, of an owner that is
// named or of one of its own.
func create(t *testing.T, c *kubetest.Cluster, name string, more map[string]string, owner ...metav1.OwnerReference) *corev1.Pod {
	t.Helper()
	p := task("default", name, "fresh")
	delete(p.Annotations, api.AnnotationMemory)
	maps.Copy(p.Annotations, more)
	if yes := true; len(owner) == 0 {
		owner = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID("owner-of-" + name), Controller: &yes}}
	}
	p.OwnerReferences = owner
	p, err := c.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
