//go:build kube

package kubetest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/groups"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// bindings are the ways to bind a pod, with what one needs for it.
var bindings = map[string]func(*corev1.PodSpec){"annotate": func(*corev1.PodSpec) {}, "claim": claiming}

// member is a pod of a gang of two with four GPUs each.
func member(name string) *corev1.Pod {
	p := task("default", name, "heavy")
	p.Annotations[api.AnnotationGang], p.Annotations[api.AnnotationGangSize], p.Annotations[api.AnnotationGPUs] = "train", "2", "4"
	return p
}

// jobOf makes a Job whose pods run at the same time.
func jobOf(t *testing.T, c *kubetest.Cluster, name string, pods int32, p *corev1.Pod) {
	t.Helper()
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	mode, disrupted := batchv1.IndexedCompletion, corev1.DisruptionTarget
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{
		Parallelism: &pods, Completions: &pods, CompletionMode: &mode,
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: disrupted, Status: corev1.ConditionTrue}},
		}}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec},
	}}
	if _, err := c.Client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Two pods of a Job, of a low priority, make room for a gang that an indexed Job makes,
// and nobody else does; what their Job makes in their place runs once the gang has ended.
func TestPreempt(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c := kubetest.Start(t, kubetest.Options{Controllers: []string{"job-controller"}})
	four, one := a100, a100
	four.GPUs, one.GPUs = 4, 1
	c.AddNodes(append(kubetest.Nodes(2, "gpu", four), kubetest.Nodes(1, "other", one)...)...)
	k := c.RunKubelet(nil)
	prepare(t, c, "default")
	for name, value := range map[string]int32{"low": 100, "high": 1000} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := c.Client.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	d := c.Collocd(program, c.Kubeconfig())
	pod := func(class string, more map[string]string, on string) *corev1.Pod {
		p := task("default", "keep", "heavy")
		maps.Copy(p.Annotations, more)
		p.Spec.PriorityClassName, p.Spec.NodeSelector = class, map[string]string{corev1.LabelHostname: on}
		if on == "" {
			p.Spec.NodeSelector = nil
		}
		return p
	}
	if _, err := c.Client.CoreV1().Pods("default").Create(t.Context(), pod("low", nil, "other-0"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, kubetest.Rules{}, 1)
	jobOf(t, c, "small", 2, pod("low", map[string]string{api.AnnotationAlone: api.True, api.AnnotationRestart: "1m"}, ""))
	settle(t, c, kubetest.Rules{}, 3)
	jobOf(t, c, "large", 2, pod("high", map[string]string{api.AnnotationGangSize: "2", api.AnnotationGPUs: "4"}, ""))
	c.Await("the gang runs", func() bool { return len(running(t, c, "large")) == 2 })
	c.Await("the small Job has made others", func() bool { return len(ofJob(t, c, "small")) == 2 })
	if len(running(t, c, "small")) > 0 || k.Running("default") != 3 {
		t.Errorf("beside the gang run %d of the small Job, %d in all; want the one elsewhere", len(running(t, c, "small")), k.Running("default"))
	}
	settle(t, c, kubetest.Rules{}, 3)
	if m, ok := d.Metrics(); !ok || m[`colloc_evictions_total{reason="Preempted",result="done"}`] != 2 {
		t.Errorf("%v evicted, want two", m[`colloc_evictions_total{reason="Preempted",result="done"}`])
	}
	large := running(t, c, "large")
	c.Many(len(large), func(ctx context.Context, i int) error { return k.End(ctx, &large[i]) })
	c.Await("the small Job runs again", func() bool { return len(running(t, c, "small")) == 2 })
	sameBooks(t, c, d, settle(t, c, kubetest.Rules{}, 3))
}

// ofJob lists the pods of a Job that are not about to go.
func ofJob(t *testing.T, c *kubetest.Cluster, job string) []corev1.Pod {
	t.Helper()
	list, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed })
}

// running are those that run.
func running(t *testing.T, c *kubetest.Cluster, job string) []corev1.Pod {
	t.Helper()
	return slices.DeleteFunc(ofJob(t, c, job), func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
}

// Of a gang of two pods with four GPUs each none starts before both are there, also when
// collocd is killed in between; then both do, beside single pods.
func TestGang(t *testing.T) {
	for binding, bind := range bindings {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			program := collocd(t)
			c, k := withDevices(t, kubetest.Options{}, 2, a100)
			prepare(t, c, "default")
			d := c.Collocd(program, c.Kubeconfig(), "--binding="+binding)
			create := func(p *corev1.Pod) {
				t.Helper()
				bind(&p.Spec)
				if _, err := c.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			create(member("g-0"))
			says(t, c, "g-0", api.ConditionPlaced, "Gathering")
			d.Kill()
			idle(t, c, "g-0")
			d = c.Collocd(program, c.Kubeconfig(), "--binding="+binding)
			c.Many(4, func(ctx context.Context, i int) error {
				p := task("default", fmt.Sprintf("p-%d", i), "light")
				bind(&p.Spec)
				_, err := c.Client.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
				return err
			})
			settle(t, c, kubetest.Rules{}, 4)
			idle(t, c, "g-0")
			create(member("g-1"))
			report := settle(t, c, kubetest.Rules{}, 6)
			c.Await("all run", func() bool { return k.Running("default") == 6 })
			if len(report.Leftover) > 0 || len(report.Cards) < 10 {
				t.Errorf("claims left over: %q; %d cards are taken, want 8 for the gang and some", report.Leftover, len(report.Cards))
			}
			sameBooks(t, c, d, report)
		})
	}
}

// The pods of a PodGroup start together too.
func TestPodGroup(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c, k := withNodes(t, kubetest.Options{PodGroups: true, RBAC: true}, 1, a100)
	kubeconfig := account(t, c, c.Server)
	prepare(t, c, "default")
	r, served, err := groups.Served(c.Client.Discovery())
	if err != nil || !served {
		t.Fatalf("PodGroups are served: %v, %v", served, err)
	}
	group := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": r.GroupVersion().String(), "kind": "PodGroup", "metadata": map[string]any{"name": "train"},
		"spec": map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(2)}}},
	}}
	d := c.Collocd(program, kubeconfig)
	create := func(i int) {
		t.Helper()
		p, name := task("default", fmt.Sprintf("g-%d", i), "heavy"), "train"
		p.Annotations[api.AnnotationGPUs] = "2"
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
		if _, err := c.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(0)
	says(t, c, "g-0", api.ConditionPlaced, "there is no PodGroup")
	if _, err := c.Dynamic.Resource(r).Namespace("default").Create(t.Context(), group, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	idle(t, c, "g-0")
	create(1)
	create(2) // more than have to start at once
	settle(t, c, kubetest.Rules{}, 3)
	c.Await("all run", func() bool { return k.Running("default") == 3 })
	d.Kill()
	rights(t, c)
}

// idle demands that nothing of a pod has started: its gate is there, and no card and no
// claim are its.
func idle(t *testing.T, c *kubetest.Cluster, name string) {
	t.Helper()
	p, err := c.Client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(gates(p)) == 0 || p.Annotations[api.AnnotationGPU] != "" || len(p.Status.ResourceClaimStatuses) > 0 {
		t.Errorf("%s has begun: gates %q, card %q, claims %v", name, gates(p), p.Annotations[api.AnnotationGPU], p.Status.ResourceClaimStatuses)
	}
}
