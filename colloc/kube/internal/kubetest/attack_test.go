//go:build kube

package kubetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// token is what a service account shows; nobody renews it, and a soak takes hours.
func token(t *testing.T, c *kubetest.Cluster, namespace, name string) string {
	t.Helper()
	day := int64(24 * time.Hour / time.Second)
	answer, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// as is a client with the rights of a service account.
func as(t *testing.T, c *kubetest.Cluster, namespace, name string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.ConfigAs(token(t, c, namespace, name)))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// tenant is a client that may do in the default namespace what the role edit lets it.
func tenant(t *testing.T, c *kubetest.Cluster) kubernetes.Interface {
	t.Helper()
	const namespace = "default"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}}
	if _, err := c.Client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: account.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "tenant"}},
	}
	if _, err := c.Client.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return as(t, c, namespace, "tenant")
}

// What a tenant with the role edit tries on a pod that runs alone on the one card, and on
// one that waits, is denied by the policies; nothing of it lets another pod have the card.
func TestAttacks(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	one := a100
	one.GPUs = 1
	c, _ := withNodes(t, kubetest.Options{RBAC: true, Controllers: []string{"clusterrole-aggregation-controller"}}, 1, one)
	kubeconfig := account(t, c, c.Server)
	prepare(t, c, "default")
	user := tenant(t, c)
	c.Collocd(program, kubeconfig)
	pods := user.CoreV1().Pods("default")
	lone := func(name string) *corev1.Pod {
		p := task("default", name, "light")
		p.Annotations[api.AnnotationAlone] = api.True
		return p
	}
	for i, name := range []string{"runs", "waits"} {
		c.Await("the tenant may make pods", func() bool {
			_, err := pods.Create(t.Context(), lone(name), metav1.CreateOptions{})
			if err != nil {
				t.Log(err)
			}
			return err == nil
		})
		if i == 0 {
			settle(t, c, kubetest.Rules{}, 1)
		}
	}
	says(t, c, "waits", api.ConditionPlaced, "Gpu")
	merge := func(pod, text string) func() error {
		return func() error {
			_, err := pods.Patch(t.Context(), pod, types.MergePatchType, []byte(text), metav1.PatchOptions{})
			return err
		}
	}
	created := func(spoil func(*corev1.Pod)) func() error {
		return func() error {
			p := lone("forged")
			spoil(p)
			_, err := pods.Create(t.Context(), p, metav1.CreateOptions{})
			return err
		}
	}
	note := func(name, value string) string {
		return fmt.Sprintf(`{"metadata": {"annotations": {%q: %s}}}`, name, value)
	}
	const label = `{"metadata": {"labels": {"colloc.example.com/task": %s}}}`
	for _, tt := range []struct {
		name, want string
		try        func() error
	}{
		{"takes the label off a pod that runs", "stays", merge("runs", fmt.Sprintf(label, "null"))},
		{"changes the label of a pod that runs", "stays", merge("runs", fmt.Sprintf(label, `"false"`))},
		{"takes the label off a pod that waits", "stays", merge("waits", fmt.Sprintf(label, "null"))},
		{"takes the decision away", "collocd alone", merge("runs", note(api.AnnotationGPU, "null"))},
		{"moves the decision", "collocd alone", merge("runs", note(api.AnnotationGPU, `"gpu-0/gpu-7"`))},
		{"reserves less", "collocd alone", merge("runs", note(api.AnnotationReserved, `"1"`))},
		{"names another GPU", "collocd alone", merge("runs", note(api.AnnotationUUID, `"all"`))},
		{"writes a shadow", "collocd alone", merge("runs", note(api.AnnotationShadow, `"gpu-0/gpu-0 1"`))},
		{"gives a pod that waits the card", "collocd alone", merge("waits", note(api.AnnotationGPU, `"gpu-0/gpu-0"`))},
		{"takes the gate away", "collocd alone", merge("waits", `{"spec": {"schedulingGates": []}}`)},
		{"makes a pod with a card", "collocd alone", created(func(p *corev1.Pod) { p.Annotations[api.AnnotationGPU] = "gpu-0/gpu-0" })},
		{"makes a pod with a reservation", "collocd alone", created(func(p *corev1.Pod) { p.Annotations[api.AnnotationReserved] = "1" })},
		{"makes a pod without a gate", "schedulingGates", created(func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })},
		{"makes a pod on a node", "", created(func(p *corev1.Pod) { p.Spec.SchedulingGates, p.Spec.NodeName = nil, "gpu-0" })},
		{"makes a pod that sees all GPUs", "NVIDIA_VISIBLE_DEVICES", created(func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}}
		})},
		{"makes a pod without the variable", "NVIDIA_VISIBLE_DEVICES", created(func(p *corev1.Pod) { p.Spec.Containers[0].Env = nil })},
		{"has an init container see all GPUs", "NVIDIA_VISIBLE_DEVICES", created(func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i", Env: []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}}}}
		})},
		{"names the variable twice", "NVIDIA_VISIBLE_DEVICES", created(func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"})
		})},
		{"writes a status", "forbidden", func() error {
			_, err := pods.Patch(t.Context(), "runs", types.MergePatchType, []byte(`{"status": {"phase": "Failed"}}`), metav1.PatchOptions{}, "status")
			return err
		}},
		{"binds a pod itself", "forbidden", func() error {
			return pods.Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "waits"}, Target: corev1.ObjectReference{Kind: "Node", Name: "gpu-0"}}, metav1.CreateOptions{})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.try(); err == nil || !strings.Contains(err.Error(), tt.want) || !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			report, err := kubetest.Check(t.Context(), c.Client, kubetest.Rules{})
			if err != nil || len(report.Faults) > 0 || report.Bound != 1 || report.Waiting != 1 {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
	t.Run("an administrator takes the label off", func(t *testing.T) { // no policy holds it, and the card is held all the same
		_, err := c.Client.CoreV1().Pods("default").Patch(t.Context(), "runs", types.MergePatchType, []byte(fmt.Sprintf(label, "null")), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pods.Create(t.Context(), lone("third"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		says(t, c, "third", api.ConditionPlaced, "Gpu") // collocd has seen what came before
		report, err := kubetest.Check(t.Context(), c.Client, kubetest.Rules{})
		if err != nil || len(report.Faults) > 0 || report.Bound != 1 || report.Waiting != 2 {
			t.Errorf("%+v, %v", report, err)
		}
	})
	t.Run("collocd's token", func(t *testing.T) {
		own := as(t, c, "colloc-system", "collocd").CoreV1().Pods("default")
		for text, want := range map[string]string{
			`{"spec": {"containers": [{"name": "c", "image": "evil"}]}}`: "spec",
			`{"metadata": {"labels": {"a": "b"}}}`:                       "metadata",
			`{"metadata": {"annotations": {"a": "b"}}}`:                  "metadata",
		} {
			if _, err := own.Patch(t.Context(), "waits", types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
