//go:build kube

package kubetest_test

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/api"
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
	mode := batchv1.IndexedCompletion
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{
		Parallelism: &pods, Completions: &pods, CompletionMode: &mode,
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec},
	}}
	if _, err := c.Client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
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
