//go:build kube

package kubetest_test

import (
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"example.com/colloc/colloc/kube/internal/kubetest"
)

// A tenant with the role edit does the steps of the how-to that are a tenant's: it writes
// a Profile, makes a pod, sees where it is, and has it explained, as it has one that
// waits.
func TestTenant(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	one := a100
	one.GPUs = 1
	c, _ := withNodes(t, kubetest.Options{RBAC: true, Controllers: []string{"clusterrole-aggregation-controller"}}, 1, one)
	kubeconfig := account(t, c, c.Server)
	user := tenant(t, c).CoreV1().Pods("default")
	secret := token(t, c, "default", "tenant")
	asTenant := c.KubeconfigAs(c.Server, secret)
	config := c.ConfigAs(secret)
	config.ContentType, config.AcceptContentTypes = "", ""
	own, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c.Collocd(program, kubeconfig)
	c.Await("the tenant writes a Profile", func() bool {
		_, err := own.Resource(profiles).Namespace("default").Create(t.Context(), newProfile(t, "light", kinds["light"]), metav1.CreateOptions{})
		return err == nil
	})
	if _, err := own.Resource(profiles).Namespace("kube-system").List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the tenant reads Profiles of another namespace")
	}
	explained := func(pod, want string) {
		t.Helper()
		var text []byte
		if !c.Try(func() bool {
			text, _ = exec.Command(program, "explain", "--kubeconfig="+asTenant, pod).CombinedOutput()
			return strings.Contains(string(text), want)
		}) {
			t.Errorf("%s is explained by %q, want %q", pod, text, want)
		}
	}
	for i, want := range []string{"told: Placed: on gpu-0/gpu-0", "told: Gpu"} {
		p := task("default", []string{"runs", "waits"}[i], "light")
		p.Annotations["colloc.example.com/alone"] = "true"
		if _, err := user.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		explained(p.Name, want)
	}
	p, err := user.Get(t.Context(), "runs", metav1.GetOptions{})
	if err != nil || p.Annotations["colloc.example.com/gpu"] != "gpu-0/gpu-0" {
		t.Errorf("%v, %v", p.Annotations, err)
	}
}
