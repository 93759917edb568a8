//go:build kube

package kubetest_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// Once all that was installed is deleted, what ran runs on where it was, and who waits at
// the gate starts when a tenant takes that away.
func TestTakeDown(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	one := a100
	one.GPUs = 1
	c, k := withNodes(t, kubetest.Options{RBAC: true, Controllers: []string{"clusterrole-aggregation-controller"}}, 1, one)
	kubeconfig := account(t, c, c.Server)
	prepare(t, c, "default")
	user := tenant(t, c).CoreV1().Pods("default")
	d := c.Collocd(program, kubeconfig)
	for _, name := range []string{"a", "b"} {
		p := task("default", name, "light")
		p.Annotations[api.AnnotationAlone] = api.True
		if _, err := user.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if name == "a" {
			c.Await("the first runs", func() bool { return k.Running("default") == 1 })
		}
	}
	before, err := user.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.Kill() // its Deployment goes with the manifests; this cluster has no kubelet that would end it
	c.Delete(deploy + "base")
	c.Await("the gate can be taken away", func() bool {
		_, err := user.Patch(t.Context(), "b", types.MergePatchType, []byte(`{"spec": {"schedulingGates": []}}`), metav1.PatchOptions{})
		return err == nil
	})
	c.Await("both run", func() bool { return k.Running("default") == 2 })
	after, err := user.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || after.UID != before.UID || after.Spec.NodeName != before.Spec.NodeName || after.Annotations[api.AnnotationGPU] != before.Annotations[api.AnnotationGPU] {
		t.Errorf("%v; it is\n%v\nand was\n%v", err, after, before)
	}
}
