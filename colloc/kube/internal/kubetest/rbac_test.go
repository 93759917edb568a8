//go:build kube

package kubetest_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/colloc/colloc/kube/api"
	"example.com/colloc/colloc/kube/internal/kubetest"
)

// usedIn names the test that uses a right of the manifests; one that is not here TestRBAC
// uses itself.
var usedIn = map[string]string{
	"write colloc.example.com/placements": "TestAttacks", // by the policies, not by collocd
	"delete /pods":                        "TestStuck",
	"get /pods":                           "TestChaos", // after a write of which collocd does not know whether it was done
	"get colloc.example.com/profiles":     "TestObserve", "update colloc.example.com/profiles/status": "TestObserve", "create /pods/eviction": "TestObserve",
	"list scheduling.k8s.io/podgroups": "TestPodGroup", "watch scheduling.k8s.io/podgroups": "TestPodGroup",
	"create resource.k8s.io/resourceclaims": "TestClaimJob", "get resource.k8s.io/resourceclaims": "TestClaimMoved", "delete resource.k8s.io/resourceclaims": "TestClaimMoved",
}

// account applies the manifests, and those of features, and returns a file that lets
// collocd talk to a server with their rights and no other.
func account(t *testing.T, c *kubetest.Cluster, server string, features ...string) string {
	t.Helper()
	for _, name := range append([]string{"base"}, features...) {
		c.Apply(deploy + name)
	}
	return c.KubeconfigAs(server, token(t, c, "colloc-system", "collocd"))
}

// granted lists the rights of the manifests, as "verb group/resource".
func granted(t *testing.T, c *kubetest.Cluster) []string {
	t.Helper()
	roles, err := c.Client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=collocd"})
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for i := range roles.Items {
		rules = append(rules, roles.Items[i].Rules...)
	}
	leases, err := c.Client.RbacV1().Roles("colloc-system").Get(t.Context(), "collocd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range append(rules, leases.Rules...) {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					list = append(list, fmt.Sprintf("%s %s/%s", verb, group, resource))
				}
			}
		}
	}
	return list
}

// rights fails a test in which collocd was refused something, or has not used a right of
// the manifests that this test is to use. A watch counts once collocd has ended.
func rights(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	mine := slices.DeleteFunc(granted(t, c), func(right string) bool { return cmp.Or(usedIn[right], "TestRBAC") != t.Name() })
	var unused []string
	if !c.Try(func() bool {
		used := make(map[string]bool)
		for a, n := range c.Audited() {
			if a.Code == http.StatusForbidden {
				t.Fatalf("refused %d times: %+v", n, a)
			}
			used[fmt.Sprintf("%s %s/%s", a.Verb, a.Group, a.Resource)] = true
		}
		unused = slices.DeleteFunc(slices.Clone(mine), func(right string) bool { return used[right] })
		return len(unused) == 0
	}) {
		t.Errorf("granted and not used: %q", unused)
	}
}

// With the rights of the manifests and no other collocd does its work, and it uses all of
// them: some here, the others where usedIn says.
func TestRBAC(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c, _ := withNodes(t, kubetest.Options{RBAC: true}, 2, a100)
	kubeconfig := account(t, c, c.Server, "claims", "evict", "observe/rbac.yaml")
	prepare(t, c, "default")
	d := c.Collocd(program, kubeconfig, "--leader-elect", "--identity=a")
	tasks(c, "default", 0, 17) // 16 cards: somebody shares
	settle(t, c, kubetest.Rules{}, 17)
	huge := task("default", "huge", "light")
	huge.Annotations[api.AnnotationMemory] = "60Gi"
	if _, err := c.Client.CoreV1().Pods("default").Create(t.Context(), huge, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	told := func(reason string, times int32) {
		t.Helper()
		c.Await("an Event says "+reason, func() bool {
			list, err := c.Client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=huge"})
			return err == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.Reason == reason && e.Count == times })
		})
	}
	cordon := func(yes bool) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"spec": {"unschedulable": %t}}`, yes)
		c.Many(2, func(ctx context.Context, i int) error {
			_, err := c.Client.CoreV1().Nodes().Patch(ctx, fmt.Sprintf("gpu-%d", i), types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		})
	}
	told("TooLarge", 1)
	cordon(true)
	told("NoNode", 1)
	cordon(false)
	told("TooLarge", 2) // an Event that comes again is a patch
	d.Kill()            // a watch is in the log once it ends
	for right, where := range usedIn {
		if !slices.Contains(granted(t, c), right) {
			t.Errorf("%s uses %q, which is not granted", where, right)
		}
	}
	rights(t, c)
}

// A collocd that may not read nodes is not ready, and says why it decides nothing.
func TestReady(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c := kubetest.Start(t, kubetest.Options{RBAC: true})
	kubeconfig := account(t, c, c.Server)
	roles := c.Client.RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context(), "collocd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	whole := slices.Clone(role.Rules)
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "nodes") })
	if role, err = roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	d := c.Collocd(program, kubeconfig)
	answers := func(path string, code int) func() bool {
		return func() bool {
			resp, err := http.Get(d.URL + path)
			if err != nil {
				return false
			}
			return resp.Body.Close() == nil && resp.StatusCode == code
		}
	}
	c.Await("it lives", answers("/healthz", http.StatusOK))
	c.Await("it is refused the nodes", func() bool {
		return c.Audited()[kubetest.Access{Verb: "list", Resource: "nodes", Code: http.StatusForbidden}] > 0
	})
	if !answers("/readyz", http.StatusServiceUnavailable)() {
		t.Error("it is ready without having seen a node")
	}
	role.Rules = whole
	if _, err := roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Await("it is ready once it has read all", answers("/readyz", http.StatusOK))
	c.Await("its metrics tell of the last step", func() bool {
		m, ok := d.Metrics()
		age, told := m["colloc_last_step_age_seconds"]
		return ok && told && age < 60 && m["colloc_leader"] == 1
	})
}
