//go:build kube

package kubetest_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// template is that of the pods that an owner makes, all with one label of their own.
func template(app string, change func(*corev1.PodSpec)) corev1.PodTemplateSpec {
	p := task("default", "", "light")
	p.Labels["app"] = app
	if change != nil {
		change(&p.Spec)
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec}
}

// deployment creates one of n pods.
func deployment(t *testing.T, c *kubetest.Cluster, app string, n int32, change func(*corev1.PodSpec)) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app}, Spec: appsv1.DeploymentSpec{
		Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Template: template(app, change),
	}}
	if _, err := c.Client.AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// of lists the pods of an app.
func of(t *testing.T, c *kubetest.Cluster, app string) []corev1.Pod {
	t.Helper()
	list, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// waits waits until pods of an app hold no card and one is told something.
func waits(t *testing.T, c *kubetest.Cluster, app, want string) {
	t.Helper()
	c.Await(app+" waits with no card held: "+want, func() bool {
		told := false
		for _, p := range of(t, c, app) {
			if p.Annotations[api.AnnotationGPU] != "" {
				return false
			}
			for _, x := range p.Status.Conditions {
				told = told || x.Type == api.ConditionPlaced && strings.Contains(x.Message, want)
			}
		}
		return told
	})
}

// A node that goes, or that refuses, between decision and binding holds no pod for ever:
// its card is given back, its owner makes another (a Job with a podFailurePolicy once the
// collector of pods, which looks every 20 seconds, has taken the first), and a Job does not count that as a
// failure.
func TestStuck(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	two := a100
	two.GPUs = 2
	c, _ := withNodes(t, kubetest.Options{RBAC: true, Controllers: []string{"deployment-controller", "replicaset-controller", "job-controller", "pod-garbage-collector-controller"}}, 1, two)
	kubeconfig := account(t, c, c.Server)
	prepare(t, c, "default")
	c.Collocd(program, kubeconfig, "--patience=1s")
	c.Pause("kube-scheduler", true)
	deployment(t, c, "serve", 2, nil)
	pods, none := int32(2), int32(0)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train"}, Spec: batchv1.JobSpec{
		Parallelism: &pods, Completions: &pods, BackoffLimit: &none,
		Template: template("train", func(s *corev1.PodSpec) { s.RestartPolicy = corev1.RestartPolicyNever }),
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
		}}}},
	}}
	if _, err := c.Client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	decided := func(app string, n int) func() bool {
		return func() bool {
			k := 0
			for _, p := range of(t, c, app) {
				if p.Annotations[api.AnnotationGPU] != "" {
					k++
				}
			}
			return k == n
		}
	}
	c.Await("all four are decided", func() bool { return decided("serve", 2)() && decided("train", 2)() })
	if err := c.Client.CoreV1().Nodes().Delete(t.Context(), "gpu-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waits(t, c, "train", "no node has a GPU")
	waits(t, c, "serve", "no node has a GPU")
	c.Pause("kube-scheduler", false) // later: before it has heard of that it binds to a node that is gone, whose pods the collector of pods takes
	two.Name, two.GPUs = "gpu-1", 3
	c.AddNodes(two)
	settle(t, c, kubetest.Rules{}, 4)
	if now, err := c.Client.BatchV1().Jobs("default").Get(t.Context(), "train", metav1.GetOptions{}); err != nil || now.Status.Failed != 0 {
		t.Errorf("the Job counts failures: %+v, %v", now, err)
	}
	deployment(t, c, "late", 1, func(s *corev1.PodSpec) { // away from serve, by a selector of namespaces, which collocd does not know
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "serve"}}, TopologyKey: corev1.LabelHostname,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "default"}},
		}}}}
	})
	waits(t, c, "late", "the scheduler refused it there")
	if _, err := c.Client.AppsV1().Deployments("default").Patch(t.Context(), "serve", types.MergePatchType, []byte(`{"spec": {"replicas": 0}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, kubetest.Rules{}, 3)
	rights(t, c)
}
