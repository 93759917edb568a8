//go:build kube

package kubetest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/colloc/colloc/kube/internal/kubetest"
)

// spare returns the rights that collocd needs where things go another way than here.
func spare() []string {
	return []string{
		"get /pods",                                                                                             // after a write of which it does not know whether it was done
		"patch /events",                                                                                         // an Event that comes again
		"get colloc.example.com/profiles", "update colloc.example.com/profiles/status", "create /pods/eviction", // with -prometheus
		"get resource.k8s.io/resourceclaims", "create resource.k8s.io/resourceclaims", "delete resource.k8s.io/resourceclaims", // with -binding claim
		"create events.k8s.io/events", "patch events.k8s.io/events",
	}
}

// With the rights of the manifests and no other collocd does its work, and it uses all of
// them.
func TestRBAC(t *testing.T) {
	t.Parallel()
	program := collocd(t)
	c := kubetest.Start(t, kubetest.Options{RBAC: true})
	c.Apply(deploy + "base")
	c.AddNodes(kubetest.Nodes(2, "gpu", a100)...)
	c.RunKubelet(nil)
	prepare(t, c, "default")
	request := &authenticationv1.TokenRequest{}
	account := c.Client.CoreV1().ServiceAccounts("colloc-system")
	answer, err := account.CreateToken(t.Context(), "collocd", request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := c.Collocd(program, c.KubeconfigAs(c.Server, answer.Status.Token), "--leader-elect", "--identity=a")
	tasks(c, "default", 0, 17) // 16 cards: somebody shares
	settle(t, c, kubetest.Rules{}, 17)
	c.Await("its Events are there", func() bool {
		list, err := c.Client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.Reason == "Placed" })
	})
	d.Kill() // a watch is in the log once it ends
	rules, err := c.Client.RbacV1().ClusterRoles().Get(t.Context(), "collocd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leases, err := c.Client.RbacV1().Roles("colloc-system").Get(t.Context(), "collocd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	granted := make(map[string]bool)
	for _, r := range append(rules.Rules, leases.Rules...) {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					granted[fmt.Sprintf("%s %s/%s", verb, group, resource)] = true
				}
			}
		}
	}
	var unused []string
	if !c.Try(func() bool {
		used := make(map[string]bool)
		for a, n := range c.Audited() {
			if a.Code == http.StatusForbidden {
				t.Fatalf("refused %d times: %+v", n, a)
			}
			used[fmt.Sprintf("%s %s/%s", a.Verb, a.Group, a.Resource)] = true
		}
		unused = nil
		for right := range granted {
			if !used[right] && !slices.Contains(spare(), right) {
				unused = append(unused, right)
			}
		}
		return len(unused) == 0
	}) {
		t.Errorf("granted and not used: %q", unused)
	}
}
